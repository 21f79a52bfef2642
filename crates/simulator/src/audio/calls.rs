//! How a vendor writes down what was said and heard.

use super::audio_sniff::AudioInfo;
use super::fake_transcript::Words;
use crate::audio_state::{AudioCall, AudioWork};
use crate::encoders::Sound;
use crate::headers::last_four;
use crate::recorded_request::RecordedRequest;
use crate::tokens::{count, hex};

// === impl AudioCall ===

impl AudioCall {
    pub(super) fn new(
        recorded: &RecordedRequest,
        vendor: &'static str,
        work: AudioWork,
        model: &str,
    ) -> Self {
        Self {
            number: recorded.number,
            vendor,
            work,
            model: model.to_owned(),
            key: last_four(&recorded.key),
            marker: None,
            task: None,
            characters: 0,
            format: None,
            millis: 0,
            bytes: 0,
            sha256: None,
            text: None,
        }
    }

    pub(super) fn spoken(mut self, text: &str, sound: Sound) -> Self {
        self.characters = count(text.chars().count());
        self.format = Some(sound.format.name());
        self.millis = sound.millis;
        self
    }

    pub(super) fn with_audio(mut self, audio: &AudioInfo, words: &Words) -> Self {
        self.millis = audio.millis;
        self.bytes = audio.bytes;
        self.sha256 = Some(hex(&audio.sha256));
        self.text = Some(words.text());
        self
    }

    pub(super) fn marked(mut self, marker: Option<&String>) -> Self {
        self.marker = marker.cloned();
        self
    }
}
