//! The installation in numbers, what needs a person, and the search over everything.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of the query"
)]

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use serde::{Deserialize, Serialize};
use trunkline_ledger::installation::{self, Sums};
use trunkline_ledger::usage_report;
use trunkline_store::attention::{self, Hit};
use trunkline_types::RequestId;
use utoipa::{IntoParams, ToSchema};

use super::views::SumsView;
use crate::api::customer::query;
use crate::error::ApiError;
use crate::operator_session::Operator;
use crate::shared::Shared;

const USUAL_DAYS: u32 = 30;
const MAX_DAYS: u32 = 90;
const MIN_SEARCH: usize = 2;
/// Fewer digits of a request id find too many.
const MIN_ID_DIGITS: usize = 4;
/// Models that one search shows.
const MODEL_HITS: usize = 10;

/// How many days.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OverviewQuery {
    /// Days up to today, UTC; 30 by default.
    #[param(nullable = false, minimum = 1, maximum = 90)]
    days: Option<u32>,
}

/// The installation in numbers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Overview {
    /// First day, UTC.
    #[schema(example = "2026-11-01")]
    from: String,
    /// Last day, UTC.
    #[schema(example = "2026-11-30")]
    to: String,
    /// Sums of all days.
    totals: SumsView,
    /// Days with calls.
    days: Vec<DaySums>,
    /// Money that came in on these days.
    #[schema(example = "250")]
    money_in_usd: String,
    /// What needs a person.
    needs_attention: AttentionView,
}

/// The sums of a day.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DaySums {
    /// Day, UTC.
    #[schema(example = "2026-11-16")]
    day: String,
    #[serde(flatten)]
    sums: SumsView,
}

/// What needs a person.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Attention)]
pub(crate) struct AttentionView {
    /// Alarms that fire.
    alarms: i64,
    /// Disputes and inquiries without an outcome.
    open_disputes: i64,
    /// Suspended customers.
    suspended_customers: i64,
    /// Credentials that an upstream refused.
    paused_credentials: i64,
    /// Channels that take no new calls.
    draining_channels: i64,
    /// Emails that no mail server has taken.
    unsent_emails: i64,
    /// Sales below cost on these days.
    below_cost: BelowCostView,
}

/// Sales below cost, by lines of a day, key and model.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SoldBelowCost)]
pub(crate) struct BelowCostView {
    /// Lines that cost more than they brought.
    lines: i64,
    /// Their calls.
    calls: i64,
    /// Cost less charges.
    #[schema(example = "1.5")]
    loss_usd: String,
}

/// What is searched for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// A visible part of an id, a name or an email address; of a call, its whole id.
    #[param(min_length = 2, max_length = 200)]
    q: String,
}

/// What was found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SearchHits {
    /// At most ten of each kind.
    data: Vec<SearchHit>,
}

/// Something that was found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SearchHit {
    /// `customer`, `person`, `key`, `payment`, `channel`, `model`, `call` or `code`.
    #[schema(example = "customer")]
    kind: String,
    /// Id.
    id: String,
    /// Name.
    title: String,
    /// More of it.
    detail: String,
    /// The customer it belongs to; null for none.
    #[schema(required)]
    customer_id: Option<i64>,
}

/// Returns revenue, cost, margin and calls by day, and what needs a person.
#[utoipa::path(get, path = "/api/operator/overview", operation_id = "overview", tag = "overview",
    params(OverviewQuery),
    responses((status = 200, description = "The overview", body = Overview)))]
pub(super) async fn overview(
    State(shared): State<Shared>,
    _operator: Operator,
    params: Result<Query<OverviewQuery>, QueryRejection>,
) -> Result<Json<Overview>, ApiError> {
    let days = query::query(params)?.days.unwrap_or(USUAL_DAYS);
    if !(1..=MAX_DAYS).contains(&days) {
        let text = format!("must be from 1 to {MAX_DAYS}");
        return Err(ApiError::invalid_param("days", text));
    }
    let to = usage_report::today(&shared.data).await?;
    let from = to.earlier(i64::from(days).saturating_sub(1));
    let by_day = installation::days(&shared.data, from, to).await?;
    let below = installation::below_cost(&shared.data, from, to).await?;
    let money_in = installation::money_in(&shared.data, from, to).await?;
    let mut session = shared.people.session().await?;
    let attention = attention::read(&mut session).await?;
    let totals = by_day
        .iter()
        .fold(Sums::default(), |all, (_, sums)| all.plus(sums));
    let days = by_day.iter().map(|(day, sums)| DaySums {
        day: day.to_string(),
        sums: SumsView::of(sums),
    });
    Ok(Json(Overview {
        from: from.to_string(),
        to: to.to_string(),
        totals: SumsView::of(&totals),
        days: days.collect(),
        money_in_usd: money_in.to_string(),
        needs_attention: AttentionView {
            alarms: attention.alarms,
            open_disputes: attention.open_disputes,
            suspended_customers: attention.suspended_accounts,
            paused_credentials: attention.paused_credentials,
            draining_channels: attention.draining_channels,
            unsent_emails: attention.unsent_emails,
            below_cost: BelowCostView {
                lines: below.lines,
                calls: below.calls,
                loss_usd: below.loss.to_string(),
            },
        },
    }))
}

/// Searches customers, people, keys, payments, channels, models, calls and codes.
#[utoipa::path(get, path = "/api/operator/search", operation_id = "search", tag = "overview",
    params(SearchQuery),
    responses((status = 200, description = "What was found", body = SearchHits)))]
pub(super) async fn search(
    State(shared): State<Shared>,
    _operator: Operator,
    params: Result<Query<SearchQuery>, QueryRejection>,
) -> Result<Json<SearchHits>, ApiError> {
    let text = query::query(params)?.q;
    let text = query::text("q", Some(text.trim().to_owned()))?.unwrap_or_default();
    if text.chars().count() < MIN_SEARCH {
        let words = format!("must have at least {MIN_SEARCH} characters");
        return Err(ApiError::invalid_param("q", words));
    }
    let mut session = shared.people.session().await?;
    let hits = attention::search(&mut session, &text).await?;
    drop(session);
    let mut data: Vec<SearchHit> = hits.into_iter().map(SearchHit::of).collect();
    data.extend(models(&shared, &text));
    let calls = calls(&shared, &text).await?;
    data.splice(0..0, calls);
    Ok(Json(SearchHits { data }))
}

/// A call by its id, or the newest ones by a part of it.
async fn calls(shared: &Shared, text: &str) -> Result<Vec<SearchHit>, ApiError> {
    let found = match text.parse::<RequestId>() {
        Ok(request) => {
            let owner = installation::owner_of(&shared.data, request).await?;
            owner
                .map(|owner| (request, owner.account))
                .into_iter()
                .collect()
        }
        Err(_) => match id_parts(text) {
            Some(parts) => installation::newest_calls_with(&shared.data, &parts).await?,
            None => Vec::new(),
        },
    };
    let hits = found.into_iter().map(|(request, account)| SearchHit {
        kind: "call".to_owned(),
        id: request.to_string(),
        title: request.to_string(),
        detail: format!("call of customer {account}"),
        customer_id: Some(account.number()),
    });
    Ok(hits.collect())
}

/// The digits of a request id, or of what a page shows of one; none if this is another text.
fn id_parts(text: &str) -> Option<Vec<&str>> {
    let digits = text.strip_prefix("req_").unwrap_or(text);
    let parts: Vec<&str> = digits.split('…').filter(|part| !part.is_empty()).collect();
    let is_digit = |sign: char| matches!(sign, '0'..='9' | 'a'..='f');
    let is_long = parts.iter().any(|part| part.len() >= MIN_ID_DIGITS);
    (is_long && parts.iter().all(|part| part.chars().all(is_digit))).then_some(parts)
}

fn models(shared: &Shared, text: &str) -> Vec<SearchHit> {
    let lower = text.to_lowercase();
    let book = shared.gateway.book();
    let found = book
        .models()
        .filter(|name| name.to_lowercase().contains(&lower));
    let hits = found.take(MODEL_HITS).map(|name| SearchHit {
        kind: "model".to_owned(),
        id: name.to_owned(),
        title: name.to_owned(),
        detail: "model".to_owned(),
        customer_id: None,
    });
    hits.collect()
}

// === impl SearchHit ===

impl SearchHit {
    fn of(hit: Hit) -> Self {
        Self {
            kind: hit.kind,
            id: hit.id,
            title: hit.title,
            detail: hit.detail,
            customer_id: hit.account.map(|account| account.number()),
        }
    }
}
