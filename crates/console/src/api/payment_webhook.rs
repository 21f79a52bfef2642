//! `POST /webhooks/stripe`: events of the payment provider. The signature says who sent one; it is answered 200 when
//! it is booked, or was before, and with an error when the provider must send it again.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use http::StatusCode;
use trunkline_payments::{Booking, PaymentError};

use crate::error::{ApiError, ConsoleErrorCode};
use crate::json_body::{MAX_BODY_BYTES, too_large};
use crate::shared::Shared;

/// Where the provider sends events.
pub(crate) const PATH: &str = "/webhooks/stripe";
const SIGNATURE: &str = "stripe-signature";

pub(super) fn router() -> Router<Shared> {
    Router::new().route(PATH, post(receive))
}

async fn receive(
    State(shared): State<Shared>,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let payments = shared.payments.as_ref();
    let payments = payments.ok_or_else(|| ApiError::not_found("payment provider"))?;
    let signature = request.headers().get(SIGNATURE);
    let signature = signature.and_then(|value| value.to_str().ok());
    let signature = signature.unwrap_or_default().to_owned();
    let body = axum::body::to_bytes(request.into_body(), MAX_BODY_BYTES).await;
    let body = body.map_err(|_| too_large())?;
    let event = match payments.verify(&signature, &body, shared.clock.now()) {
        Ok(event) => event,
        Err(error) => {
            tracing::warn!(%error, "payment event rejected");
            return Err(ApiError::new(ConsoleErrorCode::Invalid, error.to_string()));
        }
    };
    match payments.book(&shared.people, &event).await {
        Ok(Booking::Done | Booking::Before | Booking::Ignored) => {
            Ok(StatusCode::OK.into_response())
        }
        Err(error @ (PaymentError::Different(_) | PaymentError::NotMoved(_))) => {
            tracing::error!(event = event.id, %error, "payment event not booked");
            Err(ApiError::new(ConsoleErrorCode::Conflict, error.to_string()))
        }
        Err(
            error @ (PaymentError::Db(_) | PaymentError::Random(_) | PaymentError::Provider(_)),
        ) => {
            tracing::warn!(event = event.id, %error, "payment event not booked; it will be sent again");
            Err(ApiError::unavailable())
        }
    }
}
