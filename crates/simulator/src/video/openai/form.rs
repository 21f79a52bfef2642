//! A body as JSON or as a form. Of a file that is a part of a form only the name is kept.

use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};

use crate::chat;
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;

const MAX_PARTS: usize = 100;

/// The fields of a body.
pub(super) fn body(recorded: &RecordedRequest) -> Result<Map<String, Value>, Refusal> {
    let kind = recorded.parts.headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|value| value.to_str().ok());
    match kind.and_then(boundary) {
        Some(boundary) => {
            let fields = fields(&recorded.body, boundary);
            fields.ok_or_else(|| Refusal::unnamed("Could not parse multipart form"))
        }
        None => chat::parse(recorded),
    }
}

fn boundary(kind: &str) -> Option<&str> {
    let rest = kind.strip_prefix("multipart/form-data")?;
    let (_, boundary) = rest.split_once("boundary=")?;
    let boundary = boundary.split(';').next()?.trim().trim_matches('"');
    (!boundary.is_empty()).then_some(boundary)
}

/// Reads every part; none if the form is broken.
fn fields(bytes: &[u8], boundary: &str) -> Option<Map<String, Value>> {
    // Files are not kept, so what is no text in them may be lost.
    let text = String::from_utf8_lossy(bytes);
    let mark = format!("--{boundary}");
    let mut fields = Map::new();
    let mut parts = text.split(mark.as_str()).skip(1).take(MAX_PARTS);
    loop {
        let part = parts.next()?;
        if part.starts_with("--") {
            return Some(fields);
        }
        let (head, value) = part.strip_prefix("\r\n")?.split_once("\r\n\r\n")?;
        let value = value.strip_suffix("\r\n")?;
        let name = quoted(head, " name=\"")?;
        let value = match quoted(head, "filename=\"") {
            Some(file) => json!({ "file_name": file }),
            None => json!(value),
        };
        put(&mut fields, name, value)?;
    }
}

/// `a` is a field, `a[b]` a field inside one.
fn put(fields: &mut Map<String, Value>, name: &str, value: Value) -> Option<()> {
    let Some((outer, inner)) = name.split_once('[') else {
        fields.insert(name.to_owned(), value);
        return Some(());
    };
    let inner = inner.strip_suffix(']')?;
    let place = fields.entry(outer).or_insert_with(|| json!({}));
    place.as_object_mut()?.insert(inner.to_owned(), value);
    Some(())
}

fn quoted<'a>(head: &'a str, before: &str) -> Option<&'a str> {
    let (_, after) = head.split_once(before)?;
    after.split_once('"').map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_as_the_object_it_stands_for() {
        let form = "--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\na fox\r\n\
                    --b\r\nContent-Disposition: form-data; name=\"input_reference\"; \
                    filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\nxyz\r\n\
                    --b\r\nContent-Disposition: form-data; name=\"more[inner]\"\r\n\r\n1\r\n--b--\r\n";
        let object = fields(form.as_bytes(), "b").map(Value::Object);
        let expected = json!({
            "prompt": "a fox",
            "input_reference": { "file_name": "a.png" },
            "more": { "inner": "1" },
        });
        assert_eq!(object, Some(expected));
        assert_eq!(fields(b"--b\r\nno end", "b"), None);
        assert_eq!(
            boundary("multipart/form-data; boundary=\"x y\""),
            Some("x y")
        );
        assert_eq!(boundary("application/json"), None);
    }
}
