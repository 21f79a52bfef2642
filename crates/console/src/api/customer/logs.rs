//! `GET /api/logs`: single calls, newest first, found by what people remember of them.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of `LogQuery`"
)]

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use serde::{Deserialize, Serialize};
use trunkline_ledger::Outcome;
use trunkline_ledger::call_search::{self, IdPrefix, MAX_PAGE, OutcomeFilter, Search};
use trunkline_types::RequestId;
use utoipa::{IntoParams, ToSchema};

use super::call_row::{LogRow, rows};
use super::query;
use crate::error::ApiError;
use crate::session::MemberSession;
use crate::shared::Shared;
use crate::times::rfc3339;

/// Default page size.
const USUAL_PAGE: u32 = 50;
const FAILED: &str = "failed";
const CHARGED: &str = "charged";

/// Which calls. What is left out does not narrow.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogQuery {
    /// Calls started at or after this time: a timestamp or a UTC day.
    #[param(nullable = false, example = "2026-11-16")]
    from: Option<String>,
    /// Calls started at or before this time; a day includes its end.
    #[param(nullable = false, example = "2026-11-16T12:00:00Z")]
    to: Option<String>,
    /// Calls with this key id.
    #[param(nullable = false, minimum = 1)]
    key: Option<i64>,
    /// Calls of this model.
    #[param(nullable = false, max_length = 200)]
    model: Option<String>,
    /// Calls to this endpoint, such as `chat`.
    #[param(nullable = false, max_length = 200)]
    endpoint: Option<String>,
    /// An outcome, `failed` for all without a result, or `charged` for all that were charged.
    #[param(nullable = false, example = "failed")]
    outcome: Option<String>,
    /// Calls with at least this cost.
    #[param(nullable = false, example = "0.01")]
    min_cost_usd: Option<String>,
    /// A request or task id, or its first eight or more characters. Returns one page at most.
    #[param(nullable = false, min_length = 8, max_length = 40)]
    q: Option<String>,
    /// `next` of the previous page.
    #[param(nullable = false)]
    after: Option<String>,
    /// Page size; 50 by default.
    #[param(nullable = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// A page of calls.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LogPage {
    /// Newest first.
    data: Vec<LogRow>,
    /// `after` of the next page; null at the end.
    #[schema(required)]
    next: Option<String>,
    /// How far back this page searched if it is not full; there may be more after `next`.
    #[schema(required, format = DateTime)]
    searched_to: Option<String>,
}

/// Lists completed calls of the organisation. A page scans a bounded number of calls, so with rare
/// filters it may be short or empty and still have a next page.
#[utoipa::path(get, path = "/api/logs", operation_id = "list_logs", tag = "logs",
    params(LogQuery),
    responses((status = 200, description = "A page of calls", body = LogPage)))]
pub(super) async fn search(
    State(shared): State<Shared>,
    own: MemberSession,
    params: Result<Query<LogQuery>, QueryRejection>,
) -> Result<Json<LogPage>, ApiError> {
    let search = read(query::query(params)?, &own)?;
    let found = call_search::search(&shared.people, &search).await?;
    let one_page = search.id_prefix.is_some();
    Ok(Json(LogPage {
        data: rows(&shared, own.account, &found.calls).await?,
        next: found.next.filter(|_| !one_page).map(|id| id.to_string()),
        searched_to: found.searched_to.map(rfc3339),
    }))
}

fn read(params: LogQuery, own: &MemberSession) -> Result<Search, ApiError> {
    let least = params.min_cost_usd.as_deref();
    Ok(Search {
        account: own.account,
        key: query::key(params.key)?,
        model: query::text("model", params.model)?,
        endpoint: query::text("endpoint", params.endpoint)?,
        outcome: params.outcome.as_deref().map(ended).transpose()?,
        min_charge: least
            .map(|text| query::usd("min_cost_usd", text))
            .transpose()?,
        from: query::from(params.from.as_deref())?,
        until: query::until(params.to.as_deref())?,
        id_prefix: params.q.as_deref().map(begins).transpose()?,
        before: params.after.as_deref().map(before).transpose()?,
        limit: query::limit(params.limit, USUAL_PAGE, MAX_PAGE)?,
    })
}

fn ended(word: &str) -> Result<OutcomeFilter, ApiError> {
    let outcome = Outcome::of(word).map(OutcomeFilter::As);
    let known = match word {
        FAILED => Some(OutcomeFilter::Failed),
        CHARGED => Some(OutcomeFilter::Charged),
        _ => outcome,
    };
    known.ok_or_else(|| {
        let words = Outcome::ALL.map(Outcome::as_str).join(", ");
        let text = format!("must be {FAILED}, {CHARGED} or one of {words}");
        ApiError::invalid_param("outcome", text)
    })
}

fn begins(text: &str) -> Result<IdPrefix, ApiError> {
    let words = "is the id of a request or a task, such as req_019a5c6b, or its first eight or more \
                 characters";
    IdPrefix::parse(text).ok_or_else(|| ApiError::invalid_param("q", words))
}

fn before(text: &str) -> Result<RequestId, ApiError> {
    let words = "is the `next` of the page before";
    text.parse()
        .map_err(|_| ApiError::invalid_param("after", words))
}
