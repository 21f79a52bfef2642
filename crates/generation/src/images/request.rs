//! A request for images, read.

use bytes::Bytes;
use serde_json::{Map, Value};
use trunkline_catalog::Refusal;

use crate::fields::{Fields, RequestReader};

use super::input_images;

/// Pictures of one call, whatever the model's record allows.
const MAX_COUNT: u64 = 128;

/// Which door it came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageEndpoint {
    /// `POST /v1/images/generations`.
    Generations,
    /// `POST /v1/images/edits`.
    Edits,
}

/// A request for images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageRequest {
    /// The door.
    pub endpoint: ImageEndpoint,
    /// The public name of the model.
    pub model: String,
    /// What to draw.
    pub prompt: String,
    /// How many.
    pub count: u64,
    /// How large, in the caller's words.
    pub size: Option<String>,
    /// How good, in the caller's words.
    pub quality: Option<String>,
    /// Whether the pictures are wanted in the answer instead of links.
    pub wants_base64: bool,
    /// The pictures to edit.
    pub images: Vec<InputImage>,
    /// Where to edit.
    pub mask: Option<InputImage>,
    /// Everything else that was asked for, by name.
    pub extras: Map<String, Value>,
}

/// A picture that the caller brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputImage {
    /// At an address.
    Link(String),
    /// Here.
    Held {
        /// The name of its file.
        name: String,
        /// Its type.
        content_type: String,
        /// All of it.
        bytes: Bytes,
    },
}

// === impl ImageRequest ===

impl ImageRequest {
    /// Reads a request: its fields, and the files of a form by the names of their fields. A data URI is
    /// a picture that is here.
    pub fn read(
        endpoint: ImageEndpoint,
        fields: &Fields,
        files: Vec<(String, InputImage)>,
    ) -> Result<Self, Refusal> {
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
        // Files have no place here; the plan says so of each.
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

fn count(reader: &RequestReader<'_>) -> Result<u64, Refusal> {
    let count = reader.see_whole("n")?.unwrap_or(1);
    if (1..=MAX_COUNT).contains(&count) {
        return Ok(count);
    }
    let text = format!("`n` must be from 1 to {MAX_COUNT}");
    Err(Refusal::invalid("n", text))
}

fn wants_base64(reader: &RequestReader<'_>) -> Result<bool, Refusal> {
    match reader.see_text("response_format")? {
        Some("b64_json") => Ok(true),
        Some("url") | None => Ok(false),
        Some(_) => Err(Refusal::invalid(
            "response_format",
            "`response_format` must be url or b64_json",
        )),
    }
}

/// The answer comes whole: pictures on the way have no place in it.
fn check_stream(reader: &RequestReader<'_>) -> Result<(), Refusal> {
    let streams = reader.see_flag("stream")?.unwrap_or(false);
    let partial = reader.see_whole("partial_images")?.unwrap_or(0);
    if !streams && partial == 0 {
        return Ok(());
    }
    let text = "images come in one answer when all are made; they are not streamed";
    let refusal = Refusal::invalid("stream", text);
    Err(refusal.with_fix("leave `stream` and `partial_images` out"))
}
