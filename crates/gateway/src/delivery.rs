//! Delivery of what was charged. One rule for every whole answer: a client that has gone before its first
//! byte is refunded, one that has gone after it pays.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use http::header::CONTENT_LENGTH;
use tokio::sync::{mpsc, oneshot};
use trunkline_ledger::{Outcome, Refund, RefundKind};
use trunkline_types::{AccountId, RequestId};

use crate::error::ApiError;
use crate::operation::{Answer, Execution, Settled};
use crate::request_context::{RequestContext, Tokens};
use crate::response::{AckedBody, AckedChunk, Responder, Response, ResponseBody};
use crate::services::Services;
use crate::socket::PeerWatch;
use crate::step::Step;

/// Between two tries to give a charge back.
const REFUND_PAUSE: Duration = Duration::from_millis(500);
/// How long that is tried.
const REFUND_FOR: Duration = Duration::from_secs(600);

/// Delivers what was settled, and completes the call: an answer that its client must take is complete when it was
/// taken, and refunded if it was not.
pub(crate) async fn deliver<E: Execution>(
    services: &Services,
    context: &RequestContext,
    execution: &mut E,
    answer: Answer<E::Relayed>,
    settled: Result<Settled, ApiError>,
    tokens: Tokens,
) {
    let outcome = settled
        .as_ref()
        .map_or(Outcome::DatabaseAway, |_| answer.outcome);
    let charged = settled.as_ref().ok().map(|settled| settled.charged);
    let is_acked = execution.is_acked();
    if !is_acked {
        context.complete(outcome, charged, tokens);
    }
    let (request, account) = (execution.call().id, execution.call().caller.account.id);
    let delivered = execution
        .deliver(services, context, answer.relayed, settled)
        .await;
    context.step(Step::Deliver);
    if is_acked && delivered {
        context.complete(outcome, charged, tokens);
    } else if is_acked {
        refund_undelivered(services, request, account).await;
        context.complete(Outcome::ClientGone, None, tokens);
    }
}

/// The way to a body, and a look at the connection it goes to.
pub(crate) struct AckedSender {
    pub(crate) pieces: mpsc::Sender<AckedChunk>,
    pub(crate) watch: PeerWatch,
    /// A client that reads nothing for so long has gone.
    pub(crate) patience: Duration,
}

impl AckedSender {
    /// Sends one piece. False if the client did not take its first byte.
    pub(crate) async fn hand(&self, bytes: Bytes) -> bool {
        let (taken, receipt) = oneshot::channel();
        let chunk = AckedChunk { bytes, taken };
        hand_over(&self.pieces, chunk, receipt, &self.watch, self.patience).await
    }
}

/// Sends a piece that its client must take. False if it did not take its first byte; then the rest cannot
/// arrive any more.
pub(crate) async fn hand_over<T>(
    pieces: &mpsc::Sender<T>,
    piece: T,
    mut receipt: oneshot::Receiver<()>,
    watch: &PeerWatch,
    patience: Duration,
) -> bool {
    if watch.has_left().await {
        return false;
    }
    let given = async {
        pieces.send(piece).await.ok()?;
        (&mut receipt).await.ok()
    };
    if matches!(tokio::time::timeout(patience, given).await, Ok(Some(()))) {
        return true;
    }
    was_taken(receipt)
}

/// From here on it cannot be taken; it may have been a moment ago.
fn was_taken(mut receipt: oneshot::Receiver<()>) -> bool {
    receipt.close();
    receipt.try_recv().is_ok()
}

/// Sends a whole response that was charged. False if the client did not take its first byte.
pub(crate) async fn send_acked(
    services: &Services,
    context: &RequestContext,
    responder: Responder,
    mut response: Response,
    body: Bytes,
) -> bool {
    // No client asks for the first byte of nothing.
    if body.is_empty() {
        return responder.send(Ok(response)).is_ok();
    }
    let length = u64::try_from(body.len()).unwrap_or(u64::MAX);
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    let patience = services.settings.accept.reader_wait;
    let body = context.counted(body);
    if context.watch.is_there() {
        return send_at_once(responder, response, body, patience).await;
    }
    // Whether a peer that says nothing more has left shows when it was sent something: the head goes first.
    let (pieces, coming) = mpsc::channel(1);
    *response.body_mut() = ResponseBody::Acked(AckedBody::whole(coming, length));
    let out = AckedSender {
        pieces,
        watch: context.watch.clone(),
        patience,
    };
    responder.send(Ok(response)).is_ok() && out.hand(body).await
}

/// Sends head and body in one write. False if the client did not take its first byte.
async fn send_at_once(
    responder: Responder,
    mut response: Response,
    bytes: Bytes,
    patience: Duration,
) -> bool {
    let (taken, mut receipt) = oneshot::channel();
    let piece = AckedChunk { bytes, taken };
    *response.body_mut() = ResponseBody::Acked(AckedBody::ready(piece));
    if responder.send(Ok(response)).is_err() {
        return false;
    }
    let received = tokio::time::timeout(patience, &mut receipt).await;
    matches!(received, Ok(Ok(()))) || was_taken(receipt)
}

/// Refunds a charge of which nothing was delivered. Keeps trying while the ledger is unavailable.
async fn refund_undelivered(services: &Services, request: RequestId, account: AccountId) {
    let refund = Refund {
        request,
        account,
        kind: RefundKind::Undelivered,
        amount: None,
    };
    let tried = async {
        while let Err(error) = services.ledger.refund(refund.clone()).await {
            tracing::warn!(%error, request.id = %request, "refund of an undelivered response failed; retrying");
            tokio::time::sleep(REFUND_PAUSE).await;
        }
    };
    if tokio::time::timeout(REFUND_FOR, tried).await.is_err() {
        tracing::error!(request.id = %request, "refund of an undelivered response failed");
    }
}
