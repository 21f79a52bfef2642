//! Frames as AWS publishes them, and Bedrock's, cut everywhere.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::claude::Translation;
use super::*;

#[derive(Deserialize)]
struct Fixtures {
    aws: BTreeMap<String, String>,
    bedrock: String,
    sse: String,
    exception: String,
    error: String,
}

fn fixtures() -> Fixtures {
    serde_json::from_str(include_str!("../../tests/fixtures/eventstream.json")).unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn read(bytes: &[u8]) -> Result<Option<Message>, EventStreamError> {
    let mut stream = EventStream::default();
    stream.push(bytes);
    stream.next_message()
}

/// A frame with right sums, whatever is in it.
fn frame(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let total = u32::try_from(LEAST_FRAME_BYTES + headers.len() + payload.len()).unwrap();
    let mut frame = Vec::from(total.to_be_bytes());
    frame.extend(u32::try_from(headers.len()).unwrap().to_be_bytes());
    frame.extend(CHECKSUM.checksum(&frame).to_be_bytes());
    frame.extend(headers);
    frame.extend(payload);
    let sum = CHECKSUM.checksum(&frame);
    frame.extend(sum.to_be_bytes());
    frame
}

fn header(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(name.len()).unwrap()];
    bytes.extend(name.as_bytes());
    bytes.push(7);
    bytes.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
    bytes.extend(value.as_bytes());
    bytes
}

#[test]
fn the_frames_that_aws_publishes_are_read_or_refused_as_they_are_meant() {
    let aws = fixtures().aws;
    assert_eq!(aws.len(), 11);
    let of = |name: &str| read(&bytes(&aws[name]));
    let plain = of("valid_no_headers").unwrap().unwrap();
    assert!(plain.headers.is_empty());
    assert_eq!(plain.payload, "another test payload");
    let empty = of("valid_empty_payload").unwrap().unwrap();
    assert!(empty.headers.is_empty() && empty.payload.is_empty());
    let full = of("valid_with_all_headers_and_payload").unwrap().unwrap();
    assert_eq!(full.header("str"), Some("some str"));
    assert_eq!(full.header("true"), None, "only texts are kept");
    assert_eq!(full.headers.len(), 1);
    assert_eq!(full.payload, "some payload");
    assert_eq!(
        of("invalid_prelude_checksum"),
        Err(EventStreamError::Damaged)
    );
    assert_eq!(
        of("invalid_message_checksum"),
        Err(EventStreamError::Damaged)
    );
    for (name, _) in aws.iter().filter(|(name, _)| name.starts_with("invalid")) {
        assert!(of(name).is_err(), "{name}");
    }
}

#[test]
fn cut_at_every_byte_the_same_events_come_out() {
    let fixtures = fixtures();
    let all = bytes(&fixtures.bedrock);
    for cut in 0..=all.len() {
        let mut translation = Translation::default();
        let (before, after) = all.split_at(cut);
        let mut events = translation.push(before).unwrap().to_vec();
        events.extend(translation.push(after).unwrap());
        assert_eq!(String::from_utf8(events).unwrap(), fixtures.sse, "{cut}");
        assert_eq!(translation.end(), Ok(()));
    }
    let mut translation = Translation::default();
    let mut events = Vec::new();
    for byte in &all {
        events.extend(translation.push(&[*byte]).unwrap());
    }
    assert_eq!(String::from_utf8(events).unwrap(), fixtures.sse);
}

#[test]
fn an_end_inside_a_frame_is_no_end() {
    let all = bytes(&fixtures().bedrock);
    let first = usize::try_from(u32::from_be_bytes(all[..4].try_into().unwrap())).unwrap();
    for length in 0..=first {
        let mut stream = EventStream::default();
        stream.push(&all[..length]);
        let read = stream.next_message().unwrap();
        assert_eq!(read.is_some(), length == first);
        let whole = length == 0 || length == first;
        assert_eq!(stream.end().is_ok(), whole, "{length}");
    }
}

#[test]
fn no_flipped_bit_goes_unseen() {
    let all = bytes(&fixtures().exception);
    for place in 0..all.len() {
        for bit in 0..8 {
            let mut damaged = all.clone();
            damaged[place] ^= 1 << bit;
            assert!(read(&damaged).is_err(), "byte {place}, bit {bit}");
        }
    }
}

#[test]
fn frames_before_a_damaged_one_are_delivered_and_then_the_error() {
    let fixtures = fixtures();
    let mut all = bytes(&fixtures.bedrock);
    let last = all.len() - 1;
    all[last] ^= 1;
    let mut translation = Translation::default();
    let events = translation.push(&all).unwrap();
    let whole = fixtures.sse;
    assert!(!events.is_empty() && whole.as_bytes().starts_with(&events));
    assert!(translation.has_failed());
    assert_eq!(translation.end(), Err(EventStreamError::Damaged));
    assert_eq!(translation.push(b"x"), Err(EventStreamError::Damaged));
}

#[test]
fn a_frame_may_be_as_large_as_its_bound_and_no_larger() {
    let largest = frame(&[], &vec![b'x'; MAX_FRAME_BYTES - LEAST_FRAME_BYTES]);
    assert_eq!(
        read(&largest).unwrap().unwrap().payload.len(),
        MAX_FRAME_BYTES - 16
    );
    let larger = frame(&[], &vec![b'x'; MAX_FRAME_BYTES - LEAST_FRAME_BYTES + 1]);
    let first = &larger[..PRELUDE_BYTES];
    assert_eq!(
        read(first),
        Err(EventStreamError::TooLarge),
        "it is not waited for"
    );
    let header = vec![0; MAX_HEADERS_BYTES + 1];
    assert_eq!(
        read(&frame(&header, b"")[..PRELUDE_BYTES]),
        Err(EventStreamError::Shape)
    );
}

#[test]
fn failures_of_bedrock_are_errors_in_claudes_words() {
    let messages = |frames: &[u8]| {
        let events = Translation::default().push(frames).unwrap();
        let text = String::from_utf8(events.into()).unwrap();
        let data = text.strip_prefix("event: error\ndata: ").unwrap();
        let data: serde_json::Value = serde_json::from_str(data.trim_end()).unwrap();
        assert_eq!(data["type"], "error");
        let word = |key: &str| data["error"][key].as_str().unwrap().to_owned();
        (word("type"), word("message"))
    };
    let pair = |kind: &str, words: &str| (kind.to_owned(), words.to_owned());
    let fixtures = fixtures();
    let limited = "Too many tokens, please wait before trying again.";
    assert_eq!(
        messages(&bytes(&fixtures.exception)),
        pair("rate_limit_error", limited)
    );
    assert_eq!(
        messages(&bytes(&fixtures.error)),
        pair("api_error", "it broke")
    );
    for (kind, word) in [
        ("internalServerException", "api_error"),
        ("modelStreamErrorException", "api_error"),
        ("validationException", "invalid_request_error"),
        ("throttlingException", "rate_limit_error"),
        ("modelTimeoutException", "timeout_error"),
        ("serviceUnavailableException", "overloaded_error"),
        ("ServiceUnavailableException", "overloaded_error"),
        ("somethingNewException", "api_error"),
    ] {
        let headers = [
            header(":message-type", "exception"),
            header(":exception-type", kind),
        ];
        let (kind_said, words) = messages(&frame(&headers.concat(), b"{}"));
        assert_eq!(kind_said, word, "{kind}");
        assert!(words.ends_with(kind), "{words}");
    }
}

#[test]
fn a_frame_that_is_no_chunk_is_skipped_or_refused_and_is_no_event() {
    let event = header(":message-type", "event");
    let chunk = [event.clone(), header(":event-type", "chunk")].concat();
    let other = [event, header(":event-type", "initial-response")].concat();
    let push =
        |headers: &[u8], payload: &[u8]| Translation::default().push(&frame(headers, payload));
    assert_eq!(push(&other, b"{}").unwrap(), "");
    let shape = Err(EventStreamError::Shape);
    assert_eq!(push(&chunk, b"{}"), shape);
    assert_eq!(push(&chunk, br#"{"bytes":"?"}"#), shape);
    assert_eq!(
        push(&chunk, br#"{"bytes":"e30"}"#),
        shape,
        "base64 without its end"
    );
    assert_eq!(push(&[], b"{}"), shape);
    assert_eq!(push(&header(":message-type", "new"), b"{}"), shape);
    // {} has no name; {"type":"a\nb: c"} has one that would be a line of its own.
    assert_eq!(
        push(&chunk, br#"{"bytes":"e30="}"#).unwrap(),
        "data: {}\n\n"
    );
    let odd = push(&chunk, br#"{"bytes":"eyJ0eXBlIjoiYVxuYjogYyJ9"}"#).unwrap();
    assert_eq!(odd, "data: {\"type\":\"a\\nb: c\"}\n\n");
    // {\n"type":\r\n"ping"}: no line end of the JSON ends the event.
    let folded = push(&chunk, br#"{"bytes":"ewoidHlwZSI6DQoicGluZyJ9"}"#).unwrap();
    assert_eq!(folded, "event: ping\ndata: { \"type\":  \"ping\"}\n\n");
}
