//! Server-sent events, cut out of a stream of bytes wherever the network cut it. A frame keeps its
//! bytes, so that what need not change can be passed on as it came.

use bytes::{Bytes, BytesMut};
use memchr::memchr2;

/// The largest frame that is put together; an upstream that sends more is not followed.
pub const MAX_FRAME_BYTES: usize = 4_000_000;

/// One event, or a block of comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// All its bytes, the empty line that ends it included.
    pub raw: Bytes,
    /// The `event:` field.
    pub event: Option<String>,
    /// The `data:` lines, joined; none for a frame without data.
    pub data: Option<Bytes>,
}

/// Why a stream cannot be followed any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A frame without an end.
    #[error("an event is larger than {MAX_FRAME_BYTES} bytes")]
    TooLarge,
}

#[derive(Debug, Default)]
pub struct Frames {
    waiting: BytesMut,
    /// Up to here there is no end of a frame, but for the last three bytes.
    scanned: usize,
}

// === impl Frames ===

impl Frames {
    /// Takes bytes in; [`Frames::take`] gives the frames that are whole.
    pub fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    pub fn take(&mut self) -> Result<Option<Frame>, SseError> {
        let from = self.scanned.saturating_sub(3);
        match end_of_frame(&self.waiting, from) {
            Some(end) => {
                let raw = self.waiting.split_to(end).freeze();
                self.scanned = 0;
                Ok(Some(Frame::of(raw)))
            }
            None if self.waiting.len() > MAX_FRAME_BYTES => Err(SseError::TooLarge),
            None => {
                self.scanned = self.waiting.len();
                Ok(None)
            }
        }
    }

    /// What is left when the stream ended: a frame without its empty line, if there is any.
    pub fn rest(self) -> Option<Frame> {
        let blank = self.waiting.iter().all(u8::is_ascii_whitespace);
        (!blank).then(|| Frame::of(self.waiting.freeze()))
    }
}

/// Behind the first empty line at or after `from`: two line ends in a row, of whatever kind.
fn end_of_frame(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let ahead = memchr2(b'\n', b'\r', bytes.get(at..)?)?;
        let first = at.saturating_add(ahead);
        let after = behind_line_end(bytes, first)?;
        match bytes.get(after) {
            Some(b'\n') => return Some(after.saturating_add(1)),
            // A lone CR at the very end may be half of a CRLF; the next bytes tell.
            Some(b'\r') => return behind_line_end(bytes, after),
            Some(_) => at = after,
            None => return None,
        }
    }
}

/// Behind the line end that begins here; none if it cannot be known yet.
fn behind_line_end(bytes: &[u8], at: usize) -> Option<usize> {
    let next = at.saturating_add(1);
    if bytes.get(at) == Some(&b'\n') {
        return Some(next);
    }
    match bytes.get(next) {
        Some(b'\n') => Some(next.saturating_add(1)),
        Some(_) => Some(next),
        None => None,
    }
}

// === impl Frame ===

impl Frame {
    fn of(raw: Bytes) -> Self {
        if let Some(data) = lone_data(&raw) {
            let data = Some(raw.slice_ref(data));
            return Self {
                raw,
                event: None,
                data,
            };
        }
        let mut event = None;
        let mut lines: Vec<&[u8]> = Vec::new();
        let untagged = raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&raw);
        for line in untagged.split(|byte| matches!(byte, b'\n' | b'\r')) {
            let (field, value) = field_of(line);
            match field {
                b"data" => lines.push(value),
                b"event" => event = Some(String::from_utf8_lossy(value).into_owned()),
                _ => {}
            }
        }
        let data = match lines.as_slice() {
            [] => None,
            [only] => Some(raw.slice_ref(only)),
            more => Some(Bytes::from(more.join(&b'\n'))),
        };
        Self { raw, event, data }
    }

    /// A frame with one line of data.
    #[must_use]
    pub fn of_data(data: &[u8]) -> Self {
        let raw = [b"data: ", data, b"\n\n"].concat();
        Self::of(Bytes::from(raw))
    }
}

/// The data of a frame that is one line of it and nothing else, as nearly all are.
fn lone_data(raw: &[u8]) -> Option<&[u8]> {
    let line = raw.strip_prefix(b"data:")?.strip_suffix(b"\n\n")?;
    let one_line = memchr2(b'\n', b'\r', line).is_none();
    one_line.then(|| line.strip_prefix(b" ").unwrap_or(line))
}

fn field_of(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = memchr::memchr(b':', line) else {
        return (line, b"");
    };
    let (field, rest) = line.split_at(colon);
    let value = rest.strip_prefix(b":").unwrap_or(rest);
    (field, value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> (Vec<Frame>, Option<Frame>) {
        let mut frames = Frames::default();
        let mut found = Vec::new();
        for piece in pieces {
            frames.push(piece);
            while let Some(frame) = frames.take().unwrap() {
                found.push(frame);
            }
        }
        (found, frames.rest())
    }

    fn data(frames: &[Frame]) -> Vec<String> {
        let text = |frame: &Frame| {
            let data = frame.data.as_ref().map(|data| data.to_vec());
            String::from_utf8(data.unwrap_or_default()).unwrap()
        };
        frames.iter().map(text).collect()
    }

    #[test]
    fn frames_come_out_the_same_wherever_the_bytes_are_cut() {
        let text = "\u{feff}data: {\"a\":\"é🎈\"}\n\n: ping\n\nevent: x\r\ndata:1\r\ndata: 2\r\n\r\ndata: [DONE]\r\rdata: end\n\n";
        let bytes = text.as_bytes();
        let (whole, rest) = all(&[bytes]);
        assert_eq!(
            data(&whole),
            ["{\"a\":\"é🎈\"}", "", "1\n2", "[DONE]", "end"]
        );
        assert_eq!(whole[2].event.as_deref(), Some("x"));
        assert!(rest.is_none());
        let joined: Vec<u8> = whole.iter().flat_map(|frame| frame.raw.to_vec()).collect();
        assert_eq!(joined, bytes, "no byte is lost");
        for cut in 0..bytes.len() {
            for second in [cut, cut + 1, cut + 2, cut + 5] {
                let second = second.min(bytes.len());
                let (pieces, rest) = all(&[&bytes[..cut], &bytes[cut..second], &bytes[second..]]);
                assert_eq!(data(&pieces), data(&whole), "cut at {cut} and {second}");
                assert!(rest.is_none());
            }
        }
        let bytewise: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(data(&all(&bytewise).0), data(&whole));
    }

    #[test]
    fn a_frame_without_its_end_is_the_rest() {
        let (found, rest) = all(&[b"data: 1\n\ndata: {\"half\""]);
        assert_eq!(found.len(), 1);
        assert_eq!(data(&[rest.unwrap()]), ["{\"half\""]);
        assert!(all(&[b"data: 1\n\n\n\n"]).1.is_none());
    }

    #[test]
    fn a_frame_that_never_ends_is_not_followed_for_ever() {
        let mut frames = Frames::default();
        let piece = vec![b'x'; 1_000_000];
        for _ in 0..4 {
            frames.push(&piece);
            assert_eq!(frames.take().unwrap(), None);
        }
        frames.push(&piece);
        assert_eq!(frames.take().unwrap_err(), SseError::TooLarge);
    }
}
