//! What a browser does with a file that a link leads to: shows it where it stands, or saves it under a
//! name. The store has no part in it: files of a folder and of S3 go through the same endpoint.

use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use trunkline_blobs::{ContentType, MediaPath};

use super::content::VIDEO;
use crate::response::Response;

/// Kinds that are shown in a page.
const INLINE: [&str; 3] = ["video/", "image/", "audio/"];
/// A picture that is a program.
const SVG: &str = "image/svg";

/// Names the file of an answer. What is no video, image or audio is always saved: a page of a vendor's
/// must not be rendered at our address.
pub(super) fn with_file_name(mut answer: Response, path: &MediaPath, save: bool) -> Response {
    if !answer.status().is_success() {
        return answer;
    }
    let content_type = answer.headers().get(CONTENT_TYPE);
    let content_type = content_type
        .and_then(|value| value.to_str().ok())
        .unwrap_or(VIDEO);
    let Ok(kind) = ContentType::parse(content_type) else {
        return answer;
    };
    let kind_name = kind.as_str().to_ascii_lowercase();
    let is_inline =
        INLINE.iter().any(|start| kind_name.starts_with(start)) && !kind_name.starts_with(SVG);
    if !save && is_inline {
        return answer;
    }
    let text = format!("attachment; filename=\"{}\"", path.file_name(&kind));
    if let Ok(value) = HeaderValue::from_str(&text) {
        answer.headers_mut().insert(CONTENT_DISPOSITION, value);
    }
    answer
}
