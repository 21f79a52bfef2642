//! A request for images, read.

use bytes::Bytes;
use serde_json::{Map, Value};
use trunkline_catalog::RequestError;

use crate::fields::{Fields, RequestReader};

use super::input_images;

/// Images of one call, whatever the model's record allows.
const MAX_COUNT: u64 = 128;

/// The endpoint of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageEndpoint {
    /// `POST /v1/images/generations`.
    Generations,
    /// `POST /v1/images/edits`.
    Edits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageRequest {
    pub endpoint: ImageEndpoint,
    /// The public name of the model.
    pub model: String,
    pub prompt: String,
    pub count: u64,
    /// The size, as the caller spelled it.
    pub size: Option<String>,
    /// The quality, as the caller spelled it.
    pub quality: Option<String>,
    /// Whether the response holds the images instead of links.
    pub wants_base64: bool,
    pub images: Vec<InputImage>,
    /// The mask of the edit.
    pub mask: Option<InputImage>,
    /// All other fields, by name.
    pub extras: Map<String, Value>,
}

/// An image that the caller sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputImage {
    Link(String),
    Held {
        /// The name of its file.
        name: String,
        content_type: String,
        bytes: Bytes,
    },
}

// === impl ImageRequest ===

impl ImageRequest {
    /// Reads a request: its fields, and the files of a form by the names of their fields. A data URI is
    /// an image in memory.
    pub fn read(
        endpoint: ImageEndpoint,
        fields: &Fields,
        files: Vec<(String, InputImage)>,
    ) -> Result<Self, RequestError> {
        let mut reader = RequestReader::of(fields);
        let model = reader.required("model")?;
        let prompt = reader.required("prompt")?;
        let count = count(&reader)?;
        let wants_base64 = wants_base64(&reader)?;
        check_stream(&reader)?;
        let size = reader.take_text("size")?;
        let quality = reader.take_text("quality")?;
        let (images, mask, files) = match endpoint {
            ImageEndpoint::Edits => {
                let (images, mask) = input_images::read(&mut reader, files)?;
                (images, mask, Vec::new())
            }
            ImageEndpoint::Generations => (Vec::new(), None, files),
        };
        let mut extras = reader.rest();
        // Files are not read at this endpoint; the plan reports each.
        for (name, _) in files {
            extras.insert(name, Value::from("a file"));
        }
        Ok(Self {
            endpoint,
            model,
            prompt,
            count,
            size,
            quality,
            wants_base64,
            images,
            mask,
            extras,
        })
    }
}

fn count(reader: &RequestReader<'_>) -> Result<u64, RequestError> {
    let count = reader.see_whole("n")?.unwrap_or(1);
    if (1..=MAX_COUNT).contains(&count) {
        return Ok(count);
    }
    let text = format!("`n` must be from 1 to {MAX_COUNT}");
    Err(RequestError::invalid("n", text))
}

fn wants_base64(reader: &RequestReader<'_>) -> Result<bool, RequestError> {
    match reader.see_text("response_format")? {
        Some("b64_json") => Ok(true),
        Some("url") | None => Ok(false),
        Some(_) => Err(RequestError::invalid(
            "response_format",
            "`response_format` must be url or b64_json",
        )),
    }
}

/// The response is sent whole: it has no partial images.
fn check_stream(reader: &RequestReader<'_>) -> Result<(), RequestError> {
    let streams = reader.see_flag("stream")?.unwrap_or(false);
    let partial = reader.see_whole("partial_images")?.unwrap_or(0);
    if !streams && partial == 0 {
        return Ok(());
    }
    let text = "images come in one answer when all are made; they are not streamed";
    let refusal = RequestError::invalid("stream", text);
    Err(refusal.with_fix("leave `stream` and `partial_images` out"))
}
