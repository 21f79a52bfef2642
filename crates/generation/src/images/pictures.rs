//! Pictures that callers bring: files of a form, addresses, data URIs.

use serde_json::Value;
use trunkline_catalog::Refusal;

use crate::coding;
use crate::fields::Reading;

use super::Picture;

/// Pictures to edit in one call.
const MAX_PICTURES: usize = 16;
/// Fields that hold pictures to edit: of a form and of the older JSON, of forms with several, and of the
/// newer JSON.
const SOURCES: [&str; 3] = ["image", "image[]", "images"];
const MASK: &str = "mask";

/// The pictures to edit, and where.
pub(super) fn read(
    reading: &mut Reading<'_>,
    files: Vec<(String, Picture)>,
) -> Result<(Vec<Picture>, Option<Picture>), Refusal> {
    let mut images = Vec::new();
    let mut mask = None;
    for name in SOURCES {
        if let Some(value) = reading.take(name) {
            several(name, value, &mut images)?;
        }
    }
    if let Some(value) = reading.take(MASK) {
        mask = Some(one(MASK, value)?);
    }
    for (name, picture) in files {
        check_held(&name, &picture)?;
        match name.as_str() {
            MASK if mask.is_none() => mask = Some(picture),
            MASK => return Err(Refusal::invalid(MASK, "there can be one `mask`")),
            name if SOURCES.contains(&name) => images.push(picture),
            name => {
                let shown: String = name.chars().take(64).collect();
                let text = format!("there is no file field `{shown}`; pictures go in `image`");
                return Err(Refusal::invalid(shown, text));
            }
        }
    }
    if images.is_empty() {
        return Err(Refusal::missing("image")
            .with_fix("send the picture as a file, an https address or a data URI in `image`"));
    }
    if images.len() > MAX_PICTURES {
        let text = format!("there can be at most {MAX_PICTURES} pictures in `image`");
        return Err(Refusal::invalid("image", text));
    }
    Ok((images, mask))
}

fn several(name: &str, value: &Value, images: &mut Vec<Picture>) -> Result<(), Refusal> {
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
fn one(name: &str, value: &Value) -> Result<Picture, Refusal> {
    let text = match value {
        Value::String(text) => Some(text.as_str()),
        Value::Object(map) if map.contains_key("file_id") => {
            let text = format!("`{name}` cannot be a file id: files are not kept here");
            let refusal = Refusal::invalid(name, text);
            return Err(refusal.with_fix("send the picture itself or its address"));
        }
        Value::Object(map) => map.get("image_url").and_then(Value::as_str),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    match text {
        Some(text) if coding::is_data_uri(text) => inline(name, text),
        Some(text) if coding::is_link(text) => Ok(Picture::Link(text.to_owned())),
        Some(_) | None => Err(Refusal::invalid(
            name,
            format!("`{name}` must be a file, an http or https address, or a data URI"),
        )),
    }
}

fn inline(name: &str, text: &str) -> Result<Picture, Refusal> {
    let found = coding::from_data_uri(text);
    let Some(found) = found.filter(|found| found.content_type.starts_with("image/")) else {
        let text = format!("`{name}` must be a data URI of an image in base64");
        let refusal = Refusal::invalid(name, text);
        return Err(refusal.with_fix("write it as data:image/png;base64,…"));
    };
    let ending = match found.content_type {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/webp" => "webp",
        "image/gif" => "gif",
        _ => "img",
    };
    Ok(Picture::Held {
        name: format!("{}.{ending}", name.trim_end_matches("[]")),
        content_type: found.content_type.to_owned(),
        bytes: found.bytes,
    })
}

fn check_held(name: &str, picture: &Picture) -> Result<(), Refusal> {
    match picture {
        Picture::Held { bytes, .. } if bytes.is_empty() => {
            let shown: String = name.chars().take(64).collect();
            let text = format!("the file in `{shown}` is empty");
            Err(Refusal::invalid(shown, text))
        }
        Picture::Held { .. } | Picture::Link(_) => Ok(()),
    }
}

/// A picture as a text: its address, or all of it.
pub(super) fn as_text(picture: &Picture) -> String {
    match picture {
        Picture::Link(link) => link.clone(),
        Picture::Held {
            content_type,
            bytes,
            ..
        } => coding::data_uri(content_type, bytes),
    }
}
