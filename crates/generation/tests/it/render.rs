//! Transcripts in the forms that callers ask for.

use serde_json::{Value, json};
use trunkline_generation::transcription::{
    RenderedTranscript, Segment, Transcript, TranscriptionEndpoint, TranscriptionRequest, render,
};
use trunkline_probe::Container;

use crate::records::{form, upload};

fn ask(endpoint: TranscriptionEndpoint, word: &str) -> TranscriptionRequest {
    let fields = form(&json!({ "model": "m", "response_format": word }));
    TranscriptionRequest::read(endpoint, &fields, upload(Container::Wav, 3_725_042)).unwrap()
}

fn talk() -> Transcript {
    let segment = |start_ms: u64, end_ms: u64, text: &str| Segment {
        start_ms,
        end_ms,
        text: text.to_owned(),
    };
    Transcript {
        text: "One. Two.".to_owned(),
        language: Some("en".to_owned()),
        segments: vec![
            segment(0, 1_500, " One. "),
            segment(3_600_000, 3_725_042, "Two --> three.\n\nFour."),
        ],
        own: None,
    }
}

fn as_json(rendered: &RenderedTranscript) -> Value {
    assert_eq!(rendered.content_type, "application/json");
    serde_json::from_slice(&rendered.body).unwrap()
}

fn as_text(rendered: &RenderedTranscript) -> &str {
    assert_eq!(rendered.content_type, "text/plain; charset=utf-8");
    std::str::from_utf8(&rendered.body).unwrap()
}

// covers: G-2.5-02, G-2.5-03
#[test]
fn json_has_the_text_and_the_billed_units_on_both_endpoints() {
    for endpoint in [
        TranscriptionEndpoint::Transcriptions,
        TranscriptionEndpoint::Translations,
    ] {
        let rendered = render(&ask(endpoint, "json"), &talk()).unwrap();
        let usage = json!({ "type": "duration", "seconds": 3726 });
        assert_eq!(
            as_json(&rendered),
            json!({ "text": "One. Two.", "usage": usage })
        );
    }
}

#[test]
fn text_is_the_text() {
    let rendered = render(&ask(TranscriptionEndpoint::Transcriptions, "text"), &talk()).unwrap();
    assert_eq!(as_text(&rendered), "One. Two.\n");
}

#[test]
fn subtitles_have_times_of_any_length_and_no_line_that_ends_them_early() {
    let srt = render(&ask(TranscriptionEndpoint::Transcriptions, "srt"), &talk()).unwrap();
    let expected = "1\n00:00:00,000 --> 00:00:01,500\nOne.\n\n\
                    2\n01:00:00,000 --> 01:02:05,042\nTwo -> three.\nFour.\n\n";
    assert_eq!(as_text(&srt), expected);
    let vtt = render(&ask(TranscriptionEndpoint::Transcriptions, "vtt"), &talk()).unwrap();
    let expected = "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nOne.\n\n\
                    01:00:00.000 --> 01:02:05.042\nTwo -> three.\nFour.\n\n";
    assert_eq!(as_text(&vtt), expected);
}

#[test]
fn verbose_json_tells_task_language_length_and_segments() {
    let parsed = as_json(
        &render(
            &ask(TranscriptionEndpoint::Translations, "verbose_json"),
            &talk(),
        )
        .unwrap(),
    );
    assert_eq!(parsed["task"], json!("translate"));
    assert_eq!(parsed["language"], json!("en"));
    assert_eq!(parsed["duration"], json!(3725.042));
    assert_eq!(parsed["usage"]["seconds"], json!(3726));
    assert_eq!(parsed["segments"][1]["start"], json!(3600.0));
    assert_eq!(parsed["segments"][0]["id"], json!(0));
    let parsed = as_json(
        &render(
            &ask(TranscriptionEndpoint::Transcriptions, "verbose_json"),
            &talk(),
        )
        .unwrap(),
    );
    assert_eq!(parsed["task"], json!("transcribe"));
}

#[test]
fn times_missing_upstream_are_not_invented() {
    let timeless = Transcript {
        segments: Vec::new(),
        ..talk()
    };
    for word in ["srt", "vtt", "verbose_json"] {
        let refusal =
            render(&ask(TranscriptionEndpoint::Transcriptions, word), &timeless).unwrap_err();
        assert_eq!(refusal.code, "timestamps_unsupported");
    }
    let silence = Transcript::default();
    let vtt = render(&ask(TranscriptionEndpoint::Transcriptions, "vtt"), &silence).unwrap();
    assert_eq!(as_text(&vtt), "WEBVTT\n\n");
}
