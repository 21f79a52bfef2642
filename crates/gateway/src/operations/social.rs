//! Social data: one question to one platform, charged when it is answered with data.
//!
//! The order of a call is `calling.rs`; what may be asked and what an answer means is crate `social`.

mod handler;
mod page_limits;
mod paginate;
mod quote;
mod request;
mod vendor;

use std::sync::Arc;

use trunkline_social::Cell;

use crate::services::Services;

pub(crate) use self::paginate::pages;
pub(crate) use self::quote::{quote_social, social_route};
pub(crate) use self::request::{Social, SocialRoute};

/// Every cell, and whether it is paused.
#[must_use]
pub fn social_cells(services: &Services) -> Vec<(Arc<Cell>, bool)> {
    let catalog = services.social_catalog.load_full();
    let cells = catalog.cells.all();
    cells
        .map(|cell| (Arc::clone(cell), catalog.is_paused(cell)))
        .collect()
}
