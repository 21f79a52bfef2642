//! A form that is in memory: its parts as they came, bounded in number and size.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use multer::{Constraints, Multipart, SizeLimit};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::error::{ApiError, ErrorCode};

pub(crate) const MAX_PARTS: usize = 64;
/// Bytes of a field that is no file.
pub(crate) const MAX_FIELD_BYTES: usize = 1_000_000;

#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) parts: Vec<Part>,
    /// Bytes of the body.
    pub(crate) bytes: usize,
}

/// One part of a form.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    Text(String),
    File {
        name: String,
        content_type: Option<String>,
        bytes: Bytes,
    },
}

impl Form {
    pub(crate) async fn read(boundary: &str, body: Bytes) -> Result<Self, ApiError> {
        let bytes = body.len();
        let most = u64::try_from(bytes).unwrap_or(u64::MAX);
        let limits = SizeLimit::new().whole_stream(most).per_field(most);
        let constraints = Constraints::new().size_limit(limits);
        let whole = stream::iter([Ok::<Bytes, Infallible>(body)]);
        let mut form = Multipart::with_constraints(whole, boundary, constraints);
        let mut parts = Vec::new();
        while let Some(part) = form
            .next_field()
            .await
            .map_err(|error| unreadable(&error))?
        {
            let name = part.name().unwrap_or_default().to_owned();
            if parts.len() >= MAX_PARTS || name.is_empty() {
                return Err(too_many_parts());
            }
            let file_name = part.file_name().map(str::to_owned);
            let content_type = part.content_type().map(ToString::to_string);
            let bytes = part.bytes().await.map_err(|error| unreadable(&error))?;
            let content = match file_name {
                Some(name) => Content::File {
                    name,
                    content_type,
                    bytes,
                },
                None => Content::Text(field_text(&name, &bytes)?),
            };
            parts.push(Part { name, content });
        }
        Ok(Self { parts, bytes })
    }

    /// What the form is known by when it is sent again.
    pub(crate) fn known_by(&self) -> Vec<u8> {
        let parts = self.parts.iter().map(|part| match &part.content {
            Content::Text(text) => json!([part.name, text]),
            Content::File { bytes, .. } => json!([part.name, { "file": file_hash(bytes) }]),
        });
        Value::Array(parts.collect()).to_string().into_bytes()
    }
}

pub(crate) fn file_hash(bytes: &[u8]) -> String {
    format!("{:x?}", Sha256::digest(bytes).as_slice())
}

pub(crate) fn field_text(name: &str, bytes: &[u8]) -> Result<String, ApiError> {
    if bytes.len() > MAX_FIELD_BYTES {
        return Err(invalid("a form field is too long").at(name));
    }
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| invalid("a form field is not UTF-8").at(name))?;
    Ok(text.to_owned())
}

pub(crate) fn too_many_parts() -> ApiError {
    invalid("the form has too many parts or a part without a name")
}

pub(crate) fn invalid(text: &str) -> ApiError {
    ApiError::new(ErrorCode::Invalid("invalid_request"), text)
}

pub(crate) fn unreadable(error: &multer::Error) -> ApiError {
    invalid(&format!("the form cannot be read: {error}"))
}
