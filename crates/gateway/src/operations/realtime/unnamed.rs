//! A transcription session whose request names no model: `intent=transcription`. Its first update does, and nothing is
//! held or opened before that: the channel is one that serves the transcriber.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::connection::{FirstFrame, converse, open};
use super::request::{Realtime, TRANSCRIBER, TRANSCRIPTION};
use super::turns::Turns;
use super::{PendingClient, refuse_by_close};
use crate::error::{ApiError, ErrorCode};
use crate::response::Responder;
use crate::websocket::{
    ConnectionClock, ConnectionDue, LOOK, SWITCH_WAIT, Socket, close_code, error_event,
};

/// A client's update that names its transcriber.
struct NamedUpdate {
    model: String,
    text: String,
}

/// Waits for the transcriber, then opens the connection to it.
pub(super) async fn run(
    turns: Turns,
    mut operation: Realtime,
    client: PendingClient,
    responder: Responder,
) {
    let Some(mut socket) = client.switch(responder).await else {
        return;
    };
    let update = match first_update(&turns, &mut socket).await {
        Ok(Some(update)) => update,
        Ok(None) => return,
        Err(error) => return refuse(&turns, socket, error).await,
    };
    operation.model = update.model;
    match open(&turns, operation).await {
        Ok(opened) => converse(turns, opened, socket, FirstFrame::Update(update.text)).await,
        Err(error) => refuse(&turns, socket, error).await,
    }
}

/// The update that names the transcriber; none if the client goes before.
async fn first_update(turns: &Turns, socket: &mut Socket) -> Result<Option<NamedUpdate>, ApiError> {
    let greeting = Message::text(greeting(turns));
    if socket.send(greeting).await.is_err() {
        return Ok(None);
    }
    let mut clock = ConnectionClock::start();
    loop {
        let message = match tokio::time::timeout(LOOK, socket.next()).await {
            Err(_) => match clock.due(&turns.services.settings.realtime) {
                ConnectionDue::ClientGone => return Ok(None),
                ConnectionDue::Expired => {
                    return Err(ApiError::new(
                        SESSION_EXPIRED,
                        "no update named a transcriber",
                    ));
                }
                ConnectionDue::Ping => {
                    if socket.send(Message::Ping(Vec::new().into())).await.is_err() {
                        return Ok(None);
                    }
                    continue;
                }
                ConnectionDue::Nothing if turns.services.is_draining() => {
                    let text = "this node is shutting down; connect anew";
                    return Err(ApiError::new(ErrorCode::Draining, text));
                }
                ConnectionDue::Nothing => continue,
            },
            Ok(Some(Ok(message))) => message,
            Ok(Some(Err(_)) | None) => return Ok(None),
        };
        clock.received(message.is_text());
        let text = match message {
            Message::Text(text) => text,
            Message::Close(_) => return Ok(None),
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {
                continue;
            }
        };
        if let Some(model) = transcriber(text.as_str()) {
            let text = text.as_str().to_owned();
            return Ok(Some(NamedUpdate { model, text }));
        }
        let text = "name a transcriber in `session.audio.input.transcription.model` first";
        let error = ApiError::new(ErrorCode::Invalid("invalid_event"), text);
        let context = &turns.context;
        let event = error_event(&error, context.id, context.error_pages());
        if socket.send(Message::text(event)).await.is_err() {
            return Ok(None);
        }
    }
}

/// The code of a session that ended by a limit.
const SESSION_EXPIRED: ErrorCode = ErrorCode::Invalid("session_expired");

/// The transcriber that an update names.
fn transcriber(text: &str) -> Option<String> {
    let event: Value = serde_json::from_str(text).ok()?;
    let is_update = event
        .get("type")
        .is_some_and(|kind| kind == "session.update");
    let model = event.get("session")?.pointer(TRANSCRIBER)?.as_str()?;
    (is_update && !model.is_empty()).then(|| model.to_owned())
}

/// Clients wait for it before they say anything. The upstream's own is not passed on later.
fn greeting(turns: &Turns) -> String {
    let id = turns.context.id.uuid().simple();
    let longest = turns.services.settings.realtime.longest.as_secs();
    let ends = turns.services.now();
    let ends = ends.plus_seconds(i64::try_from(longest).unwrap_or(i64::MAX));
    json!({
        "type": "session.created",
        "event_id": format!("event_{id}"),
        "session": {
            "type": TRANSCRIPTION,
            "object": "realtime.transcription_session",
            "id": format!("sess_{id}"),
            "expires_at": ends.seconds(),
            "include": null,
            "audio": { "input": {
                "format": { "type": "audio/pcm", "rate": 24_000 },
                "transcription": null,
                "noise_reduction": null,
            } },
        },
    })
    .to_string()
}

async fn refuse(turns: &Turns, socket: Socket, error: ApiError) {
    let context = &turns.context;
    context.failed(&error);
    let event = error_event(&error, context.id, context.error_pages());
    let code = if error.kind == SESSION_EXPIRED {
        CloseCode::Away
    } else {
        close_code(&error.kind)
    };
    let refused = refuse_by_close(socket, event, code, &error.message);
    drop(tokio::time::timeout(SWITCH_WAIT, refused).await);
}
