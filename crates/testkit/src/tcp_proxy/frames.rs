//! Just enough of PostgreSQL's protocol to see where a message ends and whether it is a commit.
//!
//! After the start a message is a type byte, a length that counts itself, and the rest. Before it the
//! client sends messages without a type byte, and the server answers the question for TLS with one
//! single byte.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// One message, or a piece of something that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    /// From the client: a simple query that ends with `COMMIT`. From the server: "it is committed".
    pub(super) is_commit: bool,
}

/// Cuts a stream of bytes into messages.
pub(super) struct Frames {
    side: Side,
    state: State,
    buffer: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Messages,
    Unreadable,
}

const PROTOCOL_3: [u8; 4] = [0, 3, 0, 0];
const LENGTH_BYTES: usize = 4;

// === impl Frames ===

impl Frames {
    pub(super) fn of(side: Side, speaks_postgres: bool) -> Self {
        Self {
            side,
            state: if speaks_postgres {
                State::Start
            } else {
                State::Unreadable
            },
            buffer: Vec::new(),
        }
    }

    pub(super) fn take_in(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub(super) fn next(&mut self) -> Option<Frame> {
        let first = *self.buffer.first()?;
        match (self.state, self.side) {
            (State::Unreadable, _) => self.cut_off(self.buffer.len()),
            (State::Start, Side::Server) => match first {
                // "No" to TLS, "yes" to TLS; neither byte can begin a server's first message.
                b'N' => self.cut_off(1),
                b'S' => {
                    self.state = State::Unreadable;
                    self.cut_off(1)
                }
                _ => {
                    self.state = State::Messages;
                    self.next()
                }
            },
            (State::Start, Side::Client) => {
                let message = self.cut_off(length(&self.buffer)?)?;
                if message.bytes.get(LENGTH_BYTES..2 * LENGTH_BYTES) == Some(&PROTOCOL_3) {
                    self.state = State::Messages;
                }
                Some(message)
            }
            (State::Messages, _) => {
                let after_tag = length(self.buffer.get(1..)?)?;
                self.cut_off(1 + after_tag)
            }
        }
    }

    fn cut_off(&mut self, count: usize) -> Option<Frame> {
        if count > self.buffer.len() {
            return None;
        }
        let rest = self.buffer.split_off(count);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        let is_commit = self.state == State::Messages && is_commit(self.side, &bytes);
        Some(Frame { bytes, is_commit })
    }
}

fn length(bytes: &[u8]) -> Option<usize> {
    let length = bytes.first_chunk::<LENGTH_BYTES>()?;
    usize::try_from(u32::from_be_bytes(*length)).ok()
}

fn is_commit(side: Side, message: &[u8]) -> bool {
    let body = message.get(1 + LENGTH_BYTES..).unwrap_or_default();
    match (side, message.first()) {
        (Side::Client, Some(b'Q')) => body.ends_with(b"COMMIT\0"),
        (Side::Server, Some(b'C')) => body == b"COMMIT\0",
        (Side::Client | Side::Server, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + LENGTH_BYTES).unwrap();
        [&[tag][..], &length.to_be_bytes(), body].concat()
    }

    fn cut(side: Side, stream: &[u8], piece: usize) -> Vec<Frame> {
        let mut frames = Frames::of(side, true);
        let mut found = Vec::new();
        for bytes in stream.chunks(piece) {
            frames.take_in(bytes);
            while let Some(frame) = frames.next() {
                found.push(frame);
            }
        }
        found
    }

    #[test]
    fn the_answer_to_a_commit_is_found_however_the_stream_is_cut() {
        let stream = [
            b"N".to_vec(),
            message(b'R', &[0, 0, 0, 0]),
            message(b'C', b"INSERT 0 1\0"),
            message(b'C', b"COMMIT\0"),
            message(b'Z', b"I"),
        ]
        .concat();
        for piece in 1..stream.len() {
            let found = cut(Side::Server, &stream, piece);
            let commits: Vec<bool> = found.iter().map(|frame| frame.is_commit).collect();
            assert_eq!(commits, [false, false, false, true, false]);
            let bytes: Vec<u8> = found.into_iter().flat_map(|frame| frame.bytes).collect();
            assert_eq!(bytes, stream);
        }
    }

    #[test]
    fn a_commit_is_found_after_the_messages_without_a_type_byte() {
        let tls = [&[0, 0, 0, 8][..], &[4, 210, 22, 47]].concat();
        let start = [&[0, 0, 0, 10][..], &PROTOCOL_3, b"u\0"].concat();
        let stream = [
            tls,
            start,
            message(b'Q', b"SELECT 'COMMIT' AS x\0"),
            message(b'Q', b"SAVEPOINT s; COMMIT\0"),
        ]
        .concat();
        for piece in 1..stream.len() {
            let found = cut(Side::Client, &stream, piece);
            let commits: Vec<bool> = found.iter().map(|frame| frame.is_commit).collect();
            assert_eq!(commits, [false, false, false, true]);
        }
    }
}
