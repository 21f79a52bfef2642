//! The transcript of what a client said, with a usage of its own.

use serde_json::{Value, json};

use super::engine::Engine;
use super::event_error::EventError;
use super::input_audio::{heard_words, user_tokens};
use super::outbox::Note;
use crate::directives::Directives;
use crate::fault::{Fault, RealtimeFault};
use crate::realtime_log::RealtimeTranscription;
use crate::tokens::{PromptSize, count};

/// A transcript that is to be sent.
#[derive(Debug)]
pub(super) struct Transcript {
    record: RealtimeTranscription,
    text: String,
}

// === impl Engine ===

impl Engine {
    /// Writes an item down, if the session asks for that.
    pub(super) fn transcribe(&mut self, item: &str, audio_millis: u64) {
        let Some(transcriber) = self.config.transcriber() else {
            return;
        };
        let fault = self.transcription_fault(&transcriber.prompt, &transcriber.model);
        let words = heard_words(audio_millis);
        let text: Vec<String> = (1..=words).map(|number| format!("heard{number}")).collect();
        let prompt = PromptSize {
            text_bytes: count(transcriber.prompt.len()),
            ..PromptSize::default()
        };
        let record = RealtimeTranscription {
            item: item.to_owned(),
            is_by_duration: transcriber.is_by_duration(),
            model: transcriber.model,
            audio_millis,
            input_audio: user_tokens(audio_millis),
            input_text: prompt.tokens(),
            output_text: words,
            is_reported: fault != Some(RealtimeFault::NoTranscriptionUsage),
            has_failed: fault == Some(RealtimeFault::TranscriptionFails),
        };
        let transcript = Transcript {
            record,
            text: text.join(" "),
        };
        if fault == Some(RealtimeFault::LateTranscription) {
            self.late.push(transcript);
        } else {
            self.send_transcript(transcript);
        }
    }

    fn transcription_fault(&self, prompt: &str, model: &str) -> Option<RealtimeFault> {
        let text = format!("{}\n{prompt}", self.config.text("instructions"));
        // A bad directive is told by the response.
        let own = Directives::read(&text).ok().and_then(|read| read.fault);
        match own {
            Some(Fault::Realtime(fault)) if fault.is_of_transcription() => Some(fault),
            Some(_) | None => self.state.plans().strike_transcription(model, &self.key),
        }
    }

    /// Sends what waits for the end of a response.
    pub(super) fn send_late_transcripts(&mut self) {
        for transcript in std::mem::take(&mut self.late) {
            self.send_transcript(transcript);
        }
    }

    fn send_transcript(&mut self, transcript: Transcript) {
        let Transcript { mut record, text } = transcript;
        let item = record.item.clone();
        if record.has_failed {
            record.is_reported = false;
            let error = EventError::server("transcription_failed", "The audio was not understood.");
            let event = json!({
                "type": "conversation.item.input_audio_transcription.failed",
                "item_id": item,
                "content_index": 0,
                "error": {
                    "type": "transcription_error",
                    "code": error.code,
                    "message": error.message,
                    "param": null,
                },
            });
            self.send_noted(event, Some(Note::Transcription(record)));
            return;
        }
        self.conversation.set_transcript(&item, &text);
        self.send(json!({
            "type": "conversation.item.input_audio_transcription.delta",
            "item_id": item,
            "content_index": 0,
            "delta": text,
        }));
        let mut event = json!({
            "type": "conversation.item.input_audio_transcription.completed",
            "item_id": item,
            "content_index": 0,
            "transcript": text,
        });
        if let Some(fields) = event.as_object_mut()
            && record.is_reported
        {
            fields.insert("usage".to_owned(), usage(&record));
        }
        self.send_noted(event, Some(Note::Transcription(record)));
    }
}

fn usage(record: &RealtimeTranscription) -> Value {
    if record.is_by_duration {
        let seconds = format!(
            "{}.{:03}",
            record.audio_millis / 1_000,
            record.audio_millis % 1_000
        );
        let seconds: Value = serde_json::from_str(&seconds).unwrap_or(Value::Null);
        return json!({"type": "duration", "seconds": seconds});
    }
    let input = record.input_audio.saturating_add(record.input_text);
    json!({
        "type": "tokens",
        "total_tokens": input.saturating_add(record.output_text),
        "input_tokens": input,
        "input_token_details": {
            "text_tokens": record.input_text,
            "audio_tokens": record.input_audio,
        },
        "output_tokens": record.output_text,
    })
}
