//! A request for a transcript, read.

use serde_json::{Map, Value};
use trunkline_catalog::RequestError;
use trunkline_probe::Measurement;

use crate::fields::{Fields, RequestReader};

/// The endpoint of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptionEndpoint {
    /// `POST /v1/audio/transcriptions`.
    Transcriptions,
    /// `POST /v1/audio/translations`.
    Translations,
}

/// The format of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptFormat {
    /// An object with the text.
    Json,
    Text,
    Srt,
    VerboseJson,
    Vtt,
}

/// The recording: its form fields and its measurement. The gateway holds the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The name of its file.
    pub name: String,
    /// Its type, as in the form.
    pub content_type: String,
    /// Bytes of the file part.
    pub bytes: u64,
    /// Its container, codec and length.
    pub measurement: Measurement,
}

/// A request for a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptionRequest {
    pub endpoint: TranscriptionEndpoint,
    /// The public name of the model.
    pub model: String,
    /// The spoken language, if the caller sets it.
    pub language: Option<String>,
    pub prompt: Option<String>,
    /// The format of the response.
    pub format: TranscriptFormat,
    /// All other fields, by name; a repeated field is a list.
    pub extras: Map<String, Value>,
    pub upload: Upload,
}

// === impl TranscriptFormat ===

impl TranscriptFormat {
    /// Its name in `response_format`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Text => "text",
            Self::Srt => "srt",
            Self::VerboseJson => "verbose_json",
            Self::Vtt => "vtt",
        }
    }

    /// Whether it has the times of sentences.
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
    pub fn read(
        endpoint: TranscriptionEndpoint,
        fields: &Fields,
        upload: Upload,
    ) -> Result<Self, RequestError> {
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
        self.upload.measurement.billed_seconds()
    }
}

fn format(reader: &RequestReader<'_>) -> Result<TranscriptFormat, RequestError> {
    let word = reader.see_text("response_format")?.unwrap_or("json");
    let all = [
        TranscriptFormat::Json,
        TranscriptFormat::Text,
        TranscriptFormat::Srt,
        TranscriptFormat::VerboseJson,
        TranscriptFormat::Vtt,
    ];
    let found = all.into_iter().find(|format| format.as_str() == word);
    found.ok_or_else(|| {
        let text = "`response_format` must be json, text, srt, verbose_json or vtt";
        RequestError::invalid("response_format", text)
    })
}

fn check_stream(reader: &RequestReader<'_>) -> Result<(), RequestError> {
    if !reader.see_flag("stream")?.unwrap_or(false) {
        return Ok(());
    }
    let text = "the whole transcript comes in one answer; it is not streamed";
    Err(RequestError::invalid("stream", text).with_fix("leave `stream` out"))
}

/// Forms write a list with brackets behind its name; some clients leave them out.
fn check_granularities(reader: &RequestReader<'_>) -> Result<(), RequestError> {
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
            return Err(RequestError::invalid(name, text));
        }
    }
    Ok(())
}
