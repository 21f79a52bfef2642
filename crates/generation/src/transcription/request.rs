//! A request for a transcript, read.

use serde_json::{Map, Value};
use trunkline_catalog::Refusal;
use trunkline_probe::Measurement;

use crate::fields::{Fields, RequestReader};

/// Which door it came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptionEndpoint {
    /// `POST /v1/audio/transcriptions`.
    Transcriptions,
    /// `POST /v1/audio/translations`.
    Translations,
}

/// The form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptFormat {
    /// An object with the text.
    Json,
    /// The text alone.
    Text,
    /// Subtitles.
    Srt,
    /// An object with times.
    VerboseJson,
    /// Subtitles of the web.
    Vtt,
}

/// The recording: what the form says of it and what was measured. Where it lies is not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The name of its file.
    pub name: String,
    /// Its type, as the form says.
    pub content_type: String,
    /// Bytes of the file part.
    pub bytes: u64,
    /// What it is and how long.
    pub measurement: Measurement,
}

/// A request for a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptionRequest {
    /// The door.
    pub endpoint: TranscriptionEndpoint,
    /// The public name of the model.
    pub model: String,
    /// The language that is spoken, if the caller says.
    pub language: Option<String>,
    /// Words that help.
    pub prompt: Option<String>,
    /// The form of the answer.
    pub format: TranscriptFormat,
    /// Everything else that was asked for, by name; a field that stands several times is a list.
    pub extras: Map<String, Value>,
    /// The recording.
    pub upload: Upload,
}

// === impl TranscriptFormat ===

impl TranscriptFormat {
    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Text => "text",
            Self::Srt => "srt",
            Self::VerboseJson => "verbose_json",
            Self::Vtt => "vtt",
        }
    }

    /// Whether it tells when each sentence was said.
    #[must_use]
    pub const fn has_times(self) -> bool {
        match self {
            Self::Srt | Self::VerboseJson | Self::Vtt => true,
            Self::Json | Self::Text => false,
        }
    }
}

// === impl TranscriptionRequest ===

impl TranscriptionRequest {
    /// Reads a request.
    pub fn read(
        endpoint: TranscriptionEndpoint,
        fields: &Fields,
        upload: Upload,
    ) -> Result<Self, Refusal> {
        let mut reader = RequestReader::of(fields);
        let model = reader.required("model")?;
        let language = reader.take_text("language")?;
        let prompt = reader.take_text("prompt")?;
        let format = format(&reader)?;
        check_stream(&reader)?;
        let temperature = reader.see_number("temperature")?;
        check_granularities(&reader)?;
        // A text of that name is not the recording, and must not go on beside it.
        reader.take("file");
        let mut extras = reader.rest();
        if let Some(number) = temperature {
            extras.insert("temperature".to_owned(), Value::Number(number));
        }
        Ok(Self {
            endpoint,
            model,
            language,
            prompt,
            format,
            extras,
            upload,
        })
    }

    /// What is billed: whole seconds, rounded up, at least one.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.upload.measurement.length.whole_seconds()
    }
}

fn format(reader: &RequestReader<'_>) -> Result<TranscriptFormat, Refusal> {
    let word = reader.see_text("response_format")?.unwrap_or("json");
    let all = [
        TranscriptFormat::Json,
        TranscriptFormat::Text,
        TranscriptFormat::Srt,
        TranscriptFormat::VerboseJson,
        TranscriptFormat::Vtt,
    ];
    let found = all.into_iter().find(|format| format.word() == word);
    found.ok_or_else(|| {
        let text = "`response_format` must be json, text, srt, verbose_json or vtt";
        Refusal::invalid("response_format", text)
    })
}

fn check_stream(reader: &RequestReader<'_>) -> Result<(), Refusal> {
    if !reader.see_flag("stream")?.unwrap_or(false) {
        return Ok(());
    }
    let text = "the whole transcript comes in one answer; it is not streamed";
    Err(Refusal::invalid("stream", text).with_fix("leave `stream` out"))
}

/// Forms write a list with brackets behind its name; some clients leave them out.
fn check_granularities(reader: &RequestReader<'_>) -> Result<(), Refusal> {
    for name in ["timestamp_granularities[]", "timestamp_granularities"] {
        let Some(value) = reader.see(name) else {
            continue;
        };
        let members = value
            .as_array()
            .map_or_else(|| vec![value], |list| list.iter().collect());
        let is_word = |one: &&Value| matches!(one.as_str(), Some("word" | "segment"));
        if !members.iter().all(is_word) {
            let text = format!("`{name}` must be word or segment");
            return Err(Refusal::invalid(name, text));
        }
    }
    Ok(())
}
