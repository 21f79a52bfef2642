//! Single calls with all that is the operator's alone: attempts by channel, cost and margin.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of the query"
)]

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};
use trunkline_ledger::call_search::{self, Call, CallDetail, OutcomeFilter, Search};
use trunkline_ledger::{Outcome, installation};
use trunkline_store::channels;
use trunkline_types::{AccountId, KeyId, Money, RequestId};
use utoipa::{IntoParams, ToSchema};

use super::views::customer;
use crate::api::customer::query;
use crate::error::ApiError;
use crate::operator_session::Operator;
use crate::shared::Shared;
use crate::times::rfc3339;

const USUAL_PAGE: u32 = 50;

/// Which calls.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CallsQuery {
    /// The customer.
    customer: i64,
    /// Calls of this model.
    #[param(nullable = false, max_length = 200)]
    model: Option<String>,
    /// An outcome, `failed` for all without a result, or `charged`.
    #[param(nullable = false, example = "failed")]
    outcome: Option<String>,
    /// Calls started at or after this time: a timestamp or a UTC day.
    #[param(nullable = false)]
    from: Option<String>,
    /// Calls started at or before this time; a day includes its end.
    #[param(nullable = false)]
    to: Option<String>,
    /// `next_before` of the previous page.
    #[param(nullable = false)]
    before: Option<String>,
    /// Page size; 50 by default.
    #[param(nullable = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// A page of calls.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperatorCalls {
    /// Newest first.
    data: Vec<OperatorCall>,
    /// `before` of the next page; null at the end.
    #[schema(required)]
    next_before: Option<String>,
}

/// A call.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperatorCall {
    /// Request id.
    request_id: String,
    /// The customer.
    customer_id: i64,
    /// Public name of the model or data set.
    model: String,
    /// Endpoint.
    endpoint: String,
    /// Outcome.
    #[schema(example = "complete")]
    outcome: &'static str,
    /// Time of admission.
    #[schema(format = DateTime)]
    started_at: String,
    /// Charged to both wallets.
    #[schema(example = "0.002")]
    charged_usd: String,
    /// Refunded since.
    #[schema(example = "0")]
    refunded_usd: String,
    /// What the upstream bills; null if unknown.
    #[schema(required, example = "0.001")]
    cost_usd: Option<String>,
    /// Charged less refunds and cost; null without a cost.
    #[schema(required, example = "0.001")]
    margin_usd: Option<String>,
}

/// A call with attempts, usage and money.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperatorCallDetail {
    #[serde(flatten)]
    call: OperatorCall,
    /// Pricing group.
    group: String,
    /// Price tier; null for the default.
    #[schema(required)]
    tier: Option<String>,
    /// Key; null if there was none.
    #[schema(required)]
    key_id: Option<i64>,
    /// Price version.
    price_version: String,
    /// Whether usage was estimated.
    estimated: bool,
    /// Warning codes returned to the caller.
    warnings: Vec<String>,
    /// Billed units.
    units: Vec<UnitCount>,
    /// Measured usage.
    measured: Vec<UnitCount>,
    /// Upstream attempts in order.
    attempts: Vec<OperatorAttempt>,
    /// Money that moved for it.
    transfers: Vec<OperatorTransfer>,
}

/// A quantity.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UnitCount {
    /// Unit.
    #[schema(example = "input")]
    name: String,
    /// Amount.
    count: u64,
}

/// An upstream attempt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperatorAttempt {
    /// Channel id; null if unknown.
    #[schema(required)]
    channel_id: Option<i64>,
    /// Channel name; null if it is gone.
    #[schema(required)]
    channel: Option<String>,
    /// HTTP status; null without a response.
    #[schema(required)]
    status: Option<u16>,
    /// Error code; null if it succeeded.
    #[schema(required)]
    error: Option<String>,
    /// Time to the response; null without one.
    #[schema(required)]
    latency_ms: Option<i64>,
}

/// Money that moved for a call.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperatorTransfer {
    /// `charge`, `refund`, `settlement_adjustment` or `undelivered`.
    #[schema(example = "charge")]
    kind: String,
    /// `paid` or `trial`.
    #[schema(example = "paid")]
    wallet: &'static str,
    /// Amount.
    amount_usd: String,
    /// `in` to the wallet, or `out` of it.
    #[schema(example = "out")]
    direction: &'static str,
    /// Time.
    #[schema(format = DateTime)]
    at: String,
}

/// Lists calls of a customer with cost and margin.
#[utoipa::path(get, path = "/api/operator/calls", operation_id = "list_calls", tag = "calls",
    params(CallsQuery),
    responses((status = 200, description = "A page of calls", body = OperatorCalls)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    _operator: Operator,
    params: Result<Query<CallsQuery>, QueryRejection>,
) -> Result<Json<OperatorCalls>, ApiError> {
    let params = query::query(params)?;
    let account = customer(&shared, AccountId::new(params.customer)).await?.id;
    let before = params.before.as_deref().map(request_id).transpose()?;
    let search = Search {
        model: query::text("model", params.model)?,
        outcome: params.outcome.as_deref().map(outcome).transpose()?,
        from: query::from(params.from.as_deref())?,
        until: query::until(params.to.as_deref())?,
        before,
        ..Search::of(
            account,
            query::limit(params.limit, USUAL_PAGE, call_search::MAX_PAGE)?,
        )
    };
    let found = call_search::search(&shared.data, &search).await?;
    let ids: Vec<RequestId> = found.calls.iter().map(|call| call.request).collect();
    let costs = installation::costs(&shared.data, &ids).await?;
    let cost_of = |request: RequestId| {
        let found = costs.iter().find(|(id, _)| *id == request);
        found.map(|(_, cost)| *cost)
    };
    let data = found.calls.iter();
    let data = data.map(|call| OperatorCall::of(call, account, cost_of(call.request)));
    Ok(Json(OperatorCalls {
        data: data.collect(),
        next_before: found.next.map(|id| id.to_string()),
    }))
}

/// Returns a call by its id: why it failed, what it cost and what it was sold for.
#[utoipa::path(get, path = "/api/operator/calls/{request_id}", operation_id = "show_call", tag = "calls",
    params(("request_id" = String, Path, description = "The call", max_length = 60)),
    responses((status = 200, description = "The call", body = OperatorCallDetail)))]
pub(super) async fn show(
    State(shared): State<Shared>,
    _operator: Operator,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<OperatorCallDetail>, ApiError> {
    let unknown = || ApiError::not_found("call");
    let Path(id) = id.map_err(|_| unknown())?;
    let request: RequestId = id.parse().map_err(|_| unknown())?;
    let owner = installation::owner_of(&shared.data, request).await?;
    let owner = owner.ok_or_else(unknown)?;
    let found = call_search::detail(&shared.data, owner.account, request).await?;
    let found = found.ok_or_else(unknown)?;
    let mut session = shared.data.session().await?;
    let channels = channels::list(&mut session).await?;
    let names = channels.into_iter();
    let names = names.map(|channel| (channel.id.number(), channel.name));
    let names: BTreeMap<i64, String> = names.collect();
    let call = OperatorCall::of(&found.call, owner.account, owner.cost);
    Ok(Json(OperatorCallDetail::of(found, call, &names)))
}

fn outcome(word: &str) -> Result<OutcomeFilter, ApiError> {
    let known = match word {
        "failed" => Some(OutcomeFilter::Failed),
        "charged" => Some(OutcomeFilter::Charged),
        _ => Outcome::of(word).map(OutcomeFilter::As),
    };
    let text = "must be failed, charged or an outcome";
    known.ok_or_else(|| ApiError::invalid_param("outcome", text))
}

fn request_id(text: &str) -> Result<RequestId, ApiError> {
    let words = "is the `next_before` of the page before";
    text.parse()
        .map_err(|_| ApiError::invalid_param("before", words))
}

// === impl OperatorCall, OperatorCallDetail ===

impl OperatorCall {
    fn of(call: &Call, account: AccountId, cost: Option<Money>) -> Self {
        let charged = call.charged();
        let kept = charged.checked_sub(call.refunded).unwrap_or(charged);
        let margin = cost.and_then(|cost| kept.checked_sub(cost).ok());
        Self {
            request_id: call.request.to_string(),
            customer_id: account.number(),
            model: call.model.clone(),
            endpoint: call.endpoint.clone(),
            outcome: call.outcome.as_str(),
            started_at: rfc3339(call.opened_at),
            charged_usd: charged.to_string(),
            refunded_usd: call.refunded.to_string(),
            cost_usd: cost.map(|cost| cost.to_string()),
            margin_usd: margin.map(|margin| margin.to_string()),
        }
    }
}

impl OperatorCallDetail {
    fn of(found: CallDetail, call: OperatorCall, names: &BTreeMap<i64, String>) -> Self {
        let count = |(name, count)| UnitCount { name, count };
        let attempts = found.attempts.into_iter().map(|attempt| OperatorAttempt {
            channel: attempt.channel.and_then(|id| names.get(&id).cloned()),
            channel_id: attempt.channel,
            status: attempt.status,
            error: attempt.fault,
            latency_ms: attempt.millis,
        });
        let transfers = found
            .transfers
            .into_iter()
            .map(|transfer| OperatorTransfer {
                kind: transfer.kind,
                wallet: transfer.wallet.as_str(),
                amount_usd: transfer.amount.to_string(),
                direction: if transfer.is_in { "in" } else { "out" },
                at: rfc3339(transfer.at),
            });
        let version = found.price_version.iter();
        Self {
            call,
            group: found.group,
            tier: found.tier,
            key_id: found.call.key.map(KeyId::number),
            price_version: version.map(|byte| format!("{byte:02x}")).collect(),
            estimated: found.call.estimated,
            warnings: found.call.warnings,
            units: found.units.into_iter().map(count).collect(),
            measured: found.measured.into_iter().map(count).collect(),
            attempts: attempts.collect(),
            transfers: transfers.collect(),
        }
    }
}
