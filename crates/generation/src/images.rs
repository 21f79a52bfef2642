//! Images: what is asked for, what is billed, and the vendors who make them.

mod ask;
mod pictures;
mod plan;
mod upstreams;

use crate::vendor_http::Said;
use bytes::Bytes;
use trunkline_catalog::{Attributes, Refusal, Report};

use crate::errand::Written;
use crate::trouble::Trouble;

pub use ask::{Ask, Door, Picture};
pub use plan::plan;
pub use upstreams::{ALL, protocol_of};

/// A vendor's protocol.
#[derive(Debug)]
pub struct Protocol {
    /// The word for it in provider files, such as `openai_images`.
    pub format: &'static str,
    /// A request in its words; the text is the upstream's name of the model.
    pub write: fn(&Ask, &str) -> Result<Written, Refusal>,
    /// What the answer to that says.
    pub read: fn(&Ask, &Said<'_>) -> Result<Made, Trouble>,
}

/// A request that can be priced: everything that moves the price stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The request with the defaults that move its price written in.
    pub ask: Ask,
    /// What becomes of its fields.
    pub report: Report,
    /// What its price depends on.
    pub attributes: Attributes,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The pictures.
    pub pictures: Vec<Image>,
    /// How many were asked for and not made.
    pub failed: u64,
    /// The vendor's words about the ones that were not; for the log.
    pub why: Option<String>,
}

/// One picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Where it is, or all of it.
    pub at: Where,
    /// What the vendor made of the prompt, where it tells.
    pub revised_prompt: Option<String>,
}

/// Where a picture is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where {
    /// At an address that anybody may ask, for a while.
    Link(String),
    /// Here.
    Held(Bytes),
}
