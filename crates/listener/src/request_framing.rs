//! Where one HTTP/1 request ends and the next begins, so that no request can be read in two ways: a bare
//! line feed, a `content-length` beside a `transfer-encoding` and two lengths are refused. The parser
//! behind this one is lenient there. Pure.

const CONTENT_LENGTH: &[u8] = b"content-length";
const TRANSFER_ENCODING: &[u8] = b"transfer-encoding";
/// The first line of HTTP/2, which has frames of its own.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0";
/// Bytes of a line that are kept: names and lengths are shorter, and so is the preface.
const MAX_LINE_BYTES: usize = 256;
const RADIX: u64 = 16;

/// The bytes before this offset belong to good requests; the byte at it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) usize);

/// One connection's requests.
#[derive(Debug, Default)]
pub(crate) struct RequestFraming {
    part: Part,
    /// The line so far.
    line: Vec<u8>,
    after_return: bool,
    has_request_line: bool,
    length: Option<u64>,
    is_chunked: bool,
    /// A request has been read whole.
    is_later: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    #[default]
    Head,
    Body(u64),
    ChunkSize,
    Chunk(u64),
    /// The line end behind a chunk.
    ChunkEnd,
    Trailers,
    /// Another protocol.
    Unframed,
}

impl RequestFraming {
    /// Whether the client has still to send a part of a body.
    pub(crate) const fn is_in_body(&self) -> bool {
        !matches!(self.part, Part::Head | Part::Unframed)
    }

    /// The next bytes.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let mut at = 0_usize;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let read = match self.part {
                Part::Unframed => return Ok(()),
                Part::Body(left) => self.skip(left, rest.len(), Part::Body),
                Part::Chunk(left) => self.skip(left, rest.len(), Part::Chunk),
                Part::Head | Part::ChunkSize | Part::ChunkEnd | Part::Trailers => {
                    let byte = rest.first().copied().unwrap_or_default();
                    self.line_byte(byte).ok_or(Refused(at))?;
                    1
                }
            };
            at = at.saturating_add(read);
        }
        Ok(())
    }

    /// Bytes of a body, without a look at them.
    fn skip(&mut self, left: u64, here: usize, part: fn(u64) -> Part) -> usize {
        let skipped = usize::try_from(left).unwrap_or(usize::MAX).min(here);
        let left = left.saturating_sub(u64::try_from(skipped).unwrap_or(u64::MAX));
        if left > 0 {
            self.part = part(left);
        } else if part(0) == Part::Chunk(0) {
            self.part = Part::ChunkEnd;
        } else {
            self.end_request();
        }
        skipped
    }

    fn line_byte(&mut self, byte: u8) -> Option<()> {
        if byte == b'\n' {
            if !std::mem::take(&mut self.after_return) {
                return None;
            }
            let line = std::mem::take(&mut self.line);
            let ended = self.end_line(&line);
            self.line = line;
            self.line.clear();
            return ended;
        }
        // A return that ends no line is refused by the parser.
        self.after_return = byte == b'\r';
        if !self.after_return && self.line.len() < MAX_LINE_BYTES {
            self.line.push(byte);
        }
        Some(())
    }

    fn end_line(&mut self, line: &[u8]) -> Option<()> {
        match self.part {
            Part::Head if !self.has_request_line => self.request_line(line),
            Part::Head if line.is_empty() => self.end_head(),
            Part::Head => return self.header(line),
            Part::ChunkSize => {
                let size = chunk_size(line)?;
                self.part = if size == 0 {
                    Part::Trailers
                } else {
                    Part::Chunk(size)
                };
            }
            Part::ChunkEnd if line.is_empty() => self.part = Part::ChunkSize,
            Part::ChunkEnd => return None,
            Part::Trailers if line.is_empty() => self.end_request(),
            Part::Trailers => {}
            // They have no lines.
            Part::Body(_) | Part::Chunk(_) | Part::Unframed => {}
        }
        Some(())
    }

    fn request_line(&mut self, line: &[u8]) {
        if line == HTTP2_PREFACE && !self.is_later {
            self.part = Part::Unframed;
        }
        // Empty lines before a request are allowed.
        self.has_request_line = !line.is_empty();
    }

    fn header(&mut self, line: &[u8]) -> Option<()> {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = line.split_at_checked(colon)?;
        let value = value.get(1..)?.trim_ascii();
        if name.eq_ignore_ascii_case(CONTENT_LENGTH) {
            let length = decimal(value)?;
            if self.length.is_some_and(|before| before != length) {
                return None;
            }
            self.length = Some(length);
        } else if name.eq_ignore_ascii_case(TRANSFER_ENCODING) {
            // Nothing else is decoded, and two codings are two readings.
            if self.is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return None;
            }
            self.is_chunked = true;
        }
        (self.length.is_none() || !self.is_chunked).then_some(())
    }

    fn end_head(&mut self) {
        self.part = match (self.is_chunked, self.length) {
            (true, _) => Part::ChunkSize,
            (false, Some(length)) if length > 0 => Part::Body(length),
            (false, _) => return self.end_request(),
        };
    }

    fn end_request(&mut self) {
        *self = Self {
            line: std::mem::take(&mut self.line),
            is_later: true,
            ..Self::default()
        };
        self.line.clear();
    }
}

fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The size at the beginning of a chunk's line; extensions may follow.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let size = line.split(|byte| *byte == b';').next()?.trim_ascii_end();
    if size.is_empty() {
        return None;
    }
    size.iter().try_fold(0_u64, |sum, byte| {
        let digit = char::from(*byte).to_digit(16)?;
        sum.checked_mul(RADIX)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In pieces of every size, the result is the same.
    fn read(text: &str) -> Result<bool, usize> {
        let mut results = Vec::new();
        for piece in 1..=text.len().clamp(1, 40) {
            let (mut framing, mut at) = (RequestFraming::default(), 0);
            let mut result = Ok(());
            for part in text.as_bytes().chunks(piece) {
                if let Err(Refused(offset)) = framing.read(part) {
                    result = Err(at + offset);
                    break;
                }
                at += part.len();
            }
            results.push(result.map(|()| framing.is_in_body()));
        }
        results.dedup();
        assert_eq!(results.len(), 1, "{text:?}: {results:?}");
        results.remove(0)
    }

    #[test]
    fn requests_one_after_the_other_are_read_to_their_ends() {
        for (text, in_body) in [
            ("GET / HTTP/1.1\r\nhost: x\r\n\r\n", false),
            ("\r\nGET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n", false),
            ("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\na\nb\nc", false),
            ("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\na\nb", true),
            (
                "POST / HTTP/1.1\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n\n\nGET /",
                false,
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: Chunked\r\n\r\n4;a=b\r\n\n\n\n\n\r\n0\r\nx: y\r\n\r\nGET / HTTP/1.1\r\n",
                false,
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nA\r\n012345678",
                true,
            ),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\n\n\n", false),
        ] {
            assert_eq!(read(text), Ok(in_body), "{text:?}");
        }
    }

    #[test]
    fn requests_that_can_be_read_in_two_ways_are_refused() {
        for (good, bad) in [
            ("GET / HTTP/1.1", "\nhost: x\r\n\r\n"),
            ("GET / HTTP/1.1\r\nhost: x", "\n\r\n"),
            ("", "\nGET / HTTP/1.1\r\n\r\n"),
            ("GET / HTTP/1.1\r\nhost: x\r\n", "\n"),
            (
                "POST / HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r",
                "\n\r\nabc",
            ),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r",
                "\n\r\nabc",
            ),
            (
                "POST / HTTP/1.1\r\ncontent-length: 3\r\ncontent-length: 4\r",
                "\n\r\n",
            ),
            ("POST / HTTP/1.1\r\ncontent-length: +3\r", "\n\r\n"),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: gzip, chunked\r",
                "\n\r\n",
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3",
                "\nabc",
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabcd\r",
                "\n",
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n\r",
                "\n",
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n11111111111111111\r",
                "\n",
            ),
            ("GET / HTTP/1.1\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM", "\n"),
        ] {
            assert_eq!(read(&format!("{good}{bad}")), Err(good.len()), "{good:?}");
        }
    }
}
