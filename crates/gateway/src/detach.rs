//! The one place that detaches: what answers a request outlives its handler.

use tokio::sync::oneshot;

use crate::error::ApiError;
use crate::in_flight::InFlightPermit;
use crate::response::{Responder, Response};
use crate::services::Services;

/// Runs what answers a request in a task of its own: a client that disconnects drops the handler, and what
/// an execution owns must outlive that.
pub(crate) async fn detach<F: Future<Output = ()> + Send + 'static>(
    services: &Services,
    permit: InFlightPermit,
    answer: impl FnOnce(Responder) -> F,
) -> Result<Response, ApiError> {
    let (responder, response) = oneshot::channel();
    // In a box before anything holds it: an execution is large, and each future around one copies it.
    let answering = Box::pin(answer(responder));
    services.tasks.spawn(async move {
        answering.await;
        drop(permit);
    });
    // A task that ends without a response has failed in a way that is not known.
    let response = response.await;
    response.unwrap_or_else(|_| Err(ApiError::unavailable()))
}

/// Runs one of many executions of a connection beside it: what it owns must outlive the connection.
pub(crate) fn beside<F: Future<Output = ()> + Send + 'static>(services: &Services, execution: F) {
    services.tasks.spawn(Box::pin(execution));
}

/// A client that has gone needs no response.
pub(crate) fn respond(responder: Responder, response: Result<Response, ApiError>) {
    drop(responder.send(response));
}
