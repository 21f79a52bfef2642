//! What waits to be sent, and what it means for the log once it is handed to the socket.

use std::collections::VecDeque;

use serde_json::Value;

use crate::realtime_log::{RealtimeConnection, RealtimeTranscription, RealtimeUsage};

#[derive(Debug)]
pub(super) enum Frame {
    Text(String),
    Binary(Vec<u8>),
    Close {
        code: u16,
        reason: &'static str,
    },
    /// The connection ends without a close frame.
    Cut,
}

/// A frame and what it means.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) frame: Frame,
    pub(super) note: Option<Note>,
}

/// What is written down when a frame was sent.
#[derive(Debug)]
pub(super) enum Note {
    Response(ResponseNote),
    Transcription(RealtimeTranscription),
    Error(String),
}

/// A response as it stands behind a frame.
#[derive(Clone, Debug)]
pub(super) struct ResponseNote {
    pub(super) id: String,
    pub(super) usage: RealtimeUsage,
    pub(super) audio_millis: u64,
    pub(super) end: Option<ResponseEnd>,
}

/// What `response.done` says.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResponseEnd {
    pub(super) status: &'static str,
    pub(super) reason: Option<&'static str>,
    pub(super) reported: Option<RealtimeUsage>,
    /// Whether the event is sent at all.
    pub(super) is_sent: bool,
}

#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<Outgoing>,
}

// === impl Outbox ===

impl Outbox {
    pub(super) fn event(&mut self, event: &Value, note: Option<Note>) {
        self.frame(Frame::Text(event.to_string()), note);
    }

    pub(super) fn frame(&mut self, frame: Frame, note: Option<Note>) {
        self.waiting.push_back(Outgoing { frame, note });
    }

    pub(super) fn next(&mut self) -> Option<Outgoing> {
        self.waiting.pop_front()
    }
}

// === impl Note ===

impl Note {
    pub(super) fn write(self, connection: &mut RealtimeConnection) {
        match self {
            Self::Error(code) => connection.add_error(&code),
            Self::Transcription(transcription) => connection.transcriptions.push(transcription),
            Self::Response(note) => {
                if let Some(response) = connection.response(&note.id) {
                    response.usage = note.usage;
                    response.audio_millis = note.audio_millis;
                    if let Some(end) = note.end {
                        response.status = Some(end.status);
                        response.reason = end.reason;
                        response.reported.extend(end.reported);
                        let times = response.done_events;
                        response.done_events = times.saturating_add(u64::from(end.is_sent));
                    }
                }
            }
        }
    }
}
