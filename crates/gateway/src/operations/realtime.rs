//! `GET /v1/realtime`: OpenAI's realtime protocol, relayed frame by frame. A connection is accepted once and executes
//! many times: each response and each transcription is a turn with its own id, hold and charge.

mod charged_time;
pub(crate) mod client_secret;
mod connection;
mod from_client;
mod from_upstream;
mod quote;
mod request;
mod session_update;
mod turn;
mod turn_bound;
mod turns;
mod unnamed;

use std::sync::Arc;

use hyper::upgrade::OnUpgrade;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use futures_util::{SinkExt as _, StreamExt as _};

pub(crate) use self::quote::{is_realtime, quote_realtime};
use self::request::{Realtime, take_protocol_key};
use crate::detach::{detach, respond};
use crate::error::{ApiError, ErrorCode};
use crate::operation::Accepted;
use crate::paid_route::PaidRequest;
use crate::pipeline::accept;
use crate::request_context::RequestContext;
use crate::response::{Responder, Response};
use crate::services::Services;
use crate::websocket::{Handshake, SWITCH_WAIT, Socket, close, close_code, error_event, socket};

/// Its name in policies and usage rows.
pub(crate) const REALTIME: &str = "realtime";
/// The sub-protocol of the interface.
const PROTOCOL: &str = "realtime";

/// A client that waits for the answer to its handshake.
struct PendingClient {
    handshake: Handshake,
    upgrade: OnUpgrade,
    /// Its key came in a sub-protocol: it sees no status, so that errors are events.
    is_browser: bool,
}

/// Accepts a connection.
pub(crate) async fn open(paid: PaidRequest<'_>) -> Result<Response, ApiError> {
    let PaidRequest {
        services,
        context,
        mut request,
    } = paid;
    let Some(handshake) = Handshake::read(request.headers()) else {
        let text = "connect to this path with a WebSocket over HTTP/1.1";
        return Err(ApiError::new(ErrorCode::Invalid("upgrade_required"), text));
    };
    let client = PendingClient {
        is_browser: take_protocol_key(&mut request, &handshake.protocols),
        upgrade: hyper::upgrade::on(&mut request),
        handshake,
    };
    let accepted = match client_secret::of_request(services, &request) {
        Ok(secret) => accept::<Realtime>(services, context, secret, request).await,
        Err(error) => Err(error),
    };
    match accepted {
        Ok(accepted) => {
            let Accepted {
                caller,
                headers,
                operation,
                idempotency: _,
                permit,
            } = accepted;
            let (owned, context) = (Arc::clone(services), Arc::clone(context));
            let run = move |responder| {
                let turns = turns::Turns::new(owned, context, caller, &headers);
                connection::run(turns, operation, client, responder)
            };
            detach(services, permit, run).await
        }
        Err(error) if client.is_browser => Ok(client.refuse_by_event(services, context, error)),
        Err(error) => Err(error),
    }
}

impl PendingClient {
    /// Switches to the WebSocket. None if the client has gone.
    async fn switch(self, responder: Responder) -> Option<Socket> {
        let Self {
            handshake, upgrade, ..
        } = self;
        handshake.switch(upgrade, Some(PROTOCOL), responder).await
    }

    /// Refuses a connection that was accepted.
    fn refuse(self, turns: &turns::Turns, responder: Responder, error: ApiError) {
        if self.is_browser {
            let response = self.refuse_by_event(&turns.services, &turns.context, error);
            respond(responder, Ok(response));
        } else {
            respond(responder, Err(error));
        }
    }

    /// A browser learns of no status: it gets the error as an event, then a close code.
    fn refuse_by_event(
        self,
        services: &Services,
        context: &RequestContext,
        error: ApiError,
    ) -> Response {
        context.failed(&error);
        let response = self.handshake.response(Some(PROTOCOL));
        let event = error_event(&error, context.id, context.error_pages());
        let (code, upgrade) = (close_code(&error.kind), self.upgrade);
        services.tasks.spawn(async move {
            let refused = async {
                let Ok(connection) = upgrade.await else {
                    return;
                };
                let socket = socket(connection, Role::Server);
                refuse_by_close(socket, event, code, &error.message).await;
            };
            drop(tokio::time::timeout(SWITCH_WAIT, refused).await);
        });
        response
    }
}

/// The error as an event, then the close code.
async fn refuse_by_close(socket: Socket, event: String, code: CloseCode, reason: &str) {
    let (mut writer, mut reader) = socket.split();
    drop(writer.send(Message::text(event)).await);
    close(&mut writer, code, reason).await;
    while reader.next().await.is_some_and(|read| read.is_ok()) {}
}
