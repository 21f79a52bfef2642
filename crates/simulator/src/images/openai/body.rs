//! What was sent: JSON or a form, read into the same fields, with the pictures beside them.

use http::header::CONTENT_TYPE;
use serde_json::{Map, Value};

use crate::chat;
use crate::images::form::{self, Part};
use crate::images::input_images::{self, Source};
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;

/// A request in one shape.
pub(super) struct Sent {
    pub(super) fields: Map<String, Value>,
    pub(super) images: Vec<Image>,
    pub(super) mask: Option<Image>,
}

/// A picture that was sent.
pub(super) enum Image {
    Address,
    File { kind: String, bytes: Vec<u8> },
}

/// Fields of a form that are numbers.
const NUMBERS: [&str; 3] = ["n", "output_compression", "partial_images"];
/// Kinds of files that are taken.
const KINDS: [&str; 3] = ["image/jpeg", "image/png", "image/webp"];
const MAX_FILE_BYTES: usize = 50 * 1024 * 1024;
const MAX_MASK_BYTES: usize = 4 * 1024 * 1024;

pub(super) fn read(recorded: &RecordedRequest, is_edit: bool) -> Result<Sent, Refusal> {
    let kind = recorded.parts.headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|value| value.to_str().ok());
    // Pictures are made from JSON alone; only changing them takes a form.
    if let Some(boundary) = kind.and_then(form::boundary).filter(|_| is_edit) {
        let parts = form::parts(&recorded.body, boundary);
        let parts = parts.ok_or_else(|| Refusal::unnamed("Could not parse multipart form"))?;
        return from_form(parts);
    }
    let mut sent = Sent {
        fields: chat::parse(recorded)?,
        images: Vec::new(),
        mask: None,
    };
    if is_edit {
        take_addresses(&mut sent)?;
    }
    Ok(sent)
}

fn from_form(parts: Vec<Part>) -> Result<Sent, Refusal> {
    let mut sent = Sent {
        fields: Map::new(),
        images: Vec::new(),
        mask: None,
    };
    for part in parts {
        match (part.name.as_str(), part.file_name.is_some()) {
            ("image" | "image[]", true) => sent.images.push(file("image", part, MAX_FILE_BYTES)?),
            ("mask", true) => sent.mask = Some(file("mask", part, MAX_MASK_BYTES)?),
            ("image" | "image[]" | "mask", false) => {
                let name = part.name.trim_end_matches("[]");
                let message = format!(
                    "Invalid type for '{name}': expected a file, but got a string instead."
                );
                return Err(Refusal::invalid(name, Some("invalid_type"), message));
            }
            (name, _) => {
                let text = String::from_utf8_lossy(&part.bytes).into_owned();
                sent.fields.insert(name.to_owned(), value(name, text));
            }
        }
    }
    Ok(sent)
}

/// A field of a form is text, whatever it stands for.
fn value(name: &str, text: String) -> Value {
    if NUMBERS.contains(&name)
        && let Ok(number) = text.parse::<i64>()
    {
        return Value::from(number);
    }
    match (name, text.as_str()) {
        ("stream", "true") => Value::from(true),
        ("stream", "false") => Value::from(false),
        (_, _) => Value::from(text),
    }
}

fn file(param: &str, part: Part, most: usize) -> Result<Image, Refusal> {
    let kind = part
        .kind
        .unwrap_or_else(|| "application/octet-stream".to_owned());
    if !KINDS.contains(&kind.as_str()) {
        let kind_text = crate::refusal::shortened(&kind);
        let message = format!(
            "Invalid file '{param}': unsupported mimetype ('{kind_text}'). Supported file formats are \
             'image/jpeg', 'image/png', and 'image/webp'."
        );
        return Err(Refusal::invalid(
            param,
            Some("unsupported_file_mimetype"),
            message,
        ));
    }
    if part.bytes.len() > most {
        let message = format!("Invalid file '{param}': file is larger than {most} bytes.");
        return Err(Refusal::invalid(param, Some("file_too_large"), message));
    }
    Ok(Image::File {
        kind,
        bytes: part.bytes.to_vec(),
    })
}

/// `images: [{"image_url": …}]`, or `image` as an address or several; `mask: {"image_url": …}`.
fn take_addresses(sent: &mut Sent) -> Result<(), Refusal> {
    let images = sent.fields.remove("images");
    let image = sent.fields.remove("image");
    for (param, given) in [("images", images), ("image", image)] {
        match given {
            None | Some(Value::Null) => {}
            Some(Value::Array(list)) => {
                for entry in &list {
                    sent.images.push(address(param, entry)?);
                }
            }
            Some(one) => sent.images.push(address(param, &one)?),
        }
    }
    if let Some(mask) = sent.fields.remove("mask").filter(|mask| !mask.is_null()) {
        sent.mask = Some(address("mask", &mask)?);
    }
    Ok(())
}

fn address(param: &str, given: &Value) -> Result<Image, Refusal> {
    if given.get("file_id").is_some_and(Value::is_string) {
        // What files are there is not known here, so every id is one of them.
        return Ok(Image::Address);
    }
    let text = given.as_str();
    let text = text.or_else(|| given.get("image_url").and_then(Value::as_str));
    let wrong = || {
        let message =
            format!("Invalid '{param}'. Expected a valid URL or a base64-encoded data URL.");
        Refusal::invalid(param, Some("invalid_image_url"), message)
    };
    match text.map(input_images::read) {
        Some(Source::Address) => Ok(Image::Address),
        Some(Source::Bytes(bytes)) => Ok(Image::File {
            kind: "image/png".to_owned(),
            bytes,
        }),
        Some(Source::Wrong) | None => Err(wrong()),
    }
}
