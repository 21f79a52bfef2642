//! A transcript in the requested format.

use bytes::Bytes;
use serde_json::{Map, Value, json};
use trunkline_catalog::RequestError;

use super::{Segment, Transcript, TranscriptFormat, TranscriptionEndpoint, TranscriptionRequest};

const JSON: &str = "application/json";
/// Subtitles too: so OpenAI responds, and so clients read them.
const PLAIN: &str = "text/plain; charset=utf-8";

/// The body of the response to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedTranscript {
    pub content_type: &'static str,
    pub body: Bytes,
}

/// Renders a transcript. Usage is what is billed, whatever the vendor counted.
pub fn render(
    request: &TranscriptionRequest,
    transcript: &Transcript,
) -> Result<RenderedTranscript, RequestError> {
    if let Some((content_type, bytes)) = &transcript.own {
        return Ok(RenderedTranscript {
            content_type,
            body: bytes.clone(),
        });
    }
    if request.format.has_times() && transcript.segments.is_empty() && !transcript.text.is_empty() {
        return Err(timeless(request.format));
    }
    let (content_type, body) = match request.format {
        TranscriptFormat::Json => (JSON, brief(request, transcript).to_string()),
        TranscriptFormat::VerboseJson => (JSON, verbose(request, transcript).to_string()),
        TranscriptFormat::Text => (PLAIN, format!("{}\n", transcript.text)),
        TranscriptFormat::Srt => (PLAIN, srt(&transcript.segments)),
        TranscriptFormat::Vtt => (PLAIN, vtt(&transcript.segments)),
    };
    Ok(RenderedTranscript {
        content_type,
        body: Bytes::from(body),
    })
}

/// The refusal of a format with times, for a vendor that reports none.
pub(super) fn timeless(format: TranscriptFormat) -> RequestError {
    let text = format!(
        "{} needs the time of each sentence, which the vendor does not tell",
        format.as_str()
    );
    let refusal = RequestError::new("timestamps_unsupported", "response_format", text);
    refusal.with_fix("ask for json or text")
}

pub(super) fn usage(request: &TranscriptionRequest) -> Value {
    json!({ "type": "duration", "seconds": request.seconds() })
}

fn brief(request: &TranscriptionRequest, transcript: &Transcript) -> Value {
    json!({ "text": transcript.text, "usage": usage(request) })
}

fn verbose(request: &TranscriptionRequest, transcript: &Transcript) -> Value {
    let task = match request.endpoint {
        TranscriptionEndpoint::Transcriptions => "transcribe",
        TranscriptionEndpoint::Translations => "translate",
    };
    let language = transcript.language.as_ref().or(request.language.as_ref());
    let segments: Vec<Value> = transcript
        .segments
        .iter()
        .enumerate()
        .map(|(id, one)| segment(id, one))
        .collect();
    let mut body = Map::new();
    body.insert("task".to_owned(), json!(task));
    if let Some(language) = language {
        body.insert("language".to_owned(), json!(language));
    }
    body.insert(
        "duration".to_owned(),
        seconds(request.upload.measurement.length.millis()),
    );
    body.insert("text".to_owned(), json!(transcript.text));
    body.insert("segments".to_owned(), Value::Array(segments));
    body.insert("usage".to_owned(), usage(request));
    Value::Object(body)
}

fn segment(id: usize, segment: &Segment) -> Value {
    json!({
        "id": id,
        "start": seconds(segment.start_ms),
        "end": seconds(segment.end_ms),
        "text": segment.text,
    })
}

/// Milliseconds as a number of seconds, written digit by digit.
fn seconds(millis: u64) -> Value {
    let (whole, part) = split(millis);
    let text = format!("{whole}.{part:03}");
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

/// Whole seconds and the milliseconds beyond.
const fn split(millis: u64) -> (u64, u64) {
    let whole = millis.saturating_div(1000);
    (whole, millis.saturating_sub(whole.saturating_mul(1000)))
}

fn srt(segments: &[Segment]) -> String {
    let mut text = String::new();
    for (place, segment) in segments.iter().enumerate() {
        let number = place.saturating_add(1);
        text.push_str(&format!("{number}\n{}\n", cue(segment, ',')));
    }
    text
}

fn vtt(segments: &[Segment]) -> String {
    let mut text = "WEBVTT\n\n".to_owned();
    for segment in segments {
        text.push_str(&cue(segment, '.'));
        text.push('\n');
    }
    text
}

/// The times of a sentence and its text. An empty line would end it, and an arrow would be read as times.
fn cue(segment: &Segment, mark: char) -> String {
    let lines = segment.text.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let words = lines.join("\n").replace("-->", "->");
    let (start, end) = (clock(segment.start_ms, mark), clock(segment.end_ms, mark));
    format!("{start} --> {end}\n{words}\n")
}

fn clock(millis: u64, mark: char) -> String {
    let (seconds, part) = split(millis);
    let minutes = seconds.saturating_div(60);
    let hours = minutes.saturating_div(60);
    let second = seconds.saturating_sub(minutes.saturating_mul(60));
    let minute = minutes.saturating_sub(hours.saturating_mul(60));
    format!("{hours:02}:{minute:02}:{second:02}{mark}{part:03}")
}
