//! The client's audio: how much of it waits, and where speech begins and ends in it. No audio is kept.
//!
//! A stretch of ten milliseconds with a sample as loud as the threshold asks is speech; as much silence as
//! the session says ends the turn. Only the audio counts and no clock, so a test can foresee every turn.

use super::audio_format::AudioFormat;
use super::session_config::VoiceDetection;
use crate::tokens::count;

/// Positions in samples since the start of the session.
#[derive(Debug, Default)]
pub(super) struct InputAudio {
    received: u64,
    /// Where that begins which is in no item yet.
    buffered_from: u64,
    speech_from: Option<u64>,
    silent: u64,
}

/// What voice detection finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Started { at_millis: u64 },
    Stopped { from_millis: u64, to_millis: u64 },
}

/// The stretches that are looked at, a hundredth of a second each.
const STRETCHES_PER_SECOND: u32 = 100;
/// The least that can be committed.
const MIN_COMMIT_MILLIS: u64 = 100;

// === impl InputAudio ===

impl InputAudio {
    /// Takes a piece in.
    pub(super) fn append(
        &mut self,
        bytes: &[u8],
        format: AudioFormat,
        detection: Option<&VoiceDetection>,
    ) -> Vec<Found> {
        let Some(detection) = detection else {
            self.received = self.received.saturating_add(format.samples(bytes));
            return Vec::new();
        };
        let stretch = format.rate().checked_div(STRETCHES_PER_SECOND).unwrap_or(1);
        let stretch = format
            .bytes_of(usize::try_from(stretch).unwrap_or(1))
            .max(1);
        let mut found = Vec::new();
        for piece in bytes.chunks(stretch) {
            let is_speech = format.is_loud(piece, detection.amplitude);
            found.extend(self.hear(format.samples(piece), is_speech, format, detection));
        }
        found
    }

    fn hear(
        &mut self,
        samples: u64,
        is_speech: bool,
        format: AudioFormat,
        detection: &VoiceDetection,
    ) -> Option<Found> {
        let before = self.received;
        self.received = self.received.saturating_add(samples);
        match (self.speech_from, is_speech) {
            (None, false) => None,
            (None, true) => {
                let prefix = format.samples_in(detection.prefix_millis);
                let from = before.saturating_sub(prefix).max(self.buffered_from);
                self.speech_from = Some(from);
                self.silent = 0;
                let at_millis = format.millis(from);
                Some(Found::Started { at_millis })
            }
            (Some(_), true) => {
                self.silent = 0;
                None
            }
            (Some(from), false) => {
                self.silent = self.silent.saturating_add(samples);
                if self.silent < format.samples_in(detection.silence_millis) {
                    return None;
                }
                self.clear();
                Some(Found::Stopped {
                    from_millis: format.millis(from),
                    to_millis: format.millis(self.received),
                })
            }
        }
    }

    pub(super) fn is_speech(&self) -> bool {
        self.speech_from.is_some()
    }

    pub(super) fn millis(&self, format: AudioFormat) -> u64 {
        format.millis(self.received)
    }

    /// Makes an item of what waits; how long it is, or nothing if it is too short.
    pub(super) fn commit(&mut self, format: AudioFormat) -> Option<u64> {
        let waiting = self.received.saturating_sub(self.buffered_from);
        let millis = format.millis(waiting);
        (millis >= MIN_COMMIT_MILLIS).then(|| {
            self.clear();
            millis
        })
    }

    pub(super) fn clear(&mut self) {
        self.buffered_from = self.received;
        self.speech_from = None;
        self.silent = 0;
    }
}

/// Tokens of so much audio of a client.
pub(super) fn user_tokens(millis: u64) -> u64 {
    millis.div_ceil(100)
}

/// Tokens of so much audio of a model.
pub(super) fn assistant_tokens(millis: u64) -> u64 {
    millis.div_ceil(50)
}

/// Words that are heard in so much audio.
pub(super) fn heard_words(millis: u64) -> u64 {
    (millis / 500).clamp(1, count(usize::from(u16::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VOICE: VoiceDetection = VoiceDetection {
        silence_millis: 200,
        prefix_millis: 50,
        amplitude: 100,
        creates_response: true,
        interrupts_response: true,
        idle_millis: None,
    };

    fn loud(millis: u64) -> Vec<u8> {
        AudioFormat::DEFAULT.tone(0, millis)
    }

    fn silent(millis: usize) -> Vec<u8> {
        vec![0; millis * 48]
    }

    #[test]
    fn a_turn_begins_before_its_first_sound_and_ends_after_the_silence() {
        let mut input = InputAudio::default();
        let audio = [silent(100), loud(300), silent(190)].concat();
        let started = Found::Started { at_millis: 50 };
        let format = AudioFormat::DEFAULT;
        assert_eq!(input.append(&audio, format, Some(&VOICE)), [started]);
        let stopped = Found::Stopped {
            from_millis: 50,
            to_millis: 600,
        };
        assert_eq!(input.append(&silent(10), format, Some(&VOICE)), [stopped]);
        // The next turn takes nothing of this one.
        let started = Found::Started { at_millis: 600 };
        assert_eq!(input.append(&loud(10), format, Some(&VOICE)), [started]);
    }

    #[test]
    fn without_detection_the_client_commits_all_that_waits() {
        let mut input = InputAudio::default();
        let format = AudioFormat::DEFAULT;
        input.append(&loud(90), format, None);
        assert_eq!(input.commit(format), None);
        input.append(&silent(90), format, None);
        assert_eq!(input.commit(format), Some(180));
        assert_eq!(input.commit(format), None);
    }
}
