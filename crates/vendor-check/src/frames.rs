//! The shape of a stream: its frames in order, with consecutive equal ones merged.

use std::collections::BTreeSet;

use crate::shape::{self, Shape};

/// Most frame shapes of one stream.
const MAX_KINDS: usize = 100;

/// The frames of a stream of server-sent events.
pub(crate) fn of_stream(text: &[u8]) -> Vec<Shape> {
    let text = String::from_utf8_lossy(text).replace("\r\n", "\n");
    let mut kinds: Vec<Shape> = Vec::new();
    for block in text.split("\n\n").filter(|block| !block.is_empty()) {
        let Some(kind) = of_block(block) else {
            continue;
        };
        if kinds.last() != Some(&kind) && kinds.len() < MAX_KINDS {
            kinds.push(kind);
        }
    }
    kinds
}

/// None for a block of comments.
fn of_block(block: &str) -> Option<Shape> {
    let data: Vec<&str> = block
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|rest| rest.strip_prefix(' ').unwrap_or(rest))
        .collect();
    let mut kind = match data.as_slice() {
        [] => Shape::new(),
        ["[DONE]"] => Shape::from([("[DONE]".to_owned(), BTreeSet::from(["mark".to_owned()]))]),
        lines => shape::of_text(lines.join("\n").as_bytes()),
    };
    if block.lines().any(|line| line.starts_with("event:")) {
        kind.insert("event".to_owned(), BTreeSet::from(["named".to_owned()]));
    }
    (!kind.is_empty()).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_told_in_order_and_equal_neighbours_once() {
        let stream = b": hello\n\ndata: {\"a\":1}\n\ndata: {\"a\":2}\r\n\r\ndata: {\"a\":null}\n\n\
                       event: x\ndata: {\"a\":3}\n\ndata: [DONE]\n\n";
        let kinds = of_stream(stream);
        let paths: Vec<Vec<&str>> = kinds
            .iter()
            .map(|kind| kind.keys().map(String::as_str).collect())
            .collect();
        assert_eq!(
            paths,
            [vec!["a"], vec!["a"], vec!["a", "event"], vec!["[DONE]"]]
        );
    }
}
