//! One page of social data, from its money to its delivery.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use trunkline_ledger::{CapacityClaim, Outcome, Wallets, accounts};
use trunkline_social::{Data, envelope};
use trunkline_types::{Bucket, Money, Usage};

use super::request::{SocialExecution, never_topped_up, quoted_body};
use crate::delivery;
use crate::detach::respond;
use crate::error::{ApiError, ErrorCode};
use crate::failover::Served;
use crate::guardrail::AnswerExcerpt;
use crate::headers::MAX_COST_HEADER;
use crate::idempotency::StoredResponse;
use crate::operation::{Execution, HoldPolicy, Metered, PricedOperation, RelayEnd, Settled};
use crate::priced_call::PricedCall;
use crate::rate_limit::Cost;
use crate::request_context::{RequestContext, Tokens};
use crate::reservation::{NotHeld, Reservation, insufficient_funds};
use crate::response::{Responder, bytes_of, set_cost, set_warnings};
use crate::services::Services;

/// The name of the daily number.
const CAPACITY: &str = "social";

/// Data that is not charged yet.
pub(crate) struct SocialRelayed {
    responder: Responder,
    found: Data,
}

impl PricedOperation for SocialExecution {
    fn quoted_body(&self) -> Option<Vec<u8>> {
        Some(quoted_body(&self.query).into_bytes())
    }

    fn call(&self) -> &PricedCall {
        &self.call
    }

    fn call_mut(&mut self) -> &mut PricedCall {
        &mut self.call
    }

    fn load(&self) -> Cost<'_> {
        Cost::Platform(&self.query.cell.platform.key)
    }

    fn maximum(&self) -> Result<Money, ApiError> {
        Ok(self.price.amount)
    }

    fn check_max_cost(&self, most: Money) -> Result<(), ApiError> {
        self.check_limit(most, MAX_COST_HEADER)
    }

    /// A cell that no channel serves is refused when it is asked for, as one that fails is.
    fn check_route(&self, _services: &Services) -> Result<(), ApiError> {
        Ok(())
    }
}

impl Execution for SocialExecution {
    type Relayed = SocialRelayed;

    fn is_acked(&self) -> bool {
        true
    }

    fn hold_policy(&self, services: &Services) -> Result<HoldPolicy, ApiError> {
        Ok(HoldPolicy {
            amount: self.price.amount,
            wallets: Wallets::PaidOnly,
            capacity: Some(CapacityClaim {
                name: CAPACITY.to_owned(),
                cap: services.settings.social.daily_capacity,
            }),
        })
    }

    async fn not_held(&self, services: &Services, not_held: NotHeld, required: Money) -> ApiError {
        match not_held {
            NotHeld::TooLittle(shortfall) => {
                let fix = "top up the paid balance or wait for running calls";
                insufficient_funds(shortfall, required, "this call costs", fix)
            }
            NotHeld::NeverToppedUp => never_topped_up(),
            NotHeld::CapacityReached => capacity_reached(services).await,
        }
    }

    async fn relay(
        &mut self,
        _services: &Services,
        context: &Arc<RequestContext>,
        _reservation: &mut Reservation,
        served: Served<Data>,
        responder: Responder,
    ) -> RelayEnd<SocialRelayed> {
        context.upstream_ended();
        if context.watch.is_gone() {
            return RelayEnd::ClientGone;
        }
        let relayed = SocialRelayed {
            responder,
            found: served.answer,
        };
        RelayEnd::charge(relayed, served.channel, Outcome::Complete)
    }

    fn answer_excerpt<'a>(&'a self, relayed: &'a SocialRelayed) -> AnswerExcerpt<'a> {
        let body = envelope(&self.query.cell, &relayed.found);
        AnswerExcerpt::Held(Cow::Owned(body.into()))
    }

    fn meter(
        &mut self,
        _relayed: &mut SocialRelayed,
        _outcome: Outcome,
    ) -> Result<Metered, ApiError> {
        Ok(Metered::known(
            self.price.clone(),
            Usage::unknown().with(Bucket::Calls, 1),
            Tokens::default(),
        ))
    }

    /// The channel's own book knows best; else what the source publishes.
    fn published_cost(&self) -> Option<Money> {
        Some(self.query.cell.cost.usd)
    }

    fn stored(
        &mut self,
        _services: &Services,
        _relayed: &mut SocialRelayed,
        _metered: &Metered,
    ) -> Option<StoredResponse> {
        None
    }

    async fn deliver(
        &mut self,
        services: &Services,
        context: &RequestContext,
        relayed: SocialRelayed,
        settled: Result<Settled, ApiError>,
    ) -> bool {
        let settled = match settled {
            Ok(settled) => settled,
            Err(error) => {
                respond(relayed.responder, Err(error));
                return true;
            }
        };
        if self.page.is_some() {
            return self.deliver_page(relayed.found, settled.charged).await;
        }
        let body = Bytes::from(envelope(&self.query.cell, &relayed.found));
        let mut response = bytes_of(StatusCode::OK, Bytes::new(), "application/json");
        set_cost(response.headers_mut(), settled.charged);
        set_warnings(response.headers_mut(), &self.call.warnings());
        delivery::send_acked(services, context, relayed.responder, response, body).await
    }
}

/// The day's number is used up. The day is the database's.
async fn capacity_reached(services: &Services) -> ApiError {
    let Ok(left) = accounts::until_midnight(&services.data).await else {
        return ApiError::unavailable();
    };
    let text = "the capacity of the day is used up; it is there again at 00:00 UTC; \
                nothing was charged";
    let mut error = ApiError::new(ErrorCode::SocialCapacity, text).with("reason", "daily_capacity");
    error.retry_after = Some(left.max(Duration::from_secs(1)).as_secs());
    error
}
