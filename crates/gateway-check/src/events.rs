//! The frames of a stream of server-sent events, with what cannot be read counted.

use serde_json::Value;

/// A stream as a client reads it.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pub(crate) values: Vec<Value>,
    /// Frames that are not JSON.
    pub(crate) unreadable: usize,
    /// The mark that ends streams of chat completions.
    pub(crate) is_done: bool,
}

pub(crate) fn frames(bytes: &[u8]) -> Frames {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let mut frames = Frames::default();
    for block in text.split("\n\n") {
        let data: Vec<&str> = block
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .map(|rest| rest.strip_prefix(' ').unwrap_or(rest))
            .collect();
        match data.as_slice() {
            [] => {}
            ["[DONE]"] => frames.is_done = true,
            lines => match serde_json::from_str(&lines.join("\n")) {
                Ok(value) => frames.values.push(value),
                Err(_) => frames.unreadable = frames.unreadable.saturating_add(1),
            },
        }
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_past_comments_and_what_is_not_json_is_counted() {
        let read =
            frames(b": hello\n\nevent: x\ndata: {\"a\":1}\r\n\r\ndata: {\"a\n\ndata: [DONE]\n\n");
        assert_eq!(read.values, [serde_json::json!({ "a": 1 })]);
        assert_eq!((read.unreadable, read.is_done), (1, true));
    }
}
