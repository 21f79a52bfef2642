//! `GET /v1/responses`: Responses over WebSocket. One socket, many turns: each `response.create` is an execution of
//! what `POST /v1/responses` executes, and the events of its stream are messages.

mod connection;
mod conversation;
mod lanes;
mod message;
mod turn;

use std::sync::{Arc, Mutex};

use http::HeaderMap;

use self::conversation::KeptResponses;
use crate::authenticate::authenticate;
use crate::caller::Caller;
use crate::detach::detach;
use crate::endpoint::RESPONSES;
use crate::error::{ApiError, ErrorCode};
use crate::headers::kept_by_connection;
use crate::in_flight::BufferPermit;
use crate::paid_route::PaidRequest;
use crate::request_context::RequestContext;
use crate::response::Response;
use crate::services::Services;
use crate::step::Step;
use crate::websocket::Handshake;

/// What the turns of a connection share.
struct Accepted {
    services: Arc<Services>,
    context: Arc<RequestContext>,
    caller: Caller,
    headers: HeaderMap,
    kept: Mutex<KeptResponses>,
    /// What is kept is memory of its account.
    kept_bytes: Mutex<BufferPermit>,
}

/// Accepts a connection.
pub(crate) async fn open(paid: PaidRequest<'_>) -> Result<Response, ApiError> {
    let PaidRequest {
        services,
        context,
        mut request,
    } = paid;
    // Clients that try this first go on with `POST` after a 426.
    let Some(handshake) = Handshake::read(request.headers()) else {
        let text = "connect with a WebSocket over HTTP/1.1, or use POST /v1/responses";
        return Err(ApiError::new(ErrorCode::NoWebSocket, text));
    };
    // Its messages are requests, parsed one by one.
    context.mark_billable(&request);
    let caller = authenticate(&services.edge, context, &request, RESPONSES.name)?;
    let permit = services.edge.acquire(caller.account.id, 0)?;
    context.step(Step::Permit);
    let upgrade = hyper::upgrade::on(&mut request);
    let (head, _) = request.into_parts();
    let in_flight = Arc::clone(&services.edge.in_flight);
    let accepted = Accepted {
        kept_bytes: Mutex::new(BufferPermit::none(in_flight, caller.account.id)),
        services: Arc::clone(services),
        context: Arc::clone(context),
        caller,
        headers: kept_by_connection(&head.headers),
        kept: Mutex::default(),
    };
    let run = move |responder| async move {
        if let Some(socket) = handshake.switch(upgrade, None, responder).await {
            connection::run(Arc::new(accepted), socket).await;
        }
    };
    detach(services, permit, run).await
}
