//! Images: the caller's request, its plan, and the vendors' protocols.

mod input_images;
mod plan;
mod request;
mod upstreams;

use bytes::Bytes;
use trunkline_catalog::{Attributes, FieldReport, RequestError};

use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, VendorResponse};

pub use plan::plan;
pub use request::{ImageEndpoint, ImageRequest, InputImage};
pub use upstreams::{ALL, protocol_of};

#[derive(Debug)]
pub struct Protocol {
    /// Its name in provider files, such as `openai_images`.
    pub format: &'static str,
    /// The vendor request; the text is the upstream's name of the model.
    pub encode: fn(&ImageRequest, &str) -> Result<Encoded, RequestError>,
    pub decode: fn(&ImageRequest, &VendorResponse<'_>) -> Result<GeneratedImages, VendorFailure>,
}

/// A request that can be priced: everything that moves the price stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The request with the defaults that move its price written in.
    pub request: ImageRequest,
    /// What becomes of its fields.
    pub report: FieldReport,
    /// What its price depends on.
    pub attributes: Attributes,
}

/// The images of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedImages {
    pub pictures: Vec<Image>,
    /// How many were requested and not generated.
    pub failed: u64,
    /// The vendor's reason for the missing ones, for the log.
    pub why: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Its URL, or its bytes.
    pub at: ImageSource,
    /// The prompt as the vendor rewrote it, if it reports that.
    pub revised_prompt: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageSource {
    /// At a public URL that expires.
    Link(String),
    Held(Bytes),
}
