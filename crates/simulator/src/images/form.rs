//! A form (`multipart/form-data`) byte by byte: files are kept as they came.

use bytes::Bytes;
use memchr::memmem;

/// One part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) file_name: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) bytes: Bytes,
}

const MAX_PARTS: usize = 100;

/// The mark between the parts, if the content type is that of a form.
pub(super) fn boundary(content_type: &str) -> Option<&str> {
    let rest = content_type.strip_prefix("multipart/form-data")?;
    let (_, boundary) = rest.split_once("boundary=")?;
    let boundary = boundary.split(';').next()?.trim().trim_matches('"');
    (!boundary.is_empty()).then_some(boundary)
}

/// Every part; none if the form is broken.
pub(super) fn parts(body: &Bytes, boundary: &str) -> Option<Vec<Part>> {
    let first = format!("--{boundary}");
    let between = format!("\r\n--{boundary}");
    let finder = memmem::Finder::new(between.as_bytes());
    let mut at = body.strip_prefix(first.as_bytes()).map(|_| first.len())?;
    let mut parts = Vec::new();
    loop {
        let rest = body.get(at..)?;
        if rest.starts_with(b"--") {
            return Some(parts);
        }
        if parts.len() >= MAX_PARTS || !rest.starts_with(b"\r\n") {
            return None;
        }
        let from = at.checked_add(2)?;
        let inside = body.get(from..)?;
        let length = finder.find(inside)?;
        parts.push(part(&body.slice(from..from.checked_add(length)?))?);
        at = from.checked_add(length)?.checked_add(between.len())?;
    }
}

fn part(bytes: &Bytes) -> Option<Part> {
    let ends = memmem::find(bytes, b"\r\n\r\n")?;
    let head = std::str::from_utf8(bytes.get(..ends)?).ok()?;
    let header = |wanted_name: &str| {
        let lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
        let mut found = lines.filter(|(name, _)| name.eq_ignore_ascii_case(wanted_name));
        found.next().map(|(_, value)| value.trim())
    };
    let disposition = header("content-disposition")?.strip_prefix("form-data")?;
    Some(Part {
        name: quoted(disposition, "; name=\"")?,
        file_name: quoted(disposition, "filename=\""),
        kind: header("content-type").map(str::to_owned),
        bytes: bytes.slice(ends.checked_add(4)?..),
    })
}

fn quoted(text: &str, before: &str) -> Option<String> {
    let (_, after) = text.split_once(before)?;
    after.split_once('"').map(|(inside, _)| inside.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &[u8] = b"--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\na fox\r\n\
        --b\r\ncontent-disposition: form-data; name=\"image[]\"; filename=\"a.png\"\r\n\
        Content-Type: image/png\r\n\r\n\x89\r\n-\xff--b\r\n--b--\r\n";

    #[test]
    fn a_file_is_kept_byte_by_byte() {
        let parts = parts(&Bytes::from_static(FORM), "b").unwrap();
        let [prompt, file] = parts.as_slice() else {
            panic!("two parts: {parts:?}");
        };
        assert_eq!(
            (prompt.name.as_str(), &prompt.bytes[..]),
            ("prompt", &b"a fox"[..])
        );
        assert_eq!((&prompt.file_name, &prompt.kind), (&None, &None));
        assert_eq!(file.name, "image[]");
        assert_eq!(file.file_name.as_deref(), Some("a.png"));
        assert_eq!(file.kind.as_deref(), Some("image/png"));
        assert_eq!(&file.bytes[..], b"\x89\r\n-\xff--b");
    }

    #[test]
    fn a_form_without_its_end_is_none() {
        for cut in [0, 3, 20, FORM.len() - 4] {
            assert_eq!(parts(&Bytes::from_static(&FORM[..cut]), "b"), None, "{cut}");
        }
        let kind = "multipart/form-data; boundary=\"x y\"";
        assert_eq!(boundary(kind), Some("x y"));
        assert_eq!(boundary("application/json"), None);
    }
}
