//! A form that is read as it comes: fields are kept, of a file only what was heard. A gigabyte goes
//! through a few kilobytes.

use aws_lc_rs::digest::{Context, SHA256};
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::audio_sniff::{self, AudioInfo, UploadMeter};
use crate::scripted_body::Abort;

/// A form that was read to its end.
#[derive(Debug)]
pub(crate) struct Upload {
    /// Names and values in their order; a name may come twice.
    fields: Vec<(String, String)>,
    pub(crate) file: Option<File>,
    /// Of everything that was sent.
    pub(crate) body_sha256: [u8; 32],
    /// Whether it was a form, whole and within bounds.
    pub(crate) is_good: bool,
}

/// The file of a form.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) audio: AudioInfo,
}

/// Reads a form piece by piece.
struct Form {
    boundary: Vec<u8>,
    waiting: Vec<u8>,
    place: Place,
    fields: Vec<(String, String)>,
    file: Option<File>,
    parts: usize,
}

/// Where in a form we are.
enum Place {
    /// Before the line break in front of a boundary, or the boundary itself.
    Boundary,
    Header,
    Field {
        name: String,
        value: Vec<u8>,
    },
    File {
        name: String,
        ear: Box<UploadMeter>,
    },
    End,
    Broken,
}

/// The field that holds the file.
const FILE: &str = "file";
const MAX_PARTS: usize = 100;
const MAX_HEADER_BYTES: usize = 8 * 1024;
const MAX_FIELD_BYTES: usize = 64 * 1024;

/// Reads a body to its end, whatever it is. An error means that the client broke off.
pub(crate) async fn read(headers: &HeaderMap, mut incoming: Incoming) -> Result<Upload, Abort> {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let boundary = kind.and_then(boundary).unwrap_or_default();
    let mut form = Form::new(boundary);
    let mut hash = Context::new(&SHA256);
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|_| Abort)?;
        let bytes: Bytes = frame.into_data().unwrap_or_default();
        hash.update(&bytes);
        form.take(&bytes);
    }
    let is_good = matches!(form.place, Place::End);
    Ok(Upload {
        fields: form.fields,
        file: form.file,
        body_sha256: audio_sniff::digest(hash),
        is_good,
    })
}

fn boundary(kind: &str) -> Option<&str> {
    let rest = kind.strip_prefix("multipart/form-data")?;
    let (_, boundary) = rest.split_once("boundary=")?;
    let boundary = boundary.split(';').next()?.trim().trim_matches('"');
    (!boundary.is_empty()).then_some(boundary)
}

// === impl Upload ===

impl Upload {
    /// The value of a field; of one that comes twice the last.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut values = self.fields.iter().rev();
        values
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Every value of a list such as `names[]`.
    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        let values = self.fields.iter().filter(|(known, _)| known == name);
        values.map(|(_, value)| value.as_str()).collect()
    }
}

// === impl Form ===

impl Form {
    fn new(boundary: &str) -> Self {
        Self {
            boundary: format!("\r\n--{boundary}").into_bytes(),
            // The first boundary has no line before it.
            waiting: b"\r\n".to_vec(),
            place: if boundary.is_empty() {
                Place::Broken
            } else {
                Place::Boundary
            },
            fields: Vec::new(),
            file: None,
            parts: 0,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        if matches!(self.place, Place::End | Place::Broken) {
            return;
        }
        self.waiting.extend(bytes);
        while self.step() {}
    }

    /// Whether there may be more to do with what is there.
    fn step(&mut self) -> bool {
        match &self.place {
            Place::Boundary => self.pass_boundary(),
            Place::Header => self.read_header(),
            Place::Field { .. } | Place::File { .. } => self.read_value(),
            Place::End | Place::Broken => {
                self.waiting.clear();
                false
            }
        }
    }

    fn pass_boundary(&mut self) -> bool {
        let length = self.boundary.len();
        let Some(behind) = self.waiting.get(length..length.saturating_add(2)) else {
            return false;
        };
        let is_boundary = self.waiting.starts_with(&self.boundary);
        self.place = match behind {
            b"\r\n" if is_boundary && self.parts < MAX_PARTS => Place::Header,
            b"--" if is_boundary => Place::End,
            _ => Place::Broken,
        };
        self.parts = self.parts.saturating_add(1);
        self.waiting.drain(..length.saturating_add(2));
        true
    }

    fn read_header(&mut self) -> bool {
        let Some(end) = memchr::memmem::find(&self.waiting, b"\r\n\r\n") else {
            if self.waiting.len() > MAX_HEADER_BYTES {
                self.place = Place::Broken;
            }
            return matches!(self.place, Place::Broken);
        };
        let header: Vec<u8> = self.waiting.drain(..end.saturating_add(4)).collect();
        let header = String::from_utf8_lossy(&header);
        self.place = match (quoted(&header, " name=\""), quoted(&header, "filename=\"")) {
            (Some(FILE), Some(name)) => Place::File {
                name: name.to_owned(),
                ear: Box::new(UploadMeter::new()),
            },
            (Some(name), None) => Place::Field {
                name: name.to_owned(),
                value: Vec::new(),
            },
            (Some(_) | None, _) => Place::Broken,
        };
        true
    }

    fn read_value(&mut self) -> bool {
        let end = memchr::memmem::find(&self.waiting, &self.boundary);
        let safe = match end {
            Some(end) => end,
            // The beginning of a boundary may stand at the end of what is there.
            None => self.waiting.len().saturating_sub(self.boundary.len()),
        };
        let bytes = self.waiting.get(..safe).unwrap_or_default();
        let mut is_broken = false;
        match &mut self.place {
            Place::File { ear, .. } => ear.update(bytes),
            Place::Field { value, .. } => {
                is_broken = value.len().saturating_add(bytes.len()) > MAX_FIELD_BYTES;
                value.extend(bytes);
            }
            Place::Boundary | Place::Header | Place::End | Place::Broken => {}
        }
        self.waiting.drain(..safe);
        if is_broken {
            self.place = Place::Broken;
            return true;
        }
        if end.is_some() {
            self.close();
        }
        end.is_some()
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.place, Place::Boundary) {
            Place::File { name, ear } => {
                let audio = ear.done();
                self.file = Some(File { name, audio });
            }
            Place::Field { name, value } => {
                let value = String::from_utf8_lossy(&value).into_owned();
                self.fields.push((name, value));
            }
            Place::Boundary | Place::Header | Place::End | Place::Broken => {}
        }
    }
}

fn quoted<'a>(header: &'a str, before: &str) -> Option<&'a str> {
    let (_, after) = header.split_once(before)?;
    after.split_once('"').map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n\
        --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\
        Content-Type: audio/wav\r\n\r\nab\r\n--c\r\n\r\n--b\r\n\
        Content-Disposition: form-data; name=\"list[]\"\r\n\r\nx\r\n--b\r\n\
        Content-Disposition: form-data; name=\"list[]\"\r\n\r\ny\r\n--b--\r\n";

    #[test]
    fn a_form_is_the_same_wherever_it_is_cut() {
        for size in 1..FORM.len() {
            let mut form = Form::new("b");
            for piece in FORM.as_bytes().chunks(size) {
                form.take(piece);
            }
            assert!(matches!(form.place, Place::End), "{size}");
            let names: Vec<&str> = form.fields.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["model", "list[]", "list[]"]);
            let file = form.file.unwrap();
            assert_eq!(file.name, "a.wav");
            assert_eq!(file.audio, AudioInfo::of(b"ab\r\n--c\r\n"));
        }
    }

    #[test]
    fn what_is_no_whole_form_is_not_good() {
        for (boundary, text) in [
            (
                "b",
                "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx",
            ),
            ("b", "--c--\r\n"),
            ("", "--b--\r\n"),
        ] {
            let mut form = Form::new(boundary);
            form.take(text.as_bytes());
            assert!(!matches!(form.place, Place::End), "{text}");
        }
        assert_eq!(
            boundary("multipart/form-data; boundary=\"x y\""),
            Some("x y")
        );
        assert_eq!(boundary("application/json"), None);
    }
}
