//! What was served over realtime connections, for checkers that compare it with what was charged.
//!
//! A connection is here from its upgrade on and grows while it is served, so it is right at every moment.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::fault::Fault;

/// How realtime connections behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealtimeSettings {
    /// Pause before each event of a response but the first; zero sends it at once. `[[pace:20]]` goes before it.
    pub pace_millis: u64,
    /// How long a connection may last.
    pub session_millis: u64,
    /// The shortest `idle_timeout_ms` that is accepted.
    pub min_idle_timeout_millis: u64,
    /// Tokens of input and output that a conversation may have before it is truncated.
    pub context_tokens: u64,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RealtimeWork {
    Conversation,
    Transcription,
    /// Responses over WebSocket.
    Responses,
}

/// Tokens by kind; what is cached is a part of the input beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RealtimeUsage {
    pub input_text: u64,
    pub input_audio: u64,
    pub input_image: u64,
    pub cached_text: u64,
    pub cached_audio: u64,
    pub cached_image: u64,
    pub output_text: u64,
    pub output_audio: u64,
}

/// What made a response begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RealtimeTrigger {
    /// `response.create`
    Client,
    /// The end of a turn that voice detection found.
    Voice,
    /// `idle_timeout_ms`
    Idle,
}

/// One response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RealtimeResponse {
    pub id: String,
    /// The name that a text gave it with `[[id:…]]`.
    pub marker: Option<String>,
    pub fault: Option<Fault>,
    pub trigger: RealtimeTrigger,
    /// What was read, and what was generated and handed to the socket so far.
    pub usage: RealtimeUsage,
    /// What the client was sent as usage, lies included, once for each time.
    pub reported: Vec<RealtimeUsage>,
    /// Milliseconds of audio that were handed over.
    pub audio_millis: u64,
    /// `completed`, `cancelled`, `incomplete` or `failed`; none while it runs and where it was cut.
    pub status: Option<&'static str>,
    pub reason: Option<&'static str>,
    /// How often `response.done` was sent.
    pub done_events: u64,
}

/// One transcription of what the client said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RealtimeTranscription {
    pub item: String,
    pub model: String,
    pub audio_millis: u64,
    /// Whether this transcriber is paid by the second and not by the token.
    pub is_by_duration: bool,
    pub input_audio: u64,
    pub input_text: u64,
    pub output_text: u64,
    /// Whether usage was sent.
    pub is_reported: bool,
    pub has_failed: bool,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RealtimeEnd {
    /// The client closed, with this code if it gave one.
    ClientClosed(Option<u16>),
    /// The client went away without a close frame.
    ClientLeft,
    /// The simulator closed with this code.
    Closed(u16),
    /// A fault cut the connection without a close frame.
    Cut,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RealtimeConnection {
    /// The number of its upgrade in the requests.
    pub number: u64,
    pub vendor: &'static str,
    pub work: RealtimeWork,
    /// The model of the query.
    pub model: String,
    /// The last four characters of the key.
    pub key: String,
    pub session: String,
    /// Messages that the client sent.
    pub frames_in: u64,
    pub frames_out: u64,
    /// Types of the client's events with how often each came, in the order of their first.
    pub events_in: Vec<(String, u64)>,
    /// Milliseconds of audio that the client appended.
    pub audio_in_millis: u64,
    pub responses: Vec<RealtimeResponse>,
    pub transcriptions: Vec<RealtimeTranscription>,
    /// Codes of the errors that were sent.
    pub errors: Vec<String>,
    /// None while it is open.
    pub end: Option<RealtimeEnd>,
    pub opened_at_micros: u64,
    pub closed_at_micros: Option<u64>,
}

/// All connections, newest last.
#[derive(Debug)]
pub(crate) struct RealtimeLog {
    all: Mutex<VecDeque<Arc<RealtimeEntry>>>,
    max: usize,
}

/// One connection that is still being written down.
#[derive(Debug)]
pub(crate) struct RealtimeEntry(Mutex<RealtimeConnection>);

/// Kinds of client events that are counted.
const MAX_EVENT_TYPES: usize = 64;
const MAX_EVENT_TYPE_BYTES: usize = 100;
/// Codes of errors that are kept for each connection.
const MAX_ERRORS: usize = 1_000;

// === impl RealtimeSettings ===

impl Default for RealtimeSettings {
    fn default() -> Self {
        Self {
            pace_millis: 0,
            session_millis: 60 * 60 * 1_000,
            min_idle_timeout_millis: 5_000,
            context_tokens: 32_000,
        }
    }
}

// === impl RealtimeUsage ===

impl RealtimeUsage {
    #[must_use]
    pub fn input(&self) -> u64 {
        let text_and_audio = self.input_text.saturating_add(self.input_audio);
        text_and_audio.saturating_add(self.input_image)
    }

    #[must_use]
    pub fn output(&self) -> u64 {
        self.output_text.saturating_add(self.output_audio)
    }

    #[must_use]
    pub fn cached(&self) -> u64 {
        let text_and_audio = self.cached_text.saturating_add(self.cached_audio);
        text_and_audio.saturating_add(self.cached_image)
    }

    pub(crate) fn times(self, factor: u64) -> Self {
        let times = |count: u64| count.saturating_mul(factor);
        Self {
            input_text: times(self.input_text),
            input_audio: times(self.input_audio),
            input_image: times(self.input_image),
            cached_text: times(self.cached_text),
            cached_audio: times(self.cached_audio),
            cached_image: times(self.cached_image),
            output_text: times(self.output_text),
            output_audio: times(self.output_audio),
        }
    }
}

// === impl RealtimeConnection ===

impl RealtimeConnection {
    pub(crate) fn count_event(&mut self, kind: &str) {
        if let Some((_, times)) = self.events_in.iter_mut().find(|(known, _)| known == kind) {
            *times = times.saturating_add(1);
        } else if self.events_in.len() < MAX_EVENT_TYPES {
            let end = kind.floor_char_boundary(MAX_EVENT_TYPE_BYTES);
            let kind = kind.get(..end).unwrap_or_default().to_owned();
            self.events_in.push((kind, 1));
        }
    }

    pub(crate) fn add_error(&mut self, code: &str) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(code.to_owned());
        }
    }

    /// The response with this id, if it was begun here.
    pub(crate) fn response(&mut self, id: &str) -> Option<&mut RealtimeResponse> {
        self.responses.iter_mut().rev().find(|known| known.id == id)
    }
}

// === impl RealtimeLog ===

impl RealtimeLog {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            all: Mutex::default(),
            max,
        }
    }

    pub(crate) fn open(&self, connection: RealtimeConnection) -> Arc<RealtimeEntry> {
        let entry = Arc::new(RealtimeEntry(Mutex::new(connection)));
        let mut all = lock(&self.all);
        all.push_back(Arc::clone(&entry));
        while all.len() > self.max {
            all.pop_front();
        }
        entry
    }

    pub(crate) fn all(&self) -> Vec<RealtimeConnection> {
        let entries: Vec<_> = lock(&self.all).iter().cloned().collect();
        entries.iter().map(|entry| lock(&entry.0).clone()).collect()
    }

    pub(crate) fn forget(&self) {
        lock(&self.all).clear();
    }
}

// === impl RealtimeEntry ===

impl RealtimeEntry {
    pub(crate) fn note<T>(&self, write: impl FnOnce(&mut RealtimeConnection) -> T) -> T {
        write(&mut lock(&self.0))
    }
}

/// Plain data: what was being written while a thread died is still the best there is.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
