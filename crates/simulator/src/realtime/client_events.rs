//! The client's events.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::engine::Engine;
use super::event_error::EventError;
use super::input_audio::assistant_tokens;
use super::item::Item;
use crate::realtime_log::RealtimeTrigger;
use crate::refusal::shortened;
use crate::request::Object;

/// Events of other vendors that keep a connection alive.
const KEEP_ALIVE: [&str; 2] = ["heartbeat", "ping"];

// === impl Engine ===

impl Engine {
    /// Takes one text message.
    pub(super) fn receive(&mut self, text: &str) {
        let Ok(Value::Object(event)) = serde_json::from_str(text) else {
            let message = "The event is not a JSON object.";
            self.send_error(&EventError::new("invalid_event", message), None);
            return;
        };
        let kind = event
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        self.entry.note(|connection| connection.count_event(kind));
        if let Err(error) = self.take(kind, &event) {
            let id = event.get("event_id").and_then(Value::as_str);
            self.send_error(&error, id);
        }
    }

    fn take(&mut self, kind: &str, event: &Object) -> Result<(), EventError> {
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        match kind {
            "session.update" => self.update_session(event),
            "input_audio_buffer.append" => {
                let audio = text("audio").ok_or_else(|| EventError::missing("audio"))?;
                self.append_audio(audio)
            }
            "input_audio_buffer.commit" => self.commit_audio(),
            "input_audio_buffer.clear" => {
                self.input.clear();
                self.turn_item = None;
                self.send(json!({"type": "input_audio_buffer.cleared"}));
                Ok(())
            }
            "conversation.item.create" => self.create_item(event),
            "conversation.item.retrieve" => {
                let id = text("item_id").ok_or_else(|| EventError::missing("item_id"))?;
                let missing = || no_item("item_retrieve_invalid_item_id", id);
                let item = self.conversation.find(id).ok_or_else(missing)?.view.clone();
                self.send(json!({"type": "conversation.item.retrieved", "item": item}));
                Ok(())
            }
            "conversation.item.truncate" => self.truncate_item(event),
            "conversation.item.delete" => {
                let id = text("item_id").ok_or_else(|| EventError::missing("item_id"))?;
                if !self.conversation.remove(id) {
                    return Err(no_item("item_delete_invalid_item_id", id));
                }
                self.send(json!({"type": "conversation.item.deleted", "item_id": id}));
                Ok(())
            }
            "response.create" => {
                let empty = Object::new();
                let own = event.get("response").and_then(Value::as_object);
                self.start_response(own.unwrap_or(&empty), RealtimeTrigger::Client)
            }
            "response.cancel" => self.cancel(text("response_id")),
            kind if KEEP_ALIVE.contains(&kind) && self.vendor.keep_alive().is_some() => Ok(()),
            "" => Err(EventError::missing("type")),
            other => {
                let message = format!("Invalid value: '{}'.", shortened(other));
                Err(EventError::new("invalid_event", message).about("type"))
            }
        }
    }

    fn update_session(&mut self, event: &Object) -> Result<(), EventError> {
        let Some(Value::Object(session)) = event.get("session") else {
            return Err(EventError::missing("session"));
        };
        if self.vendor.needs_session_type() && !session.contains_key("type") {
            return Err(EventError::missing("session.type"));
        }
        let voice = |value: Option<&Value>| {
            let voice = value.and_then(|audio| audio.get("output")?.get("voice"));
            voice.cloned()
        };
        let new_voice = voice(session.get("audio"));
        if self.has_spoken
            && new_voice.is_some()
            && new_voice != voice(self.config.fields.get("audio"))
        {
            let message = "Cannot update a conversation's voice if assistant audio is present.";
            return Err(EventError::new("cannot_update_voice", message));
        }
        let min_idle_millis = self.settings.min_idle_timeout_millis;
        self.config.update(session, min_idle_millis)?;
        self.send_session("session.updated");
        Ok(())
    }

    fn create_item(&mut self, event: &Object) -> Result<(), EventError> {
        let value = event
            .get("item")
            .ok_or_else(|| EventError::missing("item"))?;
        let id = self.next_id("item_");
        let item = Item::read(value, id, self.config.input_format())?;
        if self.conversation.find(&item.id).is_some() {
            let message = format!("Item with id '{}' already exists.", shortened(&item.id));
            return Err(EventError::new("item_create_duplicate_id", message).about("item.id"));
        }
        let view = item.view.clone();
        let last = self.conversation.last_id().map(str::to_owned);
        let previous = match event.get("previous_item_id").and_then(Value::as_str) {
            Some(behind) => {
                if !self.conversation.insert(behind, item) {
                    return Err(no_item("item_create_invalid_previous_item_id", behind));
                }
                Some(behind.to_owned()).filter(|behind| behind != "root")
            }
            None => {
                self.conversation.push(item);
                last
            }
        };
        self.send_item("conversation.item.added", previous.as_deref(), &view);
        self.send_item("conversation.item.done", previous.as_deref(), &view);
        Ok(())
    }

    /// Cuts the audio of the model to what was heard of it.
    fn truncate_item(&mut self, event: &Object) -> Result<(), EventError> {
        let id = event.get("item_id").and_then(Value::as_str);
        let id = id.ok_or_else(|| EventError::missing("item_id"))?;
        let end = event.get("audio_end_ms").and_then(Value::as_u64);
        let end = end.ok_or_else(|| EventError::missing("audio_end_ms"))?;
        let item = self.conversation.find_mut(id);
        let item = item.filter(|item| item.is_generated && item.audio_millis > 0);
        let item = item.ok_or_else(|| no_item("item_truncate_invalid_item_id", id))?;
        if end > item.audio_millis {
            let message = format!(
                "Audio content of {}ms is already shorter than {end}ms",
                item.audio_millis
            );
            return Err(EventError::new("invalid_value", message).about("audio_end_ms"));
        }
        item.audio_millis = end;
        // The transcript goes with the audio.
        item.tokens.text = 0;
        item.tokens.audio = assistant_tokens(end);
        self.conversation.set_transcript(id, "");
        self.send(json!({
            "type": "conversation.item.truncated",
            "item_id": id,
            "content_index": event.get("content_index").and_then(Value::as_u64).unwrap_or(0),
            "audio_end_ms": end,
        }));
        Ok(())
    }

    /// Ends a response: the named one, or else the one of the conversation.
    fn cancel(&mut self, id: Option<&str>) -> Result<(), EventError> {
        let is_meant = |running: &str, is_in_conversation: bool| match id {
            Some(id) => running == id,
            None => is_in_conversation,
        };
        let mut running = self.generations.iter_mut();
        let found = running.find(|running| is_meant(&running.id, running.is_in_conversation));
        let Some(generation) = found else {
            let message = "Cancellation failed: no active response found";
            return Err(EventError::new("response_cancel_not_active", message));
        };
        generation.stop("cancelled", Some("client_cancelled"));
        generation.due = Instant::now();
        Ok(())
    }
}

fn no_item(code: &'static str, id: &str) -> EventError {
    let message = format!(
        "Item with id '{}' does not exist or cannot be used so.",
        shortened(id)
    );
    EventError::new(code, message).about("item_id")
}
