//! AWS event streams (`application/vnd.amazon.eventstream`), decoded from chunks of any size. Pure: bytes in,
//! messages out. [`claude`] converts them to Anthropic's format.
//!
//! A frame is its length, the length of its headers, a CRC of these two, the headers, the payload, and a CRC of all
//! before it; all numbers are big-endian.
//!
//! Not `aws-smithy-eventstream`: its decoder has no maximum length and checks the CRC of a length only after it has
//! buffered that many bytes, up to 4 GiB, and its errors do not tell a CRC mismatch from a malformed frame.

pub(crate) mod claude;

use bytes::{Buf as _, Bytes, BytesMut};
use crc::{CRC_32_ISO_HDLC, Crc};

/// Longest frame. The largest event of a chat is a tool's input or an image of some hundred kilobytes; a longer
/// event could not be passed on either.
pub const MAX_FRAME_BYTES: usize = 4_000_000;
/// Longest headers; AWS's own limit.
const MAX_HEADERS_BYTES: usize = 131_072;
/// Two lengths and their CRC.
const PRELUDE_BYTES: usize = 12;
const CRC_BYTES: usize = 4;
const LEAST_FRAME_BYTES: usize = 16;
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// A decoder. It cannot continue after an error: the start of the next frame is unknown.
#[derive(Debug, Default)]
pub struct EventStream {
    held: BytesMut,
}

/// One complete frame with valid CRCs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The headers of type string, in order; the other types are not used.
    pub headers: Vec<(String, String)>,
    pub payload: Bytes,
}

/// Why a frame cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EventStreamError {
    #[error("a frame of the event stream is damaged")]
    Damaged,
    /// Invalid lengths or headers.
    #[error("a frame of the event stream has a shape that cannot be")]
    Shape,
    /// More than [`MAX_FRAME_BYTES`].
    #[error("a frame of the event stream is larger than {MAX_FRAME_BYTES} bytes")]
    TooLarge,
    /// The stream ended inside a frame.
    #[error("the event stream ended inside a frame")]
    Cut,
}

// === impl EventStream ===

impl EventStream {
    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next message; none until more bytes are pushed.
    pub fn next_message(&mut self) -> Result<Option<Message>, EventStreamError> {
        let mut prelude = self.held.as_ref();
        if prelude.len() < PRELUDE_BYTES {
            return Ok(None);
        }
        let claimed = checksum(&self.held, PRELUDE_BYTES.saturating_sub(CRC_BYTES));
        let (frame, headers, expected) = (prelude.get_u32(), prelude.get_u32(), prelude.get_u32());
        // Corrupt lengths are rejected before any byte is awaited.
        if claimed != Some(expected) {
            return Err(EventStreamError::Damaged);
        }
        let (frame, headers) = (size(frame), size(headers));
        if frame > MAX_FRAME_BYTES {
            return Err(EventStreamError::TooLarge);
        }
        let around = LEAST_FRAME_BYTES.saturating_add(headers);
        if headers > MAX_HEADERS_BYTES || around > frame {
            return Err(EventStreamError::Shape);
        }
        if self.held.len() < frame {
            return Ok(None);
        }
        let mut whole = self.held.split_to(frame).freeze();
        let before = frame.saturating_sub(CRC_BYTES);
        let mut expected = whole.split_off(before);
        if checksum(&whole, before) != Some(expected.get_u32()) {
            return Err(EventStreamError::Damaged);
        }
        whole.advance(PRELUDE_BYTES);
        let headers = read_headers(whole.split_to(headers))?;
        let payload = whole;
        Ok(Some(Message { headers, payload }))
    }

    /// Whether the stream may end here.
    pub fn end(&self) -> Result<(), EventStreamError> {
        if self.held.is_empty() {
            Ok(())
        } else {
            Err(EventStreamError::Cut)
        }
    }
}

// === impl Message ===

impl Message {
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn checksum(bytes: &[u8], count: usize) -> Option<u32> {
    bytes.get(..count).map(|bytes| CHECKSUM.checksum(bytes))
}

fn read_headers(mut bytes: Bytes) -> Result<Vec<(String, String)>, EventStreamError> {
    let mut headers = Vec::new();
    while bytes.has_remaining() {
        let length = usize::from(bytes.get_u8());
        if length == 0 {
            return Err(EventStreamError::Shape);
        }
        let name = text(taken(&mut bytes, length)?)?;
        let kind = taken(&mut bytes, 1)?.get_u8();
        let is_text = kind == 7;
        let length = match kind {
            // True and false.
            0 | 1 => 0,
            2 => 1,
            3 => 2,
            4 => 4,
            // A long and a time.
            5 | 8 => 8,
            // Byte arrays and strings have a length prefix.
            6 | 7 => usize::from(taken(&mut bytes, 2)?.get_u16()),
            // A UUID.
            9 => 16,
            _ => return Err(EventStreamError::Shape),
        };
        let value = taken(&mut bytes, length)?;
        if is_text {
            headers.push((name, text(value)?));
        }
    }
    Ok(headers)
}

fn taken(bytes: &mut Bytes, length: usize) -> Result<Bytes, EventStreamError> {
    if bytes.len() < length {
        return Err(EventStreamError::Shape);
    }
    Ok(bytes.split_to(length))
}

fn text(bytes: Bytes) -> Result<String, EventStreamError> {
    String::from_utf8(bytes.into()).map_err(|_| EventStreamError::Shape)
}

#[cfg(test)]
mod tests;
