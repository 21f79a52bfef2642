//! The socket of a session: messages in, frames out, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::Error as SocketError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};

use super::engine::Engine;
use super::event_error::EventError;
use super::outbox::{Frame, Outgoing};
use super::responses_socket;
use super::vendor::Vendor;
use crate::clock;
use crate::headers;
use crate::realtime_log::{RealtimeConnection, RealtimeEnd, RealtimeEntry, RealtimeWork};
use crate::refusal::Refusal;
use crate::request::Object;
use crate::shared_state::SharedState;

/// A connection that becomes a WebSocket.
pub(crate) struct Connection {
    pub(super) upgrade: OnUpgrade,
    pub(super) peer: Peer,
}

/// Who connects, and to what.
pub(super) struct Peer {
    pub(super) state: Arc<SharedState>,
    pub(super) vendor: Vendor,
    pub(super) work: RealtimeWork,
    pub(super) model: String,
    pub(super) key: String,
    pub(super) number: u64,
    /// What the maker of its secret set.
    pub(super) preset: Option<Object>,
    /// Why it ends at once.
    pub(super) refusal: Option<Refusal>,
}

pub(super) type Socket = WebSocketStream<TokioIo<Upgraded>>;

const READ_BUFFER_BYTES: usize = 16 * 1024;
/// Above 15 MiB of audio as base64.
const MAX_MESSAGE_BYTES: usize = 24 * 1024 * 1024;
const MAX_WRITE_BUFFER_BYTES: usize = 256 * 1024 * 1024;
/// How long a client may take over one frame.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the client's close is waited for.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Events of a response that are sent before the client is read, so that a short one is never cut.
const MAX_BURST: u32 = 256;
/// What the vendor closes with where the key is wrong. [unverified]
const REFUSED_CODE: u16 = 3000;
const TOO_LARGE_CODE: u16 = 1009;

/// Serves a connection to its end.
pub(crate) async fn run(connection: Connection) {
    let Connection { upgrade, peer } = connection;
    // A client that left before the upgrade was never connected.
    let Ok(upgraded) = upgrade.await else {
        return;
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES)
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    let stream = TokioIo::new(upgraded);
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let session = peer.state.id("sess_", peer.number);
    let entry = peer.state.realtime.open(record(&peer, &session));
    let end = if peer.work == RealtimeWork::Responses && peer.refusal.is_none() {
        Box::pin(responses_socket::converse(&mut socket, &peer, &entry)).await
    } else {
        let mut engine = opened(&peer, session, &entry);
        Box::pin(converse(&mut socket, &mut engine, &entry)).await
    };
    entry.note(|connection| {
        connection.end = Some(end);
        connection.closed_at_micros = Some(clock::now_micros());
    });
}

/// A session with its greeting, or with the refusal that ends it.
fn opened(peer: &Peer, session: String, entry: &Arc<RealtimeEntry>) -> Engine {
    let mut engine = Engine::new(peer, session, Arc::clone(entry));
    match &peer.refusal {
        Some(refusal) => {
            engine.send_error(&EventError::refused(refusal), None);
            let frame = Frame::Close {
                code: REFUSED_CODE,
                reason: "invalid_request_error",
            };
            engine.outbox.frame(frame, None);
        }
        None => engine.open(peer.preset.as_ref()),
    }
    engine
}

fn record(peer: &Peer, session: &str) -> RealtimeConnection {
    RealtimeConnection {
        number: peer.number,
        vendor: peer.vendor.name(),
        work: peer.work,
        model: peer.model.clone(),
        key: headers::last_four(&peer.key),
        session: session.to_owned(),
        frames_in: 0,
        frames_out: 0,
        events_in: Vec::new(),
        audio_in_millis: 0,
        responses: Vec::new(),
        transcriptions: Vec::new(),
        errors: Vec::new(),
        end: None,
        opened_at_micros: clock::now_micros(),
        closed_at_micros: None,
    }
}

/// Reads and writes until one side ends it.
async fn converse(socket: &mut Socket, engine: &mut Engine, entry: &RealtimeEntry) -> RealtimeEnd {
    let mut burst = 0_u32;
    loop {
        while let Some(outgoing) = engine.outbox.next() {
            if let Some(end) = send(socket, outgoing, entry).await {
                return end;
            }
        }
        let now = Instant::now();
        if burst < MAX_BURST && engine.is_due(now) {
            burst = burst.saturating_add(1);
            engine.tick(now);
            continue;
        }
        burst = 0;
        tokio::select! {
            message = socket.next() => {
                if let Some(end) = receive(socket, engine, entry, message).await {
                    return end;
                }
            }
            () = sleep_until(engine.wake()) => engine.tick(Instant::now()),
        }
    }
}

/// Takes one message; how the connection ended, if it did.
async fn receive(
    socket: &mut Socket,
    engine: &mut Engine,
    entry: &RealtimeEntry,
    message: Option<Result<Message, SocketError>>,
) -> Option<RealtimeEnd> {
    match message {
        Some(Ok(Message::Text(text))) => {
            entry.note(|connection| connection.frames_in = connection.frames_in.saturating_add(1));
            engine.receive(text.as_str());
            None
        }
        Some(Ok(Message::Binary(_))) => {
            entry.note(|connection| connection.frames_in = connection.frames_in.saturating_add(1));
            let message = "Events are text messages.";
            engine.send_error(&EventError::new("invalid_event", message), None);
            None
        }
        other => receive_end(socket, other).await,
    }
}

/// What a message that is no event means for the connection: how it ended, if it did.
pub(super) async fn receive_end(
    socket: &mut Socket,
    message: Option<Result<Message, SocketError>>,
) -> Option<RealtimeEnd> {
    match message {
        Some(Ok(Message::Close(frame))) => {
            drain(socket).await;
            let code = frame.map(|frame| frame.code.into());
            Some(RealtimeEnd::ClientClosed(code))
        }
        Some(Err(SocketError::Capacity(_))) => {
            close(socket, TOO_LARGE_CODE, "message too large").await;
            Some(RealtimeEnd::Closed(TOO_LARGE_CODE))
        }
        // The socket answers pings by itself.
        Some(Ok(_)) => None,
        Some(Err(_)) | None => Some(RealtimeEnd::ClientLeft),
    }
}

/// Sends one frame and writes down what it means; how the connection ended, if it did.
async fn send(
    socket: &mut Socket,
    outgoing: Outgoing,
    entry: &RealtimeEntry,
) -> Option<RealtimeEnd> {
    let message = match outgoing.frame {
        Frame::Text(text) => Message::text(text),
        Frame::Binary(bytes) => Message::binary(bytes),
        Frame::Close { code, reason } => {
            close(socket, code, reason).await;
            return Some(RealtimeEnd::Closed(code));
        }
        Frame::Cut => return Some(RealtimeEnd::Cut),
    };
    let Ok(Ok(())) = timeout(WRITE_TIMEOUT, socket.send(message)).await else {
        return Some(RealtimeEnd::ClientLeft);
    };
    entry.note(|connection| {
        connection.frames_out = connection.frames_out.saturating_add(1);
        if let Some(note) = outgoing.note {
            note.write(connection);
        }
    });
    None
}

pub(super) async fn close(socket: &mut Socket, code: u16, reason: &'static str) {
    let frame = CloseFrame {
        code: CloseCode::from(code),
        reason: reason.into(),
    };
    // A client that is gone needs no close.
    if socket.close(Some(frame)).await.is_ok() {
        drain(socket).await;
    }
}

/// Reads to the end of a connection that is being closed.
async fn drain(socket: &mut Socket) {
    let rest = async { while let Some(Ok(_)) = socket.next().await {} };
    // One that does not close is left.
    timeout(CLOSE_TIMEOUT, rest).await.unwrap_or_default();
}
