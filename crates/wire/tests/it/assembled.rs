//! Whole responses assembled from streams. A case is a folder: a stream, and the whole response that the same
//! vendor would have sent. A new case is a new folder.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use serde_json::Value;
use trunkline_wire::{Assembler, Ending, Format, Frame, Frames, read_response, streamed_request};

const MOST: usize = 1_000_000;

struct Case {
    name: String,
    format: Format,
    stream: Vec<u8>,
    whole: Value,
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/assembled");
    let mut cases = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let of = |format: &Format| folder.join(format!("stream.{}.sse", format.as_str()));
        let mut formats = Format::ALL.into_iter();
        let format = formats.find(|format| of(format).exists()).unwrap();
        let whole = fs::read(folder.join(format!("whole.{}.json", format.as_str()))).unwrap();
        cases.push(Case {
            stream: fs::read(of(&format)).unwrap(),
            whole: serde_json::from_slice(&whole).unwrap(),
            name,
            format,
        });
    }
    assert!(cases.len() >= 16, "{}", cases.len());
    cases
}

/// The frames of a stream that comes in chunks of so many bytes.
fn frames(stream: &[u8], each: usize) -> Vec<Frame> {
    let (mut reading, mut frames) = (Frames::default(), Vec::new());
    for chunk in stream.chunks(each) {
        reading.push(chunk);
        while let Some(frame) = reading.take().unwrap() {
            frames.push(frame);
        }
    }
    frames.extend(reading.rest());
    frames
}

fn assembled(format: Format, frames: &[Frame], most: usize, ending: Ending) -> Option<Bytes> {
    let mut assembler = Assembler::new(format, most);
    frames.iter().for_each(|frame| assembler.push(frame));
    assembler.finish(ending)
}

// covers: D-2-82
#[test]
fn a_stream_is_assembled_to_the_whole_response_however_the_network_cuts_it() {
    for case in cases() {
        for each in [1, 7, 1_000, usize::MAX] {
            let frames = frames(&case.stream, each);
            let body = assembled(case.format, &frames, MOST, Ending::Upstream).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body, case.whole, "{} in chunks of {each}", case.name);
        }
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_is_a_response_that_its_length_ended() {
    for case in cases() {
        let all = frames(&case.stream, usize::MAX);
        let blocked = case.whole.get("promptFeedback").is_some();
        for count in (1..=all.len()).filter(|_| !blocked) {
            let Some(body) = assembled(case.format, &all[..count], MOST, Ending::Length) else {
                assert!(count < 3, "{}: a beginning is a response", case.name);
                continue;
            };
            let whole: Value = serde_json::from_slice(&body).unwrap();
            assert!(read_response(case.format, &body).is_ok(), "{whole}");
            let (at, word) = match case.format {
                Format::OpenaiChat => ("/choices/0/finish_reason", "length"),
                Format::ClaudeMessages => ("/stop_reason", "max_tokens"),
                Format::OpenaiResponses => ("/incomplete_details/reason", "max_output_tokens"),
                Format::Gemini => ("/candidates/0/finishReason", "MAX_TOKENS"),
            };
            let own = case.whole.pointer(at);
            let reason = whole.pointer(at).unwrap();
            assert!(
                reason == word || Some(reason) == own,
                "{} at {count}: {whole}",
                case.name
            );
            for usage in ["usage", "usageMetadata"] {
                let usage = whole.get(usage).unwrap_or(&Value::Null);
                assert!(usage.is_null(), "what was used is counted: {whole}");
            }
        }
    }
}

#[test]
fn a_stream_beyond_its_bytes_is_no_response() {
    for case in cases() {
        let frames = frames(&case.stream, usize::MAX);
        let data = frames.iter().filter_map(|frame| frame.data.as_ref());
        let bytes: usize = data.map(Bytes::len).sum();
        let of = |most| assembled(case.format, &frames, most, Ending::Upstream);
        assert!(of(bytes).is_some(), "{}", case.name);
        assert!(of(bytes - 1).is_none(), "{}", case.name);
    }
}

#[test]
fn what_is_no_stream_is_no_response() {
    for format in Format::ALL {
        for noise in ["", "data: [1]\n\n", "data: {}\n\n", "data: \u{0}\n\n", "{}"] {
            let frames = frames(noise.as_bytes(), usize::MAX);
            for ending in [Ending::Upstream, Ending::Length] {
                let body = assembled(format, &frames, MOST, ending);
                assert_eq!(body, None, "{noise:?}");
            }
        }
    }
}

#[test]
fn a_request_is_streamed_only_where_its_stream_carries_the_whole_response() {
    let ask = |format: Format, body: &str| {
        let body = streamed_request(format, body.as_bytes())?;
        Some(String::from_utf8(body.to_vec()).unwrap())
    };
    let chat = |body: &str| ask(Format::OpenaiChat, body);
    let usage = r#""stream_options":{"include_usage":true}"#;
    assert_eq!(
        chat(r#"{"n":2,"stream":false}"#).unwrap(),
        format!(r#"{{"n":2,"stream":true,{usage}}}"#)
    );
    assert!(chat(r#"{"modalities":["text"],"audio":null}"#).is_some());
    assert_eq!(chat(r#"{"modalities":["text","audio"]}"#), None);
    assert_eq!(chat(r#"{"audio":{"voice":"alloy"}}"#), None);
    for format in [Format::ClaudeMessages, Format::OpenaiResponses] {
        let body = ask(format, r#"{"a":1}"#).unwrap();
        assert_eq!(body, r#"{"a":1,"stream":true}"#);
    }
    let gemini = |config: &str| {
        let body = format!(r#"{{"generationConfig":{config}}}"#);
        ask(Format::Gemini, &body).filter(|sent| *sent == body)
    };
    assert!(gemini(r#"{"candidateCount":1,"responseModalities":["TEXT"]}"#).is_some());
    for config in [
        r#"{"candidateCount":2}"#,
        r#"{"candidate_count":2}"#,
        r#"{"responseLogprobs":true}"#,
        r#"{"responseModalities":["TEXT","IMAGE"]}"#,
        r#"{"speechConfig":{}}"#,
    ] {
        assert_eq!(gemini(config), None, "{config}");
    }
}
