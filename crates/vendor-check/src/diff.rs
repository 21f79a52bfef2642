//! The differences of two responses, path by path.

use std::collections::{BTreeMap, BTreeSet};

use crate::request::ObservedResponse;
use crate::shape::Shape;

const NOTHING: &str = "nothing";

/// A line for each difference; none if there is none.
pub(crate) fn differences(vendor: &ObservedResponse, simulator: &ObservedResponse) -> Vec<String> {
    let mut lines = Vec::new();
    if vendor.status != simulator.status {
        lines.push(line(
            "status",
            &vendor.status.to_string(),
            &simulator.status.to_string(),
        ));
    }
    for name in names(&vendor.headers, &simulator.headers) {
        let header = |observed: &ObservedResponse| {
            observed
                .headers
                .get(name)
                .map_or(NOTHING.to_owned(), Clone::clone)
        };
        let (theirs, ours) = (header(vendor), header(simulator));
        if theirs != ours {
            lines.push(line(&format!("header {name}"), &theirs, &ours));
        }
    }
    match (vendor.shapes.as_slice(), simulator.shapes.as_slice()) {
        ([theirs], [ours]) => shapes(&mut lines, "body", theirs, ours),
        (theirs, ours) => streams(&mut lines, theirs, ours),
    }
    lines
}

/// Frames that both have in the same order align the comparison; the frames between two of them are compared in
/// pairs.
fn streams(lines: &mut Vec<String>, theirs: &[Shape], ours: &[Shape]) {
    let empty = Shape::new();
    let (mut left, mut right) = (theirs.iter().enumerate(), ours.iter());
    let mut common = common(theirs, ours).into_iter();
    loop {
        let anchor = common.next();
        let until = |shape: &&Shape| Some(*shape) != anchor;
        let only_theirs: Vec<(usize, &Shape)> = left
            .by_ref()
            .take_while(|(_, shape)| until(shape))
            .collect();
        let only_ours: Vec<&Shape> = right.by_ref().take_while(until).collect();
        for index in 0..only_theirs.len().max(only_ours.len()) {
            let their = only_theirs.get(index);
            let place = match their {
                Some((number, _)) => format!("frame {}", number.saturating_add(1)),
                None => "a frame".to_owned(),
            };
            let their = their.map_or(&empty, |(_, shape)| *shape);
            shapes(
                lines,
                &place,
                their,
                only_ours.get(index).copied().unwrap_or(&empty),
            );
        }
        if anchor.is_none() {
            return;
        }
    }
}

/// The longest common subsequence of the shapes.
fn common<'a>(theirs: &'a [Shape], ours: &[Shape]) -> Vec<&'a Shape> {
    // `best` has, for each prefix of our frames, the longest common subsequence with theirs so far.
    let mut best: Vec<Vec<&'a Shape>> = vec![Vec::new(); ours.len().saturating_add(1)];
    for shape in theirs {
        let mut next = vec![Vec::new()];
        for ((our, before), above) in ours.iter().zip(&best).zip(best.iter().skip(1)) {
            let longer = if shape == our {
                let mut list = before.clone();
                list.push(shape);
                list
            } else {
                let left: &Vec<&'a Shape> = next.last().unwrap_or(before);
                if left.len() > above.len() {
                    left.clone()
                } else {
                    above.clone()
                }
            };
            next.push(longer);
        }
        best = next;
    }
    best.pop().unwrap_or_default()
}

fn shapes(lines: &mut Vec<String>, place: &str, theirs: &Shape, ours: &Shape) {
    for path in names(theirs, ours) {
        let (their, our) = (theirs.get(path), ours.get(path));
        if their != our {
            let place = if path.is_empty() {
                place.to_owned()
            } else {
                format!("{place} {path}")
            };
            lines.push(line(&place, &kinds(their), &kinds(our)));
        }
    }
}

fn kinds(kinds: Option<&BTreeSet<String>>) -> String {
    let Some(kinds) = kinds else {
        return NOTHING.to_owned();
    };
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    kinds.join(" or ")
}

fn names<'a, T>(one: &'a BTreeMap<String, T>, other: &'a BTreeMap<String, T>) -> BTreeSet<&'a str> {
    one.keys().chain(other.keys()).map(String::as_str).collect()
}

fn line(place: &str, theirs: &str, ours: &str) -> String {
    format!("{place}: vendor has {theirs}, simulator has {ours}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::of_stream;
    use crate::shape::of_text;

    fn observed(shapes: Vec<Shape>) -> ObservedResponse {
        ObservedResponse {
            status: 200,
            headers: BTreeMap::new(),
            shapes,
            prices: None,
        }
    }

    #[test]
    fn a_renamed_field_another_type_and_another_word_are_told_by_their_paths() {
        let theirs = observed(vec![of_text(br#"{"a":[{"new":1}],"b":null,"type":"x"}"#)]);
        let ours = observed(vec![of_text(br#"{"a":[{"old":1}],"b":2,"type":"y"}"#)]);
        let expected = [
            "body a[].new: vendor has integer, simulator has nothing",
            "body a[].old: vendor has nothing, simulator has integer",
            "body b: vendor has null, simulator has integer",
            "body type: vendor has \"x\", simulator has \"y\"",
        ];
        assert_eq!(differences(&theirs, &ours), expected);
        assert!(differences(&ours, &ours).is_empty());
    }

    #[test]
    fn a_frame_more_is_told_once_and_does_not_shift_the_others() {
        let ours = b"data: {\"a\":1}\n\ndata: {\"b\":1}\n\ndata: [DONE]\n\n";
        let theirs =
            b"data: {\"hi\":1}\n\ndata: {\"a\":1}\n\ndata: {\"b\":null}\n\ndata: [DONE]\n\n";
        let lines = differences(&observed(of_stream(theirs)), &observed(of_stream(ours)));
        let expected = [
            "frame 1 hi: vendor has integer, simulator has nothing",
            "frame 3 b: vendor has null, simulator has integer",
        ];
        assert_eq!(lines, expected);
        let short = b"data: {\"a\":1}\n\ndata: {\"b\":1}\n\n";
        let lines = differences(&observed(of_stream(short)), &observed(of_stream(ours)));
        assert_eq!(
            lines,
            ["a frame [DONE]: vendor has nothing, simulator has mark"]
        );
    }

    #[test]
    fn status_and_headers_are_compared_too() {
        let mut theirs = observed(Vec::new());
        theirs.status = 401;
        theirs
            .headers
            .insert("retry-after".to_owned(), "present".to_owned());
        let expected = [
            "status: vendor has 401, simulator has 200",
            "header retry-after: vendor has present, simulator has nothing",
        ];
        assert_eq!(differences(&theirs, &observed(Vec::new())), expected);
    }
}
