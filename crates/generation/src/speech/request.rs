//! A request for speech, read.

use serde_json::{Map, Number, Value};
use trunkline_catalog::RequestError;
use trunkline_probe::SpeechFormat;

use crate::fields::{Fields, RequestReader};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeechRequest {
    /// The public name of the model.
    pub model: String,
    pub input: String,
    pub voice: String,
    /// The audio format. Before planning, the requested one, if any.
    pub format: Option<SpeechFormat>,
    pub speed: Option<Number>,
    pub instructions: Option<String>,
    /// All other fields, by name.
    pub extras: Map<String, Value>,
}

// === impl SpeechRequest ===

impl SpeechRequest {
    pub fn read(fields: &Fields) -> Result<Self, RequestError> {
        let mut reader = RequestReader::of(fields);
        let model = reader.required("model")?;
        let input = reader.required("input")?;
        let voice = voice(&mut reader)?;
        let format = format(&mut reader)?;
        let speed = reader.take_number("speed")?;
        let instructions = reader.take_text("instructions")?;
        check_stream(&reader)?;
        Ok(Self {
            model,
            input,
            voice,
            format,
            speed,
            instructions,
            extras: reader.rest(),
        })
    }

    /// What is billed: Unicode scalar values.
    #[must_use]
    pub fn characters(&self) -> u64 {
        u64::try_from(self.input.chars().count()).unwrap_or(u64::MAX)
    }
}

/// A name, or `{"id": …}`. The object stays among the others, for vendors that distinguish the two.
fn voice(reader: &mut RequestReader<'_>) -> Result<String, RequestError> {
    let Some(Value::Object(object)) = reader.see("voice") else {
        return reader.required("voice");
    };
    let id = object.get("id").and_then(Value::as_str);
    let id = id.filter(|id| !id.is_empty()).map(str::to_owned);
    let text = "`voice` must be a name, or an object with an `id`";
    id.ok_or_else(|| RequestError::invalid("voice", text))
}

fn format(reader: &mut RequestReader<'_>) -> Result<Option<SpeechFormat>, RequestError> {
    let Some(word) = reader.take_text("response_format")? else {
        return Ok(None);
    };
    let text = "`response_format` must be mp3, opus, aac, flac, wav or pcm";
    let refusal = || RequestError::invalid("response_format", text);
    SpeechFormat::parse(&word).map(Some).ok_or_else(refusal)
}

/// The body is the audio itself, and nothing else.
fn check_stream(reader: &RequestReader<'_>) -> Result<(), RequestError> {
    match reader.see_text("stream_format")? {
        Some("audio") | None => Ok(()),
        Some(_) => {
            let text = "`stream_format` must be audio: the answer is the audio itself";
            let refusal = RequestError::invalid("stream_format", text);
            Err(refusal.with_fix("leave `stream_format` out; the audio comes while it is made"))
        }
    }
}
