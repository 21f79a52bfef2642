//! The vendors. A new one is a file and a line.

mod ark;
mod dashscope;
mod minimax;
mod openai;

use crate::vendor_http::VendorError;
use trunkline_catalog::FieldNote;

use super::{GeneratedImages, Image, ImageRequest, ImageSource, Protocol};
use crate::encoding;
use crate::field_policy::not_sent;
use crate::vendor_failure::VendorFailure;

pub const ALL: [&Protocol; 4] = [
    &ark::PROTOCOL,
    &dashscope::PROTOCOL,
    &minimax::PROTOCOL,
    &openai::PROTOCOL,
];

/// The protocol of a provider file's format.
#[must_use]
pub fn protocol_of(format: &str) -> Option<&'static Protocol> {
    ALL.into_iter().find(|protocol| protocol.format == format)
}

/// Fields of OpenAI's images that no other vendor has.
const FOREIGN: [&str; 6] = [
    "background",
    "input_fidelity",
    "moderation",
    "output_compression",
    "style",
    "user",
];

/// Notes that the quality and the mask of a request are not sent.
fn skip_quality_and_mask(request: &ImageRequest, notes: &mut Vec<FieldNote>) {
    notes.extend(request.quality.iter().map(|_| not_sent("quality")));
    notes.extend(request.mask.iter().map(|_| not_sent("mask")));
}

/// An image by its URL; none where the text is no URL.
fn linked(text: &str) -> Option<Image> {
    encoding::is_link(text).then(|| image(ImageSource::Link(text.to_owned())))
}

/// An image in base64, bare or as a data URI; none where it does not decode.
fn decoded(text: &str) -> Option<Image> {
    let bytes = if encoding::is_data_uri(text) {
        encoding::from_data_uri(text).map(|inline| inline.bytes)
    } else {
        encoding::from_base64(text)
    };
    bytes.map(|bytes| image(ImageSource::Held(bytes)))
}

const fn image(at: ImageSource) -> Image {
    Image {
        at,
        revised_prompt: None,
    }
}

/// The images of a response. No image at all is a failure; images beyond the requested count are dropped,
/// since they are not paid.
fn made(
    request: &ImageRequest,
    mut pictures: Vec<Image>,
    why: Option<VendorError>,
    nothing: impl FnOnce(Option<VendorError>) -> VendorFailure,
) -> Result<GeneratedImages, VendorFailure> {
    if pictures.is_empty() {
        return Err(nothing(why));
    }
    pictures.truncate(usize::try_from(request.count).unwrap_or(usize::MAX));
    let count = u64::try_from(pictures.len()).unwrap_or(u64::MAX);
    Ok(GeneratedImages {
        pictures,
        failed: request.count.saturating_sub(count),
        why: why.map(|error| format!("{}: {}", error.code, error.message)),
    })
}
