//! Input images of a request: form files, URLs, data URIs.

use serde_json::Value;
use trunkline_catalog::RequestError;

use crate::encoding;
use crate::fields::RequestReader;

use super::InputImage;

/// Images to edit in one call.
const MAX_PICTURES: usize = 16;
/// Fields that hold images to edit: of a form and of the older JSON, of forms with several, and of the
/// newer JSON.
const SOURCES: [&str; 3] = ["image", "image[]", "images"];
const MASK: &str = "mask";

/// The images to edit and the mask.
pub(super) fn read(
    reader: &mut RequestReader<'_>,
    files: Vec<(String, InputImage)>,
) -> Result<(Vec<InputImage>, Option<InputImage>), RequestError> {
    let mut images = Vec::new();
    let mut mask = None;
    for name in SOURCES {
        if let Some(value) = reader.take(name) {
            several(name, value, &mut images)?;
        }
    }
    if let Some(value) = reader.take(MASK) {
        mask = Some(one(MASK, value)?);
    }
    for (name, picture) in files {
        check_held(&name, &picture)?;
        match name.as_str() {
            MASK if mask.is_none() => mask = Some(picture),
            MASK => return Err(RequestError::invalid(MASK, "there can be one `mask`")),
            name if SOURCES.contains(&name) => images.push(picture),
            name => {
                let shortened: String = name.chars().take(64).collect();
                let text = format!("there is no file field `{shortened}`; pictures go in `image`");
                return Err(RequestError::invalid(shortened, text));
            }
        }
    }
    if images.is_empty() {
        return Err(RequestError::missing("image")
            .with_fix("send the picture as a file, an https address or a data URI in `image`"));
    }
    if images.len() > MAX_PICTURES {
        let text = format!("there can be at most {MAX_PICTURES} pictures in `image`");
        return Err(RequestError::invalid("image", text));
    }
    Ok((images, mask))
}

fn several(name: &str, value: &Value, images: &mut Vec<InputImage>) -> Result<(), RequestError> {
    let members = match value {
        Value::Array(members) => members.as_slice(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            std::slice::from_ref(value)
        }
    };
    // One more than may be: the whole is refused by its number, and a longer list is not decoded.
    for member in members.iter().take(MAX_PICTURES.saturating_add(1)) {
        images.push(one(name, member)?);
    }
    Ok(())
}

/// An address or a data URI, bare or as `{"image_url": …}`.
fn one(name: &str, value: &Value) -> Result<InputImage, RequestError> {
    let text = match value {
        Value::String(text) => Some(text.as_str()),
        Value::Object(map) if map.contains_key("file_id") => {
            let text = format!("`{name}` cannot be a file id: files are not kept here");
            let refusal = RequestError::invalid(name, text);
            return Err(refusal.with_fix("send the picture itself or its address"));
        }
        Value::Object(map) => map.get("image_url").and_then(Value::as_str),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    match text {
        Some(text) if encoding::is_data_uri(text) => inline(name, text),
        Some(text) if encoding::is_link(text) => Ok(InputImage::Link(text.to_owned())),
        Some(_) | None => Err(RequestError::invalid(
            name,
            format!("`{name}` must be a file, an http or https address, or a data URI"),
        )),
    }
}

fn inline(name: &str, text: &str) -> Result<InputImage, RequestError> {
    let found = encoding::from_data_uri(text);
    let Some(found) = found.filter(|found| found.content_type.starts_with("image/")) else {
        let text = format!("`{name}` must be a data URI of an image in base64");
        let refusal = RequestError::invalid(name, text);
        return Err(refusal.with_fix("write it as data:image/png;base64,…"));
    };
    let ending = match found.content_type {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/webp" => "webp",
        "image/gif" => "gif",
        _ => "img",
    };
    Ok(InputImage::Held {
        name: format!("{}.{ending}", name.trim_end_matches("[]")),
        content_type: found.content_type.to_owned(),
        bytes: found.bytes,
    })
}

fn check_held(name: &str, picture: &InputImage) -> Result<(), RequestError> {
    match picture {
        InputImage::Held { bytes, .. } if bytes.is_empty() => {
            let shortened: String = name.chars().take(64).collect();
            let text = format!("the file in `{shortened}` is empty");
            Err(RequestError::invalid(shortened, text))
        }
        InputImage::Held { .. } | InputImage::Link(_) => Ok(()),
    }
}

/// An input image as a text: its URL, or a data URI.
pub(super) fn as_text(picture: &InputImage) -> String {
    match picture {
        InputImage::Link(link) => link.clone(),
        InputImage::Held {
            content_type,
            bytes,
            ..
        } => encoding::data_uri(content_type, bytes),
    }
}
