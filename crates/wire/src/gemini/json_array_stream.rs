//! `streamGenerateContent` without `alt=sse`: the same pieces as members of one JSON array.

use crate::{Frame, Frames};

/// How a stream is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamShape {
    /// Server-sent events (`alt=sse`).
    Events,
    /// One JSON array.
    Array,
}

/// Turns frames of this format into members of a JSON array.
#[derive(Debug, Default)]
pub struct ArrayFrames {
    frames: Frames,
    begun: bool,
}

impl StreamShape {
    /// By the query of the request.
    #[must_use]
    pub fn of_query(query: &str) -> Self {
        let is_sse = |pair: &str| matches!(pair.split_once('='), Some(("alt" | "$alt", "sse")));
        if query.split('&').any(is_sse) {
            Self::Events
        } else {
            Self::Array
        }
    }

    /// The type of the body.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream",
            Self::Array => "application/json",
        }
    }
}

impl ArrayFrames {
    /// Takes bytes of frames, cut anywhere, and writes the members that are whole.
    pub fn write(&mut self, frames: &[u8], out: &mut Vec<u8>) {
        self.frames.push(frames);
        // Frames of our own have no size that is not followed.
        while let Ok(Some(frame)) = self.frames.take() {
            self.member(&frame, out);
        }
    }

    fn member(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        let Some(data) = &frame.data else {
            return;
        };
        if frame.raw.as_ref() == super::HEARTBEAT {
            // White space is a heartbeat that JSON parsers skip.
            out.push(b'\n');
            return;
        }
        out.extend_from_slice(if self.begun { b",\r\n" } else { b"[" });
        self.begun = true;
        out.extend_from_slice(data);
    }

    /// Writes the end of the array.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let rest = std::mem::take(&mut self.frames).rest();
        if let Some(frame) = rest {
            self.member(&frame, out);
        }
        if !self.begun {
            out.push(b'[');
        }
        self.begun = true;
        out.push(b']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemini::HEARTBEAT;

    #[test]
    fn frames_become_an_array_wherever_they_are_cut() {
        let stream = [
            HEARTBEAT,
            b"data: {\"a\":1}\n\n",
            HEARTBEAT,
            b"data: {\"b\":[2]}\n\n",
        ]
        .concat();
        for cut in 0..stream.len() {
            let (mut array, mut out) = (ArrayFrames::default(), Vec::new());
            array.write(&stream[..cut], &mut out);
            array.write(&stream[cut..], &mut out);
            array.finish(&mut out);
            let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(
                read,
                serde_json::json!([{ "a": 1 }, { "b": [2] }]),
                "cut at {cut}"
            );
        }
        let mut empty = Vec::new();
        ArrayFrames::default().finish(&mut empty);
        assert_eq!(empty, b"[]");
    }

    #[test]
    fn the_query_says_which_shape_is_wanted() {
        assert_eq!(StreamShape::of_query("key=x&alt=sse"), StreamShape::Events);
        assert_eq!(StreamShape::of_query("alt=json"), StreamShape::Array);
        assert_eq!(StreamShape::of_query(""), StreamShape::Array);
        assert_eq!(StreamShape::Array.content_type(), "application/json");
    }
}
