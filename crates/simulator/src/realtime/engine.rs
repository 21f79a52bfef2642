//! A session without its socket: what it is in, what it sends next and when.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::connection::Peer;
use super::conversation::Conversation;
use super::event_error::EventError;
use super::generation::{Emission, Generation};
use super::input_audio::InputAudio;
use super::outbox::{Frame, Note, Outbox, ResponseEnd, ResponseNote};
use super::response_object::response_object;
use super::session_config::SessionConfig;
use super::transcription::Transcript;
use super::usage;
use super::vendor::Vendor;
use crate::clock;
use crate::fault::{Fault, RealtimeFault};
use crate::realtime_log::{RealtimeEntry, RealtimeSettings, RealtimeWork};
use crate::shared_state::SharedState;

/// One session.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) state: Arc<SharedState>,
    pub(super) entry: Arc<RealtimeEntry>,
    pub(super) settings: RealtimeSettings,
    pub(super) vendor: Vendor,
    pub(super) work: RealtimeWork,
    pub(super) model: String,
    pub(super) key: String,
    pub(super) config: SessionConfig,
    pub(super) conversation: Conversation,
    pub(super) input: InputAudio,
    /// The item that the turn being spoken will be.
    pub(super) turn_item: Option<String>,
    pub(super) generations: Vec<Generation>,
    /// Transcripts that wait for the end of a response.
    pub(super) late: Vec<Transcript>,
    pub(super) outbox: Outbox,
    /// Whether audio was sent, after which the voice is fixed.
    pub(super) has_spoken: bool,
    pub(super) idle_at: Option<Instant>,
    session_id: String,
    conversation_id: String,
    ids: u64,
    expires: Instant,
    expires_at: u64,
    keep_alive_at: Option<Instant>,
}

/// Events after which some faults strike.
const FAULT_FRAMES: u32 = 2;
const GARBAGE: &str = "{\"type\": \"response.output_text.delta\", <html> not json";
const EXPIRED: &str = "Your session hit the maximum duration of 60 minutes.";
/// The limits that are reported; no one enforces them.
const TOKEN_LIMIT: u64 = 50_000;
const REQUEST_LIMIT: u64 = 1_000;

/// Names of today and of OpenAI's beta.
const BETA_NAMES: [(&str, &str); 4] = [
    ("response.output_text.", "response.text."),
    (
        "response.output_audio_transcript.",
        "response.audio_transcript.",
    ),
    ("response.output_audio.", "response.audio."),
    ("conversation.item.added", "conversation.item.created"),
];

// === impl Engine ===

impl Engine {
    pub(super) fn new(peer: &Peer, session_id: String, entry: Arc<RealtimeEntry>) -> Self {
        let settings = peer.state.realtime_settings;
        let lasts = Duration::from_millis(settings.session_millis);
        let now = Instant::now();
        let seconds = clock::seconds(clock::now_micros());
        let keep_alive = peer.vendor.keep_alive();
        Self {
            state: Arc::clone(&peer.state),
            entry,
            settings,
            vendor: peer.vendor,
            work: peer.work,
            model: peer.model.clone(),
            key: peer.key.clone(),
            config: SessionConfig::new(peer.vendor, peer.work, &peer.model),
            conversation: Conversation::default(),
            input: InputAudio::default(),
            turn_item: None,
            generations: Vec::new(),
            late: Vec::new(),
            outbox: Outbox::default(),
            has_spoken: false,
            idle_at: None,
            conversation_id: session_id.replacen("sess_", "conv_", 1),
            session_id,
            ids: 0,
            expires: now.checked_add(lasts).unwrap_or(now),
            expires_at: seconds.saturating_add(lasts.as_secs()),
            keep_alive_at: keep_alive.and_then(|(_, every)| now.checked_add(every)),
        }
    }

    /// What a client is greeted with.
    pub(super) fn open(&mut self, preset: Option<&crate::request::Object>) {
        if let Some(preset) = preset {
            // It was checked when the secret was made.
            let updated = self.config.update(preset, 0);
            updated.unwrap_or_default();
        }
        let conversation = json!({
            "type": "conversation.created",
            "conversation": {"id": self.conversation_id, "object": "realtime.conversation"},
        });
        let is_conversation = self.work == RealtimeWork::Conversation;
        if is_conversation && self.vendor == Vendor::Xai {
            self.send(conversation.clone());
        }
        self.send_session("session.created");
        if is_conversation && self.vendor != Vendor::Xai {
            self.send(conversation);
        }
    }

    pub(super) fn send_session(&mut self, kind: &str) {
        let session = self.config.view(&self.session_id, self.expires_at);
        self.send(json!({"type": kind, "session": session}));
    }

    /// An id that nothing else of this connection has.
    pub(super) fn next_id(&mut self, kind: &str) -> String {
        self.ids = self.ids.saturating_add(1);
        let session = self.session_id.strip_prefix("sess_").unwrap_or_default();
        let session = session.get(..14).unwrap_or_default();
        format!("{kind}{session}{:06}", self.ids)
    }

    pub(super) fn send(&mut self, event: Value) {
        self.send_noted(event, None);
    }

    pub(super) fn send_noted(&mut self, mut event: Value, note: Option<Note>) {
        let id = self.next_id("event_");
        let kind = event
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let beta_kind = if self.vendor.has_beta_names() {
            if kind == "conversation.item.done" {
                return;
            }
            let mut names = BETA_NAMES.iter();
            names.find_map(|(new, old)| Some(format!("{old}{}", kind.strip_prefix(new)?)))
        } else {
            None
        };
        if let Some(fields) = event.as_object_mut() {
            fields.insert("event_id".to_owned(), Value::from(id));
            if let Some(kind) = beta_kind {
                fields.insert("type".to_owned(), Value::from(kind));
            }
        }
        self.outbox.event(&event, note);
    }

    pub(super) fn send_error(&mut self, error: &EventError, client_event_id: Option<&str>) {
        let note = Note::Error(error.code.to_owned());
        self.send_noted(error.event(client_event_id), Some(note));
    }

    /// Whether an event of a response is to be sent before anything is read.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let mut running = self.generations.iter();
        running.any(|generation| !generation.is_hung && generation.due <= now)
    }

    /// When something happens without the client.
    pub(super) fn wake(&self) -> Instant {
        let running = self.generations.iter().filter(|running| !running.is_hung);
        let dues = running.map(|generation| generation.due);
        let timers = [self.idle_at, self.keep_alive_at].into_iter().flatten();
        dues.chain(timers).fold(self.expires, Instant::min)
    }

    /// Does what is due.
    pub(super) fn tick(&mut self, now: Instant) {
        if now >= self.expires {
            self.expire();
            return;
        }
        if let Some(at) = self.keep_alive_at
            && now >= at
            && let Some((kind, every)) = self.vendor.keep_alive()
        {
            self.keep_alive_at = now.checked_add(every);
            self.send(json!({"type": kind}));
        }
        if self.idle_at.is_some_and(|at| now >= at) {
            self.idle_at = None;
            self.idle_turn();
        }
        let mut running = self.generations.iter();
        let due = running.position(|running| !running.is_hung && running.due <= now);
        if let Some(at) = due {
            self.advance(at, now);
        }
    }

    fn expire(&mut self) {
        let error = EventError::new("session_expired", EXPIRED);
        self.send_error(&error, None);
        let frame = Frame::Close {
            code: 1001,
            reason: EXPIRED,
        };
        self.outbox.frame(frame, None);
    }

    /// Sends the next event of a response.
    fn advance(&mut self, at: usize, now: Instant) {
        // It is put back below unless it is over.
        let mut generation = self.generations.remove(at);
        self.strike(&mut generation);
        if generation.is_hung {
            self.generations.insert(at, generation);
            return;
        }
        if let Some(emission) = generation.next() {
            generation.sent = generation.sent.saturating_add(1);
            generation.due = now.checked_add(generation.pace).unwrap_or(now);
            self.emit(&generation, emission);
        }
        if !generation.is_over() {
            self.generations.insert(at, generation);
        } else if generation.is_in_conversation {
            self.send_late_transcripts();
            self.start_idle_timer(now);
        }
    }

    /// What a fault does between two events.
    fn strike(&mut self, generation: &mut Generation) {
        let sent = generation.sent;
        let is_early = sent < FAULT_FRAMES;
        match generation.fault {
            Some(Fault::HangMidStream { after_frames }) if sent >= after_frames => {
                generation.is_hung = true;
                return;
            }
            Some(Fault::CloseMidStream { after_frames }) if sent >= after_frames => {
                self.outbox.frame(Frame::Cut, None);
                generation.is_hung = true;
                return;
            }
            Some(Fault::GarbageFrame { after_frames }) if sent >= after_frames => {
                self.outbox.frame(Frame::Text(GARBAGE.to_owned()), None);
            }
            Some(Fault::ErrorFrameMidStream { after_frames }) if sent >= after_frames => {
                let message =
                    "The server had an error while processing your request. Sorry about that!";
                self.send_error(&EventError::server("server_error", message), None);
                generation.stop("failed", None);
            }
            Some(Fault::Realtime(RealtimeFault::BinaryFrame { after_frames }))
                if sent >= after_frames =>
            {
                self.outbox.frame(Frame::Binary(vec![0, 255, 1, 254]), None);
            }
            Some(Fault::Realtime(RealtimeFault::UnknownEvent { after_frames }))
                if sent >= after_frames =>
            {
                self.send(json!({"type": "simulator.unknown", "detail": {"a": [1, 2]}}));
            }
            Some(Fault::Realtime(RealtimeFault::CloseCode(code))) if !is_early => {
                let reason = "closed by a fault";
                self.outbox.frame(Frame::Close { code, reason }, None);
                generation.is_hung = true;
                return;
            }
            Some(Fault::Realtime(RealtimeFault::Expire)) if !is_early => {
                self.expire();
                generation.is_hung = true;
                return;
            }
            Some(Fault::Realtime(RealtimeFault::ResponseFails)) if !is_early => {
                generation.stop("failed", None);
            }
            Some(_) | None => return,
        }
        // It strikes once.
        generation.fault = None;
    }

    fn emit(&mut self, generation: &Generation, emission: Emission) {
        let note = ResponseNote {
            id: generation.id.clone(),
            usage: generation.usage,
            audio_millis: generation.audio_millis,
            end: None,
        };
        let noted = Some(Note::Response(note.clone()));
        match emission {
            Emission::Event(event) => self.send_noted(event, noted),
            Emission::Audio(bytes) => self.outbox.frame(Frame::Binary(bytes), noted),
            Emission::Created => {
                let response = response_object(generation, &self.conversation_id, false, None);
                let event = json!({"type": "response.created", "response": response});
                self.send_noted(event, noted);
            }
            Emission::RateLimits => {
                let limit = |name: &str, limit: u64, taken: u64| {
                    let remaining = limit.saturating_sub(taken);
                    json!({"name": name, "limit": limit, "remaining": remaining, "reset_seconds": 60})
                };
                let limits = [
                    limit("requests", REQUEST_LIMIT, 1),
                    limit("tokens", TOKEN_LIMIT, generation.usage.input()),
                ];
                self.send(json!({"type": "rate_limits.updated", "rate_limits": limits}));
            }
            Emission::ItemAdded(item) => {
                let previous = self.conversation.last_id().map(str::to_owned);
                self.send_item("conversation.item.added", previous.as_deref(), &item.view);
                self.conversation.push(item);
            }
            Emission::ItemDone(item) => {
                let view = item.view.clone();
                self.has_spoken |= item.audio_millis > 0;
                if let Some(known) = self.conversation.find_mut(&item.id) {
                    *known = item;
                }
                self.send_item("conversation.item.done", None, &view);
            }
            Emission::Done => self.send_done(generation, note),
        }
    }

    pub(super) fn send_item(&mut self, kind: &str, previous: Option<&str>, item: &Value) {
        self.send(json!({"type": kind, "previous_item_id": previous, "item": item}));
    }

    fn send_done(&mut self, generation: &Generation, mut note: ResponseNote) {
        let reported = usage::reported(generation.usage, self.vendor.usage(), generation.fault);
        let is_sent = generation.fault != Some(Fault::NoDone);
        note.end = Some(ResponseEnd {
            status: generation.status,
            reason: generation.reason,
            reported: reported.counts.filter(|_| is_sent),
            is_sent,
        });
        if !is_sent {
            let note = Note::Response(note);
            self.entry.note(|connection| note.write(connection));
            return;
        }
        let object = response_object(generation, &self.conversation_id, true, reported.value);
        let event = json!({"type": "response.done", "response": object});
        if generation.fault == Some(Fault::TruncatedJson) {
            let text = event.to_string();
            let half = text.floor_char_boundary(text.len() / 2);
            let text = text.get(..half).unwrap_or_default().to_owned();
            self.outbox
                .frame(Frame::Text(text), Some(Note::Response(note)));
            return;
        }
        if generation.fault == Some(Fault::Realtime(RealtimeFault::UsageTwice)) {
            let note = Note::Response(note.clone());
            self.send_noted(event.clone(), Some(note));
        }
        self.send_noted(event, Some(Note::Response(note)));
    }
}
