//! `GET /api/operator/margins/calls`: the calls behind a line, newest first.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use serde::{Deserialize, Serialize};
use trunkline_ledger::margins::{self, CallMargin, CallsSearch, MAX_CALLS};
use trunkline_types::{AccountId, RequestId};
use utoipa::{IntoParams, ToSchema};

use super::{FilterParams, Names};
use crate::api::customer::query;
use crate::error::ApiError;
use crate::operator_session::Operator;
use crate::shared::Shared;
use crate::times::rfc3339;

const USUAL_PAGE: u32 = 50;

/// Which calls. What is left out does not narrow.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MarginCallsQuery {
    /// First UTC day of settlement; 30 days before the last one by default.
    #[param(nullable = false, example = "2026-11-01")]
    from: Option<String>,
    /// Last UTC day, inclusive; today by default.
    #[param(nullable = false, example = "2026-11-30")]
    to: Option<String>,
    /// Only this channel id; 0 for calls without an attempt.
    #[param(nullable = false, minimum = 0)]
    channel: Option<i64>,
    /// Only this model.
    #[param(nullable = false, max_length = 200)]
    model: Option<String>,
    /// Only this customer id.
    #[param(nullable = false, minimum = 1)]
    customer: Option<i64>,
    /// Only calls at the prices of this group.
    #[param(nullable = false, max_length = 200)]
    group: Option<String>,
    /// Only calls charged less than they cost.
    #[param(nullable = false)]
    below_cost: Option<bool>,
    /// `next` of the previous page.
    #[param(nullable = false)]
    after: Option<String>,
    /// Page size; 50 by default.
    #[param(nullable = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// A page of calls.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MarginCalls {
    /// Newest first.
    data: Vec<MarginCall>,
    /// `after` of the next page; null at the end.
    #[schema(required)]
    next: Option<String>,
    /// How far back this page searched if it is not full; there may be more after `next`.
    #[schema(required, format = DateTime)]
    searched_to: Option<String>,
}

/// A call with its sale and cost.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MarginCall {
    request_id: String,
    customer_id: i64,
    /// Customer name.
    #[schema(required)]
    customer: Option<String>,
    model: String,
    endpoint: String,
    /// The group whose prices applied.
    group: String,
    /// The last channel that was called; 0 if none was.
    channel_id: i64,
    /// Channel name.
    #[schema(required)]
    channel: Option<String>,
    outcome: String,
    #[schema(format = DateTime)]
    settled_at: String,
    /// Charged to both wallets.
    charged_usd: String,
    refunded_usd: String,
    /// Charges minus refunds.
    revenue_usd: String,
    /// Cost by the channel's price list at that time; null if unknown.
    #[schema(required)]
    cost_usd: Option<String>,
    /// Revenue minus cost; null if the cost is unknown.
    #[schema(required)]
    margin_usd: Option<String>,
    /// Whether the cost is estimated because the upstream did not report the usage.
    is_estimated: bool,
    /// Whether it was charged less than it cost.
    is_below_cost: bool,
}

/// Lists calls with their revenue and cost. A page scans a bounded number of calls, so with rare
/// filters it may be short or empty and still have a next page.
#[utoipa::path(get, path = "/api/operator/margins/calls", operation_id = "margin_calls", tag = "operator",
    params(MarginCallsQuery),
    responses((status = 200, description = "A page of calls", body = MarginCalls)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    _operator: Operator,
    params: Result<Query<MarginCallsQuery>, QueryRejection>,
) -> Result<Json<MarginCalls>, ApiError> {
    let params = query::query(params)?;
    let filter = FilterParams {
        from: params.from,
        to: params.to,
        channel: params.channel,
        model: params.model,
        customer: params.customer,
        group: params.group,
    };
    let search = CallsSearch {
        filter: filter.read(&shared).await?,
        below_cost: params.below_cost.unwrap_or(false),
        before: params.after.as_deref().map(before).transpose()?,
        limit: query::limit(params.limit, USUAL_PAGE, MAX_CALLS)?,
    };
    let found = margins::calls(&shared.data, &search).await?;
    let mut accounts: Vec<AccountId> = found.calls.iter().map(|call| call.account).collect();
    accounts.sort_unstable();
    accounts.dedup();
    let names = Names::read(&shared, true, &accounts).await?;
    let calls = found.calls.iter();
    Ok(Json(MarginCalls {
        data: calls.map(|call| MarginCall::of(call, &names)).collect(),
        next: found.next.map(|id| id.to_string()),
        searched_to: found.searched_to.map(rfc3339),
    }))
}

fn before(text: &str) -> Result<RequestId, ApiError> {
    let words = "must be the `next` value of the previous page";
    text.parse()
        .map_err(|_| ApiError::invalid_param("after", words))
}

// === impl MarginCall ===

impl MarginCall {
    pub(super) fn of(call: &CallMargin, names: &Names) -> Self {
        let charged = call.paid.checked_add(call.trial).unwrap_or(call.paid);
        let below = call.cost.is_some_and(|cost| charged < cost);
        Self {
            request_id: call.request.to_string(),
            customer_id: call.account.number(),
            customer: names.customer(call.account),
            model: call.model.clone(),
            endpoint: call.endpoint.clone(),
            group: call.group.clone(),
            channel_id: call.channel,
            channel: names.channel(call.channel),
            outcome: call.outcome.clone(),
            settled_at: rfc3339(call.settled_at),
            charged_usd: charged.to_string(),
            refunded_usd: call.refunded.to_string(),
            revenue_usd: call.sale().to_string(),
            cost_usd: call.cost.map(|cost| cost.to_string()),
            margin_usd: call.margin().map(|margin| margin.to_string()),
            is_estimated: call.estimated,
            is_below_cost: below,
        }
    }
}
