//! Images: what is asked for, what is billed, and the vendors who make them.

mod input_images;
mod plan;
mod request;
mod upstreams;

use bytes::Bytes;
use trunkline_catalog::{Attributes, Refusal, Report};

use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, VendorResponse};

pub use plan::plan;
pub use request::{ImageEndpoint, ImageRequest, InputImage};
pub use upstreams::{ALL, protocol_of};

/// A vendor's protocol.
#[derive(Debug)]
pub struct Protocol {
    /// The word for it in provider files, such as `openai_images`.
    pub format: &'static str,
    /// A request in its words; the text is the upstream's name of the model.
    pub encode: fn(&ImageRequest, &str) -> Result<Encoded, Refusal>,
    /// What the answer to that says.
    pub decode: fn(&ImageRequest, &VendorResponse<'_>) -> Result<GeneratedImages, VendorFailure>,
}

/// A request that can be priced: everything that moves the price stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The request with the defaults that move its price written in.
    pub request: ImageRequest,
    /// What becomes of its fields.
    pub report: Report,
    /// What its price depends on.
    pub attributes: Attributes,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedImages {
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
    pub at: ImageSource,
    /// What the vendor made of the prompt, where it tells.
    pub revised_prompt: Option<String>,
}

/// Where a picture is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageSource {
    /// At an address that anybody may ask, for a while.
    Link(String),
    /// Here.
    Held(Bytes),
}
