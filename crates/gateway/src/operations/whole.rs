//! A whole answer that was made: charged, then handed over, and refunded if the client does not take it.

use std::borrow::Cow;

use bytes::Bytes;
use http::StatusCode;
use trunkline_types::{Money, Usage};

use crate::delivery;
use crate::detach::respond;
use crate::error::ApiError;
use crate::guardrail::AnswerExcerpt;
use crate::idempotency::StoredResponse;
use crate::operation::Settled;
use crate::priced_call::PricedCall;
use crate::request_context::{RequestContext, Tokens};
use crate::response::{
    self, Responder, Response, ResponseBody, set_cost, set_ending, set_warnings,
};
use crate::services::Services;

/// What was made, and where it goes.
pub(crate) struct Whole {
    pub(super) responder: Responder,
    pub(super) made: Option<Made>,
}

pub(super) struct Made {
    pub(super) usage: Usage,
    /// Shown in the log: what went in and what came out.
    pub(super) tokens: Tokens,
    pub(super) content_type: &'static str,
    pub(super) body: Bytes,
}

impl Whole {
    pub(super) const fn nothing(responder: Responder) -> Self {
        Self {
            responder,
            made: None,
        }
    }

    /// Nothing of it has left.
    pub(super) fn excerpt(&self) -> AnswerExcerpt<'_> {
        let body = self.made.as_ref().map(|made| made.body.as_ref());
        AnswerExcerpt::Held(Cow::Borrowed(body.unwrap_or_default()))
    }

    fn head(call: &PricedCall, made: &Made, amount: Money) -> Response {
        let mut response = response::bytes_of(StatusCode::OK, Bytes::new(), made.content_type);
        set_cost(response.headers_mut(), amount);
        set_warnings(response.headers_mut(), &call.warnings());
        set_ending(response.headers_mut(), call.sale.model.entry());
        response
    }

    pub(super) fn stored(
        &self,
        services: &Services,
        call: &PricedCall,
        amount: Money,
    ) -> Option<StoredResponse> {
        call.idempotency.as_ref()?;
        let made = self.made.as_ref()?;
        let response = Self::head(call, made, amount);
        let (account, headers) = (call.caller.account.id, response.headers());
        let mut stored = StoredResponse::begin(services, account, StatusCode::OK, headers);
        stored.add(&made.body);
        Some(stored)
    }

    /// False if the client took nothing of it.
    pub(super) async fn deliver(
        self,
        services: &Services,
        context: &RequestContext,
        call: &PricedCall,
        settled: Result<Settled, ApiError>,
    ) -> bool {
        let (settled, made) = match (settled, self.made) {
            (Ok(settled), Some(made)) => (settled, made),
            (Ok(_), None) => {
                respond(self.responder, Err(ApiError::unavailable()));
                return false;
            }
            (Err(error), _) => {
                respond(self.responder, Err(error));
                return true;
            }
        };
        let mut response = Self::head(call, &made, settled.charged);
        // What is stored is there for a client that comes back: nothing of it is refunded.
        if settled.is_stored {
            *response.body_mut() = ResponseBody::Whole(Some(made.body));
            respond(self.responder, Ok(response));
            return true;
        }
        delivery::send_acked(services, context, self.responder, response, made.body).await
    }
}
