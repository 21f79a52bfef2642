//! A request for images, read.

use bytes::Bytes;
use serde_json::{Map, Value};
use trunkline_catalog::Refusal;

use crate::fields::{Fields, Reading};

use super::pictures;

/// Pictures of one call, whatever the model's record allows.
const MAX_COUNT: u64 = 128;

/// Which door it came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// `POST /v1/images/generations`.
    Generations,
    /// `POST /v1/images/edits`.
    Edits,
}

/// A request for images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The door.
    pub door: Door,
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
    pub images: Vec<Picture>,
    /// Where to edit.
    pub mask: Option<Picture>,
    /// Everything else that was asked for, by name.
    pub extras: Map<String, Value>,
}

/// A picture that the caller brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picture {
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

// === impl Ask ===

impl Ask {
    /// Reads a request: its fields, and the files of a form by the names of their fields. A data URI is
    /// a picture that is here.
    pub fn read(
        door: Door,
        fields: &Fields,
        files: Vec<(String, Picture)>,
    ) -> Result<Self, Refusal> {
        let mut reading = Reading::of(fields);
        let model = reading.required("model")?;
        let prompt = reading.required("prompt")?;
        let count = count(&reading)?;
        let wants_base64 = wants_base64(&reading)?;
        check_stream(&reading)?;
        let size = reading.take_text("size")?;
        let quality = reading.take_text("quality")?;
        let (images, mask, files) = match door {
            Door::Edits => {
                let (images, mask) = pictures::read(&mut reading, files)?;
                (images, mask, Vec::new())
            }
            Door::Generations => (Vec::new(), None, files),
        };
        let mut extras = reading.rest();
        // Files have no place here; the plan says so of each.
        for (name, _) in files {
            extras.insert(name, Value::from("a file"));
        }
        Ok(Self {
            door,
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

fn count(reading: &Reading<'_>) -> Result<u64, Refusal> {
    let count = reading.see_whole("n")?.unwrap_or(1);
    if (1..=MAX_COUNT).contains(&count) {
        return Ok(count);
    }
    let text = format!("`n` must be from 1 to {MAX_COUNT}");
    Err(Refusal::invalid("n", text))
}

fn wants_base64(reading: &Reading<'_>) -> Result<bool, Refusal> {
    match reading.see_text("response_format")? {
        Some("b64_json") => Ok(true),
        Some("url") | None => Ok(false),
        Some(_) => Err(Refusal::invalid(
            "response_format",
            "`response_format` must be url or b64_json",
        )),
    }
}

/// The answer comes whole: pictures on the way have no place in it.
fn check_stream(reading: &Reading<'_>) -> Result<(), Refusal> {
    let streams = reading.see_flag("stream")?.unwrap_or(false);
    let partial = reading.see_whole("partial_images")?.unwrap_or(0);
    if !streams && partial == 0 {
        return Ok(());
    }
    let text = "images come in one answer when all are made; they are not streamed";
    let refusal = Refusal::invalid("stream", text);
    Err(refusal.with_fix("leave `stream` and `partial_images` out"))
}
