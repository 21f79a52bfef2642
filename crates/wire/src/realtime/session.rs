//! The settings of a session, as far as they matter for the cost of its next response.

use serde_json::Value;

/// Bytes of linear audio in a tenth of a second, which is one token of a user's.
const PCM_TOKEN_BYTES: u64 = 4_800;
/// The same of G.711.
const G711_TOKEN_BYTES: u64 = 800;
/// A model's audio has two tokens where a user's has one.
const OUTPUT_RATE: u64 = 2;
/// Tokens of a user's audio in a second.
const TOKENS_PER_SECOND: u64 = 10;

/// How audio is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AudioFormat {
    /// 16 bits at 24 kHz.
    #[default]
    Pcm,
    /// 8 bits at 8 kHz.
    G711,
}

/// A session's settings. A setting that no event named is the vendor's default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealtimeSession {
    /// Whether its responses are spoken.
    pub speaks: bool,
    /// Whether the server begins responses by itself.
    pub begins_by_itself: bool,
    /// Whether it makes transcripts and nothing else. A session keeps its type.
    is_transcription: bool,
    pub input_format: AudioFormat,
    pub output_format: AudioFormat,
    /// Who writes down what the user says, as the last event names it.
    pub transcriber: Option<String>,
    /// The longest response, where it is a number.
    pub max_output_tokens: Option<u64>,
}

// === impl AudioFormat ===

impl AudioFormat {
    fn of(format: &Value) -> Self {
        match format.get("type").and_then(Value::as_str) {
            Some("audio/pcmu" | "audio/pcma") => Self::G711,
            Some(_) | None => Self::Pcm,
        }
    }

    /// Tokens of a user's audio.
    #[must_use]
    pub const fn input_tokens(self, bytes: u64) -> u64 {
        let each = match self {
            Self::Pcm => PCM_TOKEN_BYTES,
            Self::G711 => G711_TOKEN_BYTES,
        };
        bytes.div_ceil(each)
    }

    /// Tokens of a model's audio.
    #[must_use]
    pub const fn output_tokens(self, bytes: u64) -> u64 {
        self.input_tokens(bytes.saturating_mul(OUTPUT_RATE))
    }

    /// Seconds of audio, rounded up.
    #[must_use]
    pub const fn seconds(self, bytes: u64) -> u64 {
        self.input_tokens(bytes).div_ceil(TOKENS_PER_SECOND)
    }
}

// === impl RealtimeSession ===

impl Default for RealtimeSession {
    fn default() -> Self {
        Self {
            speaks: true,
            begins_by_itself: true,
            is_transcription: false,
            input_format: AudioFormat::default(),
            output_format: AudioFormat::default(),
            transcriber: None,
            max_output_tokens: None,
        }
    }
}

impl RealtimeSession {
    /// A session that makes transcripts and nothing else.
    #[must_use]
    pub fn of_transcription(transcriber: &str) -> Self {
        Self {
            speaks: false,
            begins_by_itself: false,
            is_transcription: true,
            transcriber: Some(transcriber.to_owned()),
            ..Self::default()
        }
    }

    /// Takes over what a `session` object says.
    pub fn apply(&mut self, session: &Value) {
        if let Some(modalities) = session.get("output_modalities").and_then(Value::as_array) {
            self.speaks = modalities.iter().any(|one| one == "audio");
        }
        if let Some(longest) = session.get("max_output_tokens") {
            self.max_output_tokens = longest.as_u64();
        }
        let audio = session.get("audio").unwrap_or(&Value::Null);
        if let Some(format) = audio.pointer("/output/format") {
            self.output_format = AudioFormat::of(format);
        }
        let Some(input) = audio.get("input") else {
            return;
        };
        if let Some(format) = input.get("format") {
            self.input_format = AudioFormat::of(format);
        }
        if let Some(detection) = input.get("turn_detection") {
            let creates = detection.get("create_response");
            let creates = creates.is_none_or(|creates| creates != &Value::Bool(false));
            self.begins_by_itself = !detection.is_null() && creates && !self.is_transcription;
        }
        if let Some(transcription) = input.get("transcription") {
            let model = transcription.get("model").and_then(Value::as_str);
            self.transcriber = model.map(ToOwned::to_owned);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_is_what_its_updates_say() {
        let mut session = RealtimeSession::default();
        assert!(session.speaks && session.begins_by_itself);
        session.apply(&json!({
            "output_modalities": ["text"], "max_output_tokens": 900,
            "audio": { "input": {
                "format": { "type": "audio/pcmu" }, "turn_detection": null,
                "transcription": { "model": "whisper-1" },
            } },
        }));
        assert!(!session.speaks && !session.begins_by_itself);
        assert_eq!(session.max_output_tokens, Some(900));
        assert_eq!(session.transcriber.as_deref(), Some("whisper-1"));
        assert_eq!(session.input_format.input_tokens(8_000), 10);
        session.apply(&json!({
            "max_output_tokens": "inf",
            "audio": { "input": { "turn_detection": { "type": "server_vad" }, "transcription": null } },
        }));
        assert!(session.begins_by_itself && session.transcriber.is_none());
        assert_eq!(session.max_output_tokens, None);
        let manual = json!({ "type": "server_vad", "create_response": false });
        session.apply(&json!({ "audio": { "input": { "turn_detection": manual } } }));
        assert!(!session.begins_by_itself);
    }

    #[test]
    fn a_transcription_session_begins_no_response_whatever_detects_its_turns() {
        let mut session = RealtimeSession::of_transcription("whisper-1");
        let detection = json!({ "type": "server_vad", "create_response": true });
        session.apply(&json!({ "audio": { "input": { "turn_detection": detection } } }));
        assert!(!session.begins_by_itself);
        assert_eq!(session.transcriber.as_deref(), Some("whisper-1"));
    }

    #[test]
    fn audio_has_a_token_for_a_tenth_of_a_second_in_and_two_out() {
        let pcm = AudioFormat::Pcm;
        assert_eq!(
            (pcm.input_tokens(48_000), pcm.output_tokens(48_000)),
            (10, 20)
        );
        assert_eq!((pcm.seconds(48_000), pcm.seconds(48_001)), (1, 2));
    }
}
