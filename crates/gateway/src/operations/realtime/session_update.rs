//! Updates of a session: public names become the upstream's and back, and what cannot be sold is taken out.

use serde_json::{Value, json};
use trunkline_catalog::{FieldNote, FieldTreatment, SERVER_TOOL_DROPPED, UNKNOWN_FIELD};
use trunkline_wire::realtime::ClientEvent;

use super::connection::{Connection, Finish};
use super::request::TRANSCRIBER;
use super::turns::State;
use crate::error::{ApiError, ErrorCode};
use crate::field_report::strict_violation;
use crate::headers::is_strict;

const TRANSCRIPTION: &str = "/audio/input/transcription";

impl Connection {
    /// The first frame to the upstream: the session of a client secret, and the longest response as a number.
    pub(super) async fn first_update(&self, session: Value) -> Result<(), Finish> {
        if self.transcribes && !session.is_object() {
            return Ok(());
        }
        let mut read =
            ClientEvent::read(&json!({ "type": "session.update", "session": session }).to_string())
                .map_err(|_| ApiError::unavailable())?;
        let mut state = self.state.lock().await;
        self.rewrite(&mut state, &mut read);
        state.add(read.adds());
        let session = read.event.get_mut("session").map(Value::take);
        let session = session
            .filter(Value::is_object)
            .unwrap_or_else(|| json!({}));
        state.session.apply(&session);
        let mut session = session;
        self.name_transcriber(&mut session);
        self.own_update(&mut state, session).await
    }

    /// What is sent of a client's update; none if strict mode refuses it.
    pub(super) async fn session_update(
        &self,
        read: &mut ClientEvent,
    ) -> Result<Option<String>, Finish> {
        if let Err(error) = self.check_transcriber(&read.event) {
            let event = read.event.get("event_id").and_then(Value::as_str);
            self.error_to_client(&error, event).await?;
            return Ok(None);
        }
        let mut state = self.state.lock().await;
        let notes = self.rewrite(&mut state, read);
        let policy = self.turns.caller.key.policy.fields();
        let refused = notes.iter().find(|note| note.is_pitfall());
        if let Some(note) = refused.filter(|_| is_strict(&self.turns.headers) || policy.strict) {
            drop(state);
            let event = read.event.get("event_id").and_then(Value::as_str);
            self.error_to_client(&strict_violation(note), event).await?;
            return Ok(None);
        }
        notes.into_iter().for_each(|note| state.report.add(note));
        state.add(read.adds());
        if let Some(session) = read.event.get_mut("session") {
            let before = state.session.transcriber.clone();
            state.session.apply(session);
            if state.session.transcriber != before {
                // What is held is of the other model.
                state.transcriber = None;
            }
            if let Some(longest) = session.get("max_output_tokens").and_then(Value::as_u64) {
                state.longest = longest;
            }
            self.name_transcriber(session);
        }
        if state.uncommitted > 0 {
            self.hold_transcription(&mut state).await?;
        }
        drop(state);
        Ok(Some(read.event.to_string()))
    }

    /// Writes the upstream's names and a longest response that can be paid, and says what was taken out.
    fn rewrite(&self, state: &mut State, read: &mut ClientEvent) -> Vec<FieldNote> {
        let mut notes: Vec<FieldNote> = read.dropped.iter().map(|path| dropped(path)).collect();
        let Some(session) = read.event.get_mut("session") else {
            return notes;
        };
        if let Some(fields) = session.as_object_mut()
            && let Some(model) = fields.remove("model")
            && model != self.model.as_str()
            && model != self.model_as_sent.as_str()
        {
            let why = "the model of a connection is named when it is opened";
            notes.push(ignored("session.model", why));
        }
        if let Some(longest) = session.get_mut("max_output_tokens") {
            let most = state.affordable;
            let covered = longest.as_u64().unwrap_or(u64::MAX).min(most);
            if longest.as_u64() != Some(covered) {
                let why = "the balance covers a response of this length";
                let code = "max_tokens_defaulted";
                let field = "session.max_output_tokens";
                let note = FieldNote::new(field, FieldTreatment::Defaulted, code, why);
                notes.push(note.with_value(covered.to_string()));
            }
            *longest = json!(covered);
        }
        let transcriber = session.pointer(TRANSCRIBER).and_then(Value::as_str);
        let transcriber = transcriber.map(ToOwned::to_owned);
        if session.pointer(TRANSCRIPTION).is_some_and(Value::is_object) {
            let is_sold = transcriber.and_then(|model| self.upstream_transcriber(&model));
            if is_sold.is_none()
                && let Some(input) = session.pointer_mut("/audio/input")
                && let Some(fields) = input.as_object_mut()
            {
                fields.remove("transcription");
                let why = "this transcriber has no price here, or is not served beside the model";
                notes.push(ignored("session.audio.input.transcription", why));
            }
        }
        notes
    }

    /// A session that makes nothing but transcripts cannot do without its transcriber.
    fn check_transcriber(&self, event: &Value) -> Result<(), ApiError> {
        let session = event.get("session").filter(|_| self.transcribes);
        let named = session.and_then(|session| session.pointer(TRANSCRIBER)?.as_str());
        let Some(model) = named.filter(|model| self.upstream_transcriber(model).is_none()) else {
            return Ok(());
        };
        let book = &self.turns.services.catalog.load_full().book;
        self.turns.caller.sale(book, model)?;
        let text = "this connection does not reach that transcriber; open another one for it";
        let error = ApiError::new(ErrorCode::Invalid("invalid_event"), text);
        Err(error.at("session.audio.input.transcription.model"))
    }

    /// Writes the upstream's name of the transcriber, now that its public name is known to the connection.
    fn name_transcriber(&self, session: &mut Value) {
        if let Some(model) = session.pointer_mut(TRANSCRIBER)
            && let Some(upstream) = model
                .as_str()
                .and_then(|name| self.upstream_transcriber(name))
        {
            *model = json!(upstream);
        }
    }

    /// A session of the upstream's under public names.
    pub(super) fn shown_session(&self, state: &State, session: &mut Value) {
        if let Some(model) = session.get_mut("model") {
            *model = json!(self.model_as_sent);
        }
        if let Some(model) = session.pointer_mut(TRANSCRIBER) {
            *model = json!(state.session.transcriber);
        }
        // A vendor's own secret would go past the meter.
        if let Some(fields) = session.as_object_mut() {
            fields.remove("client_secret");
        }
    }

    /// The upstream's name of a transcriber that is sold to the caller and served by the channel.
    fn upstream_transcriber(&self, model: &str) -> Option<String> {
        // It may be named by an alias.
        let model = if self.transcribes && model == self.model_as_sent {
            self.model.as_str()
        } else {
            model
        };
        let book = &self.turns.services.catalog.load_full().book;
        let is_sold = self.turns.caller.sale(book, model).is_ok();
        let upstream = self.channel.row.models.get(model);
        upstream.filter(|_| is_sold).cloned()
    }
}

fn ignored(field: &str, why: &'static str) -> FieldNote {
    FieldNote::new(field, FieldTreatment::Ignored, UNKNOWN_FIELD, why)
}

fn dropped(path: &str) -> FieldNote {
    if path.contains("tools[") {
        let why = "tools that the vendor runs have no price here";
        return FieldNote::new(path, FieldTreatment::Ignored, SERVER_TOOL_DROPPED, why);
    }
    ignored(path, "this field is not sent to upstreams")
}
