//! WebSockets on both sides: handshakes, bounds of buffers and frames, the clock of a connection, close codes. What
//! frames mean is the operation's.

mod frame_stream;
mod socket;

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::SinkExt as _;
use futures_util::stream::{SplitSink, SplitStream};
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};
use trunkline_types::RequestId;

use crate::detach::respond;
use crate::error::{ApiError, ErrorCode};
use crate::response::{Responder, Response, ResponseBody};
use crate::settings::RealtimeSettings;

pub(crate) use self::socket::Socket;

/// The largest message: 15 MiB of audio as base64, and what stands around it.
const MAX_MESSAGE_BYTES: usize = 24 << 20;
/// The close code of a server that is overloaded.
const TRY_LATER: u16 = 1_013;
/// How long a client may take to switch, and to take an error.
pub(crate) const SWITCH_WAIT: Duration = Duration::from_secs(10);
/// Between two looks at the clock of a connection.
pub(crate) const LOOK: Duration = Duration::from_millis(500);
/// How long the other side has to answer a close.
pub(crate) const CLOSE_WAIT: Duration = Duration::from_secs(2);
/// How long a frame may wait for its reader.
const WRITE_WAIT: Duration = Duration::from_secs(30);
/// Pings without any frame after which a client has gone.
const LOST_PINGS: u32 = 3;
const VERSION: &str = "13";
const PROTOCOL: &str = "websocket";

pub(crate) type SocketReader = SplitStream<Socket>;
pub(crate) type SocketWriter = SplitSink<Socket, Message>;

/// A client's handshake.
#[derive(Debug, Clone)]
pub(crate) struct Handshake {
    accept: String,
    /// The sub-protocols that it offers.
    pub(crate) protocols: Vec<String>,
}

/// When a connection began, and when something came last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionClock {
    began: Instant,
    pinged: Instant,
    /// The last frame of the client, answers to pings included.
    received: Instant,
    /// The last event of either side.
    active: Instant,
}

/// What the clock of a connection asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionDue {
    Nothing,
    Ping,
    /// The client answers no ping.
    ClientGone,
    /// It has lasted too long, or nothing has happened for long.
    Expired,
}

// === impl ConnectionClock ===

impl ConnectionClock {
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        Self {
            began: now,
            pinged: now,
            received: now,
            active: now,
        }
    }

    /// The client has sent a frame. An answer to a ping is no event.
    pub(crate) fn received(&mut self, is_event: bool) {
        self.received = Instant::now();
        if is_event {
            self.active = self.received;
        }
    }

    /// An event goes to the client.
    pub(crate) fn active(&mut self) {
        self.active = Instant::now();
    }

    pub(crate) fn due(&mut self, settings: &RealtimeSettings) -> ConnectionDue {
        if self.received.elapsed() > settings.ping.saturating_mul(LOST_PINGS) {
            ConnectionDue::ClientGone
        } else if self.began.elapsed() > settings.longest || self.active.elapsed() > settings.idle {
            ConnectionDue::Expired
        } else if self.pinged.elapsed() >= settings.ping {
            self.pinged = Instant::now();
            ConnectionDue::Ping
        } else {
            ConnectionDue::Nothing
        }
    }
}

// === impl Handshake ===

impl Handshake {
    /// Reads a handshake; none if the request is no upgrade to a WebSocket.
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let has = |name, word: &str| {
            let values = headers.get_all(name).iter();
            let mut words = values
                .filter_map(|value| value.to_str().ok())
                .flat_map(list);
            words.any(|one| one.eq_ignore_ascii_case(word))
        };
        if !has(UPGRADE, PROTOCOL)
            || !has(CONNECTION, "upgrade")
            || !has(SEC_WEBSOCKET_VERSION, VERSION)
        {
            return None;
        }
        let key = headers.get(SEC_WEBSOCKET_KEY)?;
        let protocols = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
        let protocols = protocols.filter_map(|value| value.to_str().ok());
        Some(Self {
            accept: derive_accept_key(key.as_bytes()),
            protocols: protocols.flat_map(list).map(ToOwned::to_owned).collect(),
        })
    }

    /// The response that hands the connection over, with one of the offered sub-protocols.
    pub(crate) fn response(&self, protocol: Option<&'static str>) -> Response {
        let mut response = Response::new(ResponseBody::Whole(None));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(UPGRADE, HeaderValue::from_static(PROTOCOL));
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        if let Ok(accept) = HeaderValue::from_str(&self.accept) {
            headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
        }
        let offered = protocol.filter(|one| self.protocols.iter().any(|offered| offered == one));
        if let Some(protocol) = offered {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
        }
        response
    }

    /// Switches to the WebSocket. None if the client has gone.
    pub(crate) async fn switch(
        &self,
        upgrade: OnUpgrade,
        protocol: Option<&'static str>,
        responder: Responder,
    ) -> Option<Socket> {
        respond(responder, Ok(self.response(protocol)));
        let connection = tokio::time::timeout(SWITCH_WAIT, upgrade).await;
        let connection = connection.ok()?.ok()?;
        Some(socket(connection, Role::Server))
    }
}

fn list(value: &str) -> impl Iterator<Item = &str> {
    value
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
}

/// Writes our own handshake to an upstream, and returns what it must accept it with.
pub(crate) fn offer(headers: &mut HeaderMap) -> Option<String> {
    let key = generate_key();
    headers.insert(UPGRADE, HeaderValue::from_static(PROTOCOL));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static(VERSION));
    headers.insert(SEC_WEBSOCKET_KEY, HeaderValue::from_str(&key).ok()?);
    Some(derive_accept_key(key.as_bytes()))
}

/// Whether an upstream has accepted the handshake that was offered.
pub(crate) fn is_accepted(headers: &HeaderMap, accept: &str) -> bool {
    headers
        .get(SEC_WEBSOCKET_ACCEPT)
        .is_some_and(|value| value == accept)
}

/// The WebSocket on a connection that was handed over.
pub(crate) fn socket(connection: Upgraded, role: Role) -> Socket {
    Socket::new(TokioIo::new(connection), role)
}

/// The close code of an error. Clients connect anew after 1011, 1012 and 1013, so an end that another connection
/// would not change has 1008.
pub(crate) fn close_code(error: &ErrorCode) -> CloseCode {
    if *error == ErrorCode::Draining {
        CloseCode::Restart
    } else if *error == ErrorCode::TooLarge {
        CloseCode::Size
    } else if !error.is_retryable() {
        CloseCode::Policy
    } else if error.status() == StatusCode::TOO_MANY_REQUESTS || *error == ErrorCode::Overloaded {
        CloseCode::from(TRY_LATER)
    } else {
        CloseCode::Error
    }
}

/// The fields of an error in an event.
pub(crate) fn error_fields(
    error: &ApiError,
    request: RequestId,
    pages: &str,
) -> Map<String, Value> {
    let body = error.error_body(request, pages);
    let mut fields = body.extras;
    fields.insert("type".to_owned(), body.family.into());
    fields.insert("code".to_owned(), body.code.into());
    fields.insert("message".to_owned(), body.message.into());
    fields.insert("param".to_owned(), body.param.into());
    fields.insert("request_id".to_owned(), body.request_id.into());
    fields.insert("doc_url".to_owned(), body.doc_url.into());
    fields
}

/// An error as an event.
pub(crate) fn error_event(error: &ApiError, request: RequestId, pages: &str) -> String {
    let mut fields = error_fields(error, request, pages);
    fields.insert("event_id".to_owned(), Value::Null);
    let event = format!("event_{}", request.uuid().simple());
    json!({ "type": "error", "event_id": event, "error": fields }).to_string()
}

/// Sends a frame. False if its reader has gone, or takes nothing for too long.
pub(crate) async fn send(writer: &mut SocketWriter, message: Message) -> bool {
    let mut sending = pin!(writer.send(message));
    // Nearly every frame fits the buffers of its connection at once: only one that does not has a timer.
    let first = poll_fn(|context| Poll::Ready(sending.as_mut().poll(context))).await;
    match first {
        Poll::Ready(sent) => sent.is_ok(),
        Poll::Pending => {
            let sent = tokio::time::timeout(WRITE_WAIT, sending).await;
            matches!(sent, Ok(Ok(())))
        }
    }
}

/// Closes with a code and the beginning of a text.
pub(crate) async fn close(writer: &mut SocketWriter, code: CloseCode, reason: &str) {
    // A close frame has at most 123 bytes of text.
    let mut reason = reason.to_owned();
    while reason.len() > 120 {
        reason.pop();
    }
    let frame = CloseFrame {
        code,
        reason: reason.into(),
    };
    drop(writer.send(Message::Close(Some(frame))).await);
    drop(writer.close().await);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sub_protocol_is_chosen_only_when_it_was_offered() {
        let mut headers = HeaderMap::new();
        assert!(Handshake::read(&headers).is_none());
        headers.insert(UPGRADE, HeaderValue::from_static("WebSocket"));
        headers.insert(CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        // RFC 6455, 1.3.
        let key = HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ==");
        headers.insert(SEC_WEBSOCKET_KEY, key);
        let handshake = Handshake::read(&headers).unwrap();
        let response = handshake.response(Some("realtime"));
        assert!(!response.headers().contains_key(SEC_WEBSOCKET_PROTOCOL));
        assert!(is_accepted(
            response.headers(),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        ));
        let offered = HeaderValue::from_static("realtime, openai-insecure-api-key.sk-1");
        headers.insert(SEC_WEBSOCKET_PROTOCOL, offered);
        let response = Handshake::read(&headers)
            .unwrap()
            .response(Some("realtime"));
        assert_eq!(response.headers()[SEC_WEBSOCKET_PROTOCOL], "realtime");
    }
}
