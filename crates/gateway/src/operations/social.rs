//! Social data: one question to one platform, charged when it is answered with data.
//!
//! The order of a call is `calling.rs`; what may be asked and what an answer means is crate `social`.

mod catalog;
mod handler;
mod page_limits;
mod paginate;
mod platform_dir;
mod quote;
mod request;
mod settings;
mod vendor;

pub use self::catalog::social_cells;
pub(crate) use self::catalog::{SocialCatalog, follow_pauses};
pub(crate) use self::paginate::pages;
pub(crate) use self::platform_dir::follow_files;
pub use self::platform_dir::{FolderError, cells_with_folder};
pub(crate) use self::quote::{quote_social, social_route};
pub(crate) use self::request::{Social, SocialRoute};
pub(crate) use self::settings::PlatformConcurrency;
pub use self::settings::SocialSettings;

/// The word of these endpoints in a key's list and in the usage log.
pub(crate) const WORD: &str = "social";
/// What channels of a data source speak.
pub(crate) const FORMAT: &str = "social_data";

/// What a pair would be called as a cell, whether there is one or not.
fn model_name(platform: &str, capability: &str) -> String {
    format!("{WORD}-{platform}-{capability}")
}
