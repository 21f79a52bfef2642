//! A request for images as a form, read from a body that is in memory.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use multer::{Constraints, Multipart, SizeLimit};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use trunkline_studio::Fields;
use trunkline_studio::images::Picture;

use super::image_hosting::kind_of;
use crate::error::{ApiError, ErrorCode};

/// Parts of one form.
pub(super) const MAX_PARTS: usize = 64;
/// Bytes of a field that is no file.
pub(super) const MAX_FIELD_BYTES: usize = 1_000_000;
/// What a client says that knows no type.
const UNTYPED: &str = "application/octet-stream";

/// What a form holds.
pub(crate) struct ImageForm {
    pub(crate) fields: Fields,
    pub(crate) files: Vec<(String, Picture)>,
    /// What it is known by when it is sent again: a file counts by its content.
    pub(crate) known_by: Bytes,
}

/// Reads a form.
pub(crate) async fn read_image_form(boundary: &str, body: Bytes) -> Result<ImageForm, ApiError> {
    let most = u64::try_from(body.len()).unwrap_or(u64::MAX);
    let limits = SizeLimit::new().whole_stream(most).per_field(most);
    let constraints = Constraints::new().size_limit(limits);
    let whole = stream::iter([Ok::<Bytes, Infallible>(body)]);
    let mut form = Multipart::with_constraints(whole, boundary, constraints);
    let mut fields = Fields {
        is_form: true,
        ..Fields::default()
    };
    let (mut files, mut hashes) = (Vec::new(), Vec::new());
    let mut parts = 0_usize;
    while let Some(part) = form.next_field().await.map_err(|error| wrong(&error))? {
        parts = parts.saturating_add(1);
        let name = part.name().unwrap_or_default().to_owned();
        if parts > MAX_PARTS || name.is_empty() {
            let text = "the form has too many parts, or one without a name";
            return Err(invalid(text));
        }
        let file_name = part.file_name().map(str::to_owned);
        let kind = part.content_type().map(ToString::to_string);
        let bytes = part.bytes().await.map_err(|error| wrong(&error))?;
        match file_name {
            Some(file) => {
                let hash = format!("{:x?}", Sha256::digest(&bytes).as_slice());
                hashes.push(json!([name, hash]));
                let picture = Picture::Held {
                    name: file,
                    content_type: type_of(kind, &bytes),
                    bytes,
                };
                files.push((name, picture));
            }
            None => put(&mut fields.values, name, text_of(&bytes)?)?,
        }
    }
    let known_by = json!({ "fields": fields.values, "files": hashes });
    Ok(ImageForm {
        fields,
        files,
        known_by: Bytes::from(known_by.to_string()),
    })
}

/// The type of a picture. SDKs know none of a file without a name and say so; vendors refuse that, and the
/// bytes tell.
fn type_of(said: Option<String>, bytes: &[u8]) -> String {
    match said.filter(|kind| kind != UNTYPED) {
        Some(kind) => kind,
        None => kind_of(bytes).unwrap_or(UNTYPED).to_owned(),
    }
}

/// A field of a form. One whose name ends in brackets may stand several times, and is a list.
pub(super) fn put(
    fields: &mut Map<String, Value>,
    name: String,
    text: String,
) -> Result<(), ApiError> {
    if name.ends_with("[]") {
        // Nothing else is ever put under such a name.
        let list = fields.entry(name).or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(Value::String(text));
        }
        return Ok(());
    }
    if fields.contains_key(&name) {
        return Err(invalid("a field stands twice in the form").at(&name));
    }
    fields.insert(name, Value::String(text));
    Ok(())
}

pub(super) fn text_of(bytes: &[u8]) -> Result<String, ApiError> {
    if bytes.len() > MAX_FIELD_BYTES {
        return Err(invalid("a field of the form is too long"));
    }
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| invalid("a field of the form is not UTF-8"))?;
    Ok(text.to_owned())
}

pub(super) fn invalid(text: &str) -> ApiError {
    ApiError::new(ErrorCode::Invalid("invalid_request"), text)
}

pub(super) fn wrong(error: &multer::Error) -> ApiError {
    invalid(&format!("the form cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_no_type_is_what_its_bytes_say_and_any_other_is_what_its_form_says() {
        let png = b"\x89PNG\r\n\x1a\n and so on";
        let untyped = || Some(UNTYPED.to_owned());
        assert_eq!(type_of(None, png), "image/png");
        assert_eq!(type_of(untyped(), png), "image/png");
        assert_eq!(type_of(untyped(), b"something else"), UNTYPED);
        assert_eq!(type_of(Some("image/webp".to_owned()), png), "image/webp");
    }
}
