//! Responses over WebSocket: one socket, a message for each response, and the events of its stream as
//! messages. Each message is a request of its own in the log.
//!
//! Messages of one `stream_id` are answered in turn, those of different ones side by side.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::protocol::Message;

use super::connection::{Peer, Socket, close, receive_end};
use super::vendor::Vendor;
use crate::realtime_log::{RealtimeEnd, RealtimeEntry};
use crate::recorded_request::RecordedRequest;
use crate::request::Object;
use crate::responses::SocketResponses;
use crate::responses_api;
use crate::scripted_body::VendorResponse;
use crate::shared_state::SharedState;

/// What the lanes of a connection share.
#[derive(Clone)]
struct Lane {
    state: Arc<SharedState>,
    key: String,
    path: &'static str,
    kept: SocketResponses,
    answers: mpsc::Sender<Answer>,
}

/// One message of a client.
struct Turn {
    stream_id: Option<String>,
    body: Object,
}

enum Answer {
    Text(String),
    /// The connection ends without a close frame.
    Cut,
}

/// The lane was cut, or the connection is gone.
struct LaneOver;

/// Messages that may wait in one lane, and answers that may wait for the socket.
const MAX_WAITING: usize = 64;
const MAX_LANES: usize = 16;
const EXPIRED_CODE: u16 = 1001;

/// Serves such a connection to its end.
pub(super) async fn converse(
    socket: &mut Socket,
    peer: &Peer,
    entry: &RealtimeEntry,
) -> RealtimeEnd {
    let (answers, mut answered) = mpsc::channel(MAX_WAITING);
    let path = match peer.vendor {
        Vendor::Azure => "/openai/v1/responses",
        Vendor::OpenAi | Vendor::Xai | Vendor::Zhipu | Vendor::Alibaba => "/v1/responses",
    };
    let lane = Lane {
        state: Arc::clone(&peer.state),
        key: peer.key.clone(),
        path,
        kept: SocketResponses::default(),
        answers,
    };
    // They end with the connection.
    let mut tasks = JoinSet::new();
    let mut lanes: HashMap<Option<String>, mpsc::Sender<Turn>> = HashMap::new();
    let lasts = Duration::from_millis(peer.state.realtime_settings.session_millis);
    let now = Instant::now();
    let expires = now.checked_add(lasts).unwrap_or(now);
    loop {
        let answer = tokio::select! {
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    entry.note(|log| log.frames_in = log.frames_in.saturating_add(1));
                    let taken = read(&text)
                        .and_then(|turn| queue(&mut lanes, &mut tasks, &lane, turn));
                    match taken {
                        Ok(()) => continue,
                        Err(error) => Answer::Text(error.to_string()),
                    }
                }
                other => match receive_end(socket, other).await {
                    Some(end) => return end,
                    None => continue,
                },
            },
            Some(answer) = answered.recv() => answer,
            () = sleep_until(expires) => {
                let message = "The connection hit its maximum duration of 60 minutes.";
                let code = "websocket_connection_limit_reached";
                let error = refused(None, code, message).to_string();
                // A client that is gone needs no reason.
                socket.send(Message::text(error)).await.unwrap_or_default();
                close(socket, EXPIRED_CODE, "maximum duration").await;
                return RealtimeEnd::Closed(EXPIRED_CODE);
            }
        };
        match answer {
            Answer::Cut => return RealtimeEnd::Cut,
            Answer::Text(text) => {
                if socket.send(Message::text(text)).await.is_err() {
                    return RealtimeEnd::ClientLeft;
                }
                entry.note(|log| log.frames_out = log.frames_out.saturating_add(1));
            }
        }
    }
}

/// Reads a message; otherwise what it is answered with.
fn read(text: &str) -> Result<Turn, Value> {
    let Ok(Value::Object(mut body)) = serde_json::from_str(text) else {
        return Err(refused(
            None,
            "invalid_json",
            "The message is not a JSON object.",
        ));
    };
    let stream_id = match body.remove("stream_id") {
        Some(Value::String(id)) => Some(id),
        Some(_) | None => None,
    };
    let kind = body.remove("type");
    if kind.as_ref().and_then(Value::as_str) != Some("response.create") {
        let message = "The type of a message is response.create.";
        return Err(refused(stream_id.as_deref(), "invalid_value", message));
    }
    body.remove("background");
    body.insert("stream".to_owned(), Value::Bool(true));
    Ok(Turn { stream_id, body })
}

/// Hands a message to its lane; otherwise what it is answered with.
fn queue(
    lanes: &mut HashMap<Option<String>, mpsc::Sender<Turn>>,
    tasks: &mut JoinSet<()>,
    lane: &Lane,
    turn: Turn,
) -> Result<(), Value> {
    let stream_id = turn.stream_id.clone();
    if !lanes.contains_key(&stream_id) && lanes.len() >= MAX_LANES {
        let message = "There are too many streams on this connection.";
        let code = "websocket_stream_limit_reached";
        return Err(refused(stream_id.as_deref(), code, message));
    }
    let sender = lanes.entry(stream_id.clone()).or_insert_with(|| {
        let (sender, turns) = mpsc::channel(MAX_WAITING);
        tasks.spawn(lane.clone().run(turns));
        sender
    });
    sender.try_send(turn).map_err(|_| {
        let message = "Too many messages wait on this stream.";
        refused(
            stream_id.as_deref(),
            "websocket_stream_limit_reached",
            message,
        )
    })
}

fn refused(stream_id: Option<&str>, code: &str, message: &str) -> Value {
    let error = json!({
        "type": "invalid_request_error",
        "code": code,
        "message": message,
        "param": null,
    });
    error_event(stream_id, 400, error)
}

fn error_event(stream_id: Option<&str>, status: u16, error: Value) -> Value {
    let mut event = json!({"type": "error", "status": status, "error": error});
    if let (Some(id), Some(fields)) = (stream_id, event.as_object_mut()) {
        fields.insert("stream_id".to_owned(), Value::from(id));
    }
    event
}

// === impl Lane ===

impl Lane {
    async fn run(self, mut turns: mpsc::Receiver<Turn>) {
        while let Some(turn) = turns.recv().await {
            if self.answer(turn).await.is_err() {
                return;
            }
        }
    }

    async fn answer(&self, turn: Turn) -> Result<(), LaneOver> {
        let Some(parts) = self.parts() else {
            return Err(LaneOver);
        };
        let body = Bytes::from(Value::Object(turn.body).to_string());
        let recorded = RecordedRequest::open(Arc::clone(&self.state), parts, body);
        match responses_api::serve(recorded, "").await {
            Ok(response) => self.relay(response, turn.stream_id.as_deref()).await,
            Err(_) => self.cut().await,
        }
    }

    /// The head of the request that a message stands for.
    fn parts(&self) -> Option<Parts> {
        let request = Request::builder().method(Method::POST).uri(self.path);
        let (mut parts, ()) = request.body(()).ok()?.into_parts();
        let key = HeaderValue::from_str(&format!("Bearer {}", self.key)).ok()?;
        parts.headers.insert(AUTHORIZATION, key);
        let json = HeaderValue::from_static("application/json");
        parts.headers.insert(CONTENT_TYPE, json);
        parts.extensions.insert(self.kept.clone());
        Some(parts)
    }

    /// Sends the events of a stream, or the error that came in its place.
    async fn relay(
        &self,
        response: VendorResponse,
        stream_id: Option<&str>,
    ) -> Result<(), LaneOver> {
        let status = response.status().as_u16();
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                return self.cut().await;
            };
            if let Ok(data) = frame.into_data() {
                bytes.extend_from_slice(&data);
            }
            if status == 200 {
                // A comment of the stream is no message.
                while let Some(event) = next_event(&mut bytes) {
                    if event.is_empty() {
                        continue;
                    }
                    self.send(with_stream_id(&event, stream_id)).await?;
                }
            }
        }
        let rest: Option<Value> = serde_json::from_slice(&bytes).ok();
        if let Some(error) = rest.and_then(|mut rest| Some(rest.get_mut("error")?.take())) {
            let event = error_event(stream_id, status, error);
            self.send(event.to_string()).await?;
        }
        Ok(())
    }

    async fn cut(&self) -> Result<(), LaneOver> {
        let sent = self.answers.send(Answer::Cut).await;
        sent.map_err(|_| LaneOver)?;
        Err(LaneOver)
    }

    async fn send(&self, text: String) -> Result<(), LaneOver> {
        let sent = self.answers.send(Answer::Text(text)).await;
        sent.map_err(|_| LaneOver)
    }
}

/// Takes the data of the next event of a stream, if it is whole.
fn next_event(bytes: &mut Vec<u8>) -> Option<String> {
    let (at, end) = match memchr::memmem::find(bytes, b"\r\n\r\n") {
        Some(at) => (at, 4),
        None => (memchr::memmem::find(bytes, b"\n\n")?, 2),
    };
    let rest = bytes.split_off(at.saturating_add(end));
    let event = std::mem::replace(bytes, rest);
    let text = String::from_utf8_lossy(&event);
    let data = text.lines().find_map(|line| line.strip_prefix("data: "));
    Some(data.unwrap_or_default().to_owned())
}

fn with_stream_id(event: &str, stream_id: Option<&str>) -> String {
    match (event.strip_prefix('{'), stream_id) {
        (Some(fields), Some(id)) => format!("{{\"stream_id\":{},{fields}", Value::from(id)),
        (_, _) => event.to_owned(),
    }
}
