//! Turns: what the client says, where its turns end, and what follows by itself.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::audio_format::AudioFormat;
use super::engine::Engine;
use super::event_error::EventError;
use super::input_audio::Found;
use super::item::{Item, decoded};
use crate::realtime_log::{RealtimeTrigger, RealtimeWork};
use crate::request::Object;

/// The largest piece of audio of one event.
const MAX_APPEND_BYTES: usize = 15 * 1024 * 1024;

// === impl Engine ===

impl Engine {
    pub(super) fn append_audio(&mut self, audio: &str) -> Result<(), EventError> {
        let bytes = decoded(audio)?;
        if bytes.len() > MAX_APPEND_BYTES {
            let message = "The audio of one event may have 15 MiB at most.";
            return Err(EventError::new("invalid_value", message).about("audio"));
        }
        let format = self.config.input_format();
        let before = self.input.millis(format);
        let detection = self.config.voice_detection();
        let payload = AudioFormat::payload(&bytes);
        let found = self.input.append(payload, format, detection.as_ref());
        let grown = self.input.millis(format).saturating_sub(before);
        self.entry.note(|connection| {
            connection.audio_in_millis = connection.audio_in_millis.saturating_add(grown);
        });
        for turn in found {
            match turn {
                Found::Started { at_millis } => self.turn_started(at_millis),
                Found::Stopped {
                    from_millis,
                    to_millis,
                } => self.turn_stopped(from_millis, to_millis),
            }
        }
        Ok(())
    }

    fn turn_started(&mut self, at_millis: u64) {
        self.idle_at = None;
        let item = self.next_id("item_");
        self.send(json!({
            "type": "input_audio_buffer.speech_started",
            "audio_start_ms": at_millis,
            "item_id": item,
        }));
        self.turn_item = Some(item);
        let detection = self.config.voice_detection();
        if detection.is_some_and(|detection| detection.interrupts_response) {
            let running = self.generations.iter_mut();
            for generation in running.filter(|running| running.is_in_conversation) {
                generation.stop("cancelled", Some("turn_detected"));
                generation.due = Instant::now();
            }
        }
    }

    fn turn_stopped(&mut self, from_millis: u64, to_millis: u64) {
        let item = match self.turn_item.take() {
            Some(item) => item,
            None => self.next_id("item_"),
        };
        self.send(json!({
            "type": "input_audio_buffer.speech_stopped",
            "audio_end_ms": to_millis,
            "item_id": item,
        }));
        self.add_voice(item, to_millis.saturating_sub(from_millis));
        let detection = self.config.voice_detection();
        if detection.is_some_and(|detection| detection.creates_response) {
            self.answer(RealtimeTrigger::Voice);
        }
    }

    /// Makes a response that no event of the client asked for.
    fn answer(&mut self, trigger: RealtimeTrigger) {
        if self.work == RealtimeWork::Transcription {
            return;
        }
        if let Err(error) = self.start_response(&Object::new(), trigger) {
            self.send_error(&error, None);
        }
    }

    pub(super) fn commit_audio(&mut self) -> Result<(), EventError> {
        let format = self.config.input_format();
        let Some(millis) = self.input.commit(format) else {
            let message = "Error committing input audio buffer: buffer too small. Expected at least \
                           100ms of audio.";
            return Err(EventError::new("input_audio_buffer_commit_empty", message));
        };
        let item = match self.turn_item.take() {
            Some(item) => item,
            None => self.next_id("item_"),
        };
        self.add_voice(item, millis);
        Ok(())
    }

    fn add_voice(&mut self, id: String, millis: u64) {
        let previous = self.conversation.last_id().map(str::to_owned);
        self.send(json!({
            "type": "input_audio_buffer.committed",
            "previous_item_id": previous,
            "item_id": id,
        }));
        let item = Item::voice(id.clone(), millis);
        let view = item.view.clone();
        self.conversation.push(item);
        self.send_item("conversation.item.added", previous.as_deref(), &view);
        self.send_item("conversation.item.done", previous.as_deref(), &view);
        self.transcribe(&id, millis);
        // Without a response there is no end to wait for.
        let detection = self.config.voice_detection();
        if !detection.is_some_and(|detection| detection.creates_response) {
            self.send_late_transcripts();
        }
    }

    /// The client is silent from now on, until it speaks.
    pub(super) fn start_idle_timer(&mut self, now: Instant) {
        let detection = self.config.voice_detection();
        let idle = detection.and_then(|detection| detection.idle_millis);
        if let Some(millis) = idle
            && !self.input.is_speech()
        {
            self.idle_at = now.checked_add(Duration::from_millis(millis));
        }
    }

    /// The client was silent for too long, so the model speaks by itself.
    pub(super) fn idle_turn(&mut self) {
        let format = self.config.input_format();
        let end = self.input.millis(format);
        let waiting = self.input.commit(format).unwrap_or(0);
        let item = self.next_id("item_");
        self.send(json!({
            "type": "input_audio_buffer.timeout_triggered",
            "audio_start_ms": end.saturating_sub(waiting),
            "audio_end_ms": end,
            "item_id": item,
        }));
        self.add_voice(item, 0);
        self.answer(RealtimeTrigger::Idle);
    }
}
