//! What was heard in one of the vendor's five shapes.

use serde_json::{Value, json};

use super::transcription::TranscriptionRequest;
use crate::audio::answer::seconds;
use crate::audio::fake_transcript::TimedText;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Json,
    Text,
    Srt,
    VerboseJson,
    Vtt,
}

impl Shape {
    pub(super) const NAMES: [&'static str; 5] = ["json", "text", "srt", "verbose_json", "vtt"];

    pub(super) fn read(word: &str) -> Option<Self> {
        match word {
            "json" => Some(Self::Json),
            "text" => Some(Self::Text),
            "srt" => Some(Self::Srt),
            "verbose_json" => Some(Self::VerboseJson),
            "vtt" => Some(Self::Vtt),
            _ => None,
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Json | Self::VerboseJson => "application/json",
            Self::Text | Self::Srt | Self::Vtt => "text/plain; charset=utf-8",
        }
    }
}

pub(super) fn document(request: &TranscriptionRequest, usage: Option<Value>) -> String {
    let sentences = request.words.sentences(request.audio.millis);
    match request.shape {
        Shape::Json => {
            let reply = json!({ "text": request.words.text() });
            with_usage(reply, usage).to_string()
        }
        Shape::Text => format!("{}\n", request.words.text()),
        Shape::Srt => {
            let block = |(number, stretch): (u64, &TimedText)| {
                let (begin, end) = (
                    clock(stretch.begin_millis, ','),
                    clock(stretch.end_millis, ','),
                );
                format!("{number}\n{begin} --> {end}\n{}\n\n", stretch.text)
            };
            (1u64..).zip(&sentences).map(block).collect()
        }
        Shape::Vtt => {
            let block = |stretch: &TimedText| {
                let (begin, end) = (
                    clock(stretch.begin_millis, '.'),
                    clock(stretch.end_millis, '.'),
                );
                format!("{begin} --> {end}\n{}\n\n", stretch.text)
            };
            let blocks: String = sentences.iter().map(block).collect();
            format!("WEBVTT\n\n{blocks}")
        }
        Shape::VerboseJson => with_usage(verbose(request, &sentences), usage).to_string(),
    }
}

fn verbose(request: &TranscriptionRequest, sentences: &[TimedText]) -> Value {
    let millis = request.audio.millis;
    let task = if request.is_translation {
        "translate"
    } else {
        "transcribe"
    };
    let mut reply = json!({
        "task": task,
        "language": request.words.language.name,
        "duration": seconds(millis),
        "text": request.words.text(),
    });
    let mut add = |name: &str, value: Vec<Value>| {
        if let Some(fields) = reply.as_object_mut() {
            fields.insert(name.to_owned(), Value::Array(value));
        }
    };
    if request.has_segments {
        let segments = (0u64..).zip(sentences);
        add(
            "segments",
            segments.map(|(id, stretch)| segment(id, stretch)).collect(),
        );
    }
    if request.has_words {
        let words = request.words.words(millis);
        let word = |stretch: &TimedText| {
            json!({
                "word": stretch.text,
                "start": seconds(stretch.begin_millis),
                "end": seconds(stretch.end_millis),
            })
        };
        add("words", words.iter().map(word).collect());
    }
    reply
}

fn segment(id: u64, stretch: &TimedText) -> Value {
    json!({
        "id": id,
        "seek": 0,
        "start": seconds(stretch.begin_millis),
        "end": seconds(stretch.end_millis),
        "text": stretch.text,
        "tokens": [50364],
        "temperature": 0.0,
        "avg_logprob": -0.25,
        "compression_ratio": 1.0,
        "no_speech_prob": 0.01,
    })
}

fn with_usage(mut reply: Value, usage: Option<Value>) -> Value {
    if let (Some(fields), Some(usage)) = (reply.as_object_mut(), usage) {
        fields.insert("usage".to_owned(), usage);
    }
    reply
}

/// Hours, minutes, seconds and milliseconds.
fn clock(millis: u64, point: char) -> String {
    let (seconds, rest) = (millis / 1_000, millis % 1_000);
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    format!(
        "{hours:02}:{:02}:{:02}{point}{rest:03}",
        minutes % 60,
        seconds % 60
    )
}
