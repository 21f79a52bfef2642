//! `POST /v1/usage/{request_id}/refund`: returns the charge of an answer whose delivery is in doubt, because its
//! node failed right after the charge. The customer alone knows whether it came.

use http::StatusCode;
use serde_json::json;
use trunkline_edge::caller::Caller;
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_edge::response::{Response, json as answer};
use trunkline_ledger::{Refund, RefundAnswer, RefundKind, unconfirmed};
use trunkline_types::{Money, RequestId};

use crate::state::AccountApi;

pub(super) async fn refund(
    api: &AccountApi,
    caller: &Caller,
    request: &str,
) -> Result<Response, ApiError> {
    if caller.key.parent.is_some() {
        let text = "a refund needs an API key without a parent";
        return Err(ApiError::new(ErrorCode::EndpointNotAllowed, text));
    }
    let account = caller.account.id;
    let confirmed = || {
        let text = "the answer of this call was delivered, or there is no such call; only a charge whose \
                    delivery is unconfirmed can be refunded";
        ApiError::new(ErrorCode::NotFound, text)
    };
    let request: RequestId = request.parse().map_err(|_| confirmed())?;
    if !unconfirmed::is_unconfirmed(&api.data, account, request).await? {
        return Err(confirmed());
    }
    let refund = Refund {
        request,
        account,
        kind: RefundKind::Undelivered,
        amount: None,
    };
    let refunded = match api.ledger.refund(refund).await {
        Ok(RefundAnswer::Done { paid, trial }) => paid.checked_add(trial),
        Ok(RefundAnswer::Before | RefundAnswer::NothingCharged) => Ok(Money::ZERO),
        Err(error) => {
            tracing::warn!(request.id = %request, %error, "refund of an unconfirmed delivery failed");
            return Err(ApiError::unavailable());
        }
    };
    let refunded = refunded.map_err(|_| ApiError::unavailable())?;
    let body = json!({
        "object": "refund",
        "request_id": request.to_string(),
        "refunded_usd": refunded.to_string(),
    });
    Ok(answer(StatusCode::OK, &body))
}
