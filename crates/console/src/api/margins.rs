//! `/api/operator/margins`: what calls were sold for and what they cost, by day, channel, model, customer and group,
//! down to the single call. The numbers are the ledger's own.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of the queries"
)]

mod calls;
mod one_call;

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use trunkline_ledger::margins::{
    self, MAX_LINES, MarginFilter, MarginGrouping, MarginKey, MarginLine, MarginOrder, MarginTotals,
};
use trunkline_ledger::usage_report::{self, UtcDay};
use trunkline_store::{accounts, channels};
use trunkline_types::{AccountId, Money};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::customer::query;
use crate::error::ApiError;
use crate::operator_session::Operator;
use crate::shared::Shared;

/// Days that are shown by default.
const USUAL_DAYS: i64 = 30;
const USUAL_PAGE: u32 = 100;
const GROUPS: &str = "day, channel, model, customer, group";

/// Their routes.
pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(sums))
        .routes(routes!(calls::list))
        .routes(routes!(one_call::show))
}

/// Which margins.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MarginQuery {
    /// First UTC day; 30 days before the last one by default.
    #[param(nullable = false, example = "2026-11-01")]
    from: Option<String>,
    /// Last UTC day, inclusive; today by default.
    #[param(nullable = false, example = "2026-11-30")]
    to: Option<String>,
    /// Comma-separated list of day, channel, model, customer, group; `day` by default.
    #[param(nullable = false, example = "channel,model")]
    group_by: Option<String>,
    /// `margin` for the smallest margin first, which is the default; `group` for the order of the grouping.
    #[param(nullable = false, example = "margin")]
    order: Option<String>,
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
    /// `next` of the previous page.
    #[param(nullable = false)]
    after: Option<String>,
    /// Page size; 100 by default.
    #[param(nullable = false, minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// Margins of some days.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Margins {
    /// The first day.
    from: String,
    /// The last day.
    to: String,
    /// Always `UTC`.
    timezone: &'static str,
    data: Vec<MarginRow>,
    /// Total, including rows that are not on this page.
    totals: MarginRow,
    /// How many rows there are in all.
    count: i64,
    /// `after` of the next page; null at the end.
    #[schema(required)]
    next: Option<String>,
}

/// Sales and costs of some calls.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MarginRow {
    /// UTC day of settlement, if grouped by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    day: Option<String>,
    /// Channel id, if grouped by it; 0 for calls without an attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    channel_id: Option<i64>,
    /// Channel name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    channel: Option<String>,
    /// Model, if grouped by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    model: Option<String>,
    /// Customer id, if grouped by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    customer_id: Option<i64>,
    /// Customer name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    customer: Option<String>,
    /// Price group, if grouped by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    group: Option<String>,
    calls: i64,
    /// Of these, failed calls, which are not charged.
    failed_calls: i64,
    /// Charged to paid wallets.
    paid_usd: String,
    /// Charged to trial wallets.
    trial_usd: String,
    /// Refunds on these days, regardless of the day of the charge.
    refunded_usd: String,
    /// Charges minus refunds.
    revenue_usd: String,
    /// Cost by the channels' price lists, where known.
    cost_usd: String,
    /// Revenue of calls whose cost is known, minus that cost.
    margin_usd: String,
    /// The margin in percent of that revenue; null if there is none.
    #[schema(required)]
    margin_percent: Option<String>,
    /// Delivered calls whose cost is unknown.
    uncosted_calls: i64,
    /// Their revenue, which is not in the margin.
    uncosted_revenue_usd: String,
    /// Calls whose cost is estimated because the upstream did not report the usage.
    estimated_calls: i64,
    /// The estimated part of the cost.
    estimated_cost_usd: String,
    /// Calls charged less than they cost.
    below_cost_calls: i64,
    /// The difference.
    below_cost_loss_usd: String,
}

/// Returns margins by day, channel, model, customer and group.
#[utoipa::path(get, path = "/api/operator/margins", operation_id = "margins", tag = "operator",
    params(MarginQuery),
    responses((status = 200, description = "Margins", body = Margins)))]
async fn sums(
    State(shared): State<Shared>,
    _operator: Operator,
    params: Result<Query<MarginQuery>, QueryRejection>,
) -> Result<Json<Margins>, ApiError> {
    let params = query::query(params)?;
    let by = grouping(params.group_by.as_deref())?;
    let order = order(params.order.as_deref())?;
    let after = params.after.as_deref().map(place).transpose()?;
    let limit = query::limit(params.limit, USUAL_PAGE, MAX_LINES)?;
    let filter = FilterParams {
        from: params.from,
        to: params.to,
        channel: params.channel,
        model: params.model,
        customer: params.customer,
        group: params.group,
    };
    let filter = filter.read(&shared).await?;
    let found = margins::read(&shared.data, &filter, by, order, after.as_ref(), limit).await?;
    let names = Names::of(&shared, by, &found.lines).await?;
    let is_full = found.lines.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let last = found.lines.last().filter(|_| is_full);
    Ok(Json(Margins {
        from: filter.from.to_string(),
        to: filter.to.to_string(),
        timezone: "UTC",
        next: last.map(|line| cursor(&line.key)).transpose()?,
        data: found
            .lines
            .iter()
            .map(|line| MarginRow::of(by, line, &names))
            .collect(),
        totals: MarginRow::total(&found.totals),
        count: found.count,
    }))
}

/// The filter of a query, as it came.
struct FilterParams {
    from: Option<String>,
    to: Option<String>,
    channel: Option<i64>,
    model: Option<String>,
    customer: Option<i64>,
    group: Option<String>,
}

/// Names of what lines are grouped by.
#[derive(Default)]
struct Names {
    channels: BTreeMap<i64, String>,
    customers: BTreeMap<AccountId, String>,
}

fn grouping(words: Option<&str>) -> Result<MarginGrouping, ApiError> {
    let by = MarginGrouping::parse(words.unwrap_or("day"));
    by.ok_or_else(|| ApiError::invalid_param("group_by", format!("must be a list of {GROUPS}")))
}

fn order(word: Option<&str>) -> Result<MarginOrder, ApiError> {
    match word {
        None | Some("margin") => Ok(MarginOrder::Margin),
        Some("group") => Ok(MarginOrder::Group),
        Some(_) => Err(ApiError::invalid_param("order", "must be margin or group")),
    }
}

/// Where the next page begins, as text that fits into an address.
fn cursor(key: &MarginKey) -> Result<String, ApiError> {
    let text = serde_json::to_vec(key)
        .map_err(|_| ApiError::invalid_param("after", "the page has no end"))?;
    Ok(URL_SAFE_NO_PAD.encode(text))
}

fn place(text: &str) -> Result<MarginKey, ApiError> {
    let wrong =
        || ApiError::invalid_param("after", "must be the `next` value of the previous page");
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong())?;
    let key: MarginKey = serde_json::from_slice(&bytes).map_err(|_| wrong())?;
    // No table keeps zero bytes.
    if key.model.contains('\0') || key.group.contains('\0') {
        return Err(wrong());
    }
    Ok(key)
}

/// A margin in percent of a sale, with one decimal place, rounded towards zero; none without a sale.
fn percent(margin: Money, sale: Money) -> Option<String> {
    let (margin, sale) = (i128::from(margin.nanos()), i128::from(sale.nanos()));
    if sale <= 0 {
        return None;
    }
    let tenths = margin.checked_mul(1_000)?.checked_div(sale)?;
    let sign = if tenths < 0 { "-" } else { "" };
    let tenths = tenths.unsigned_abs();
    let (whole, rest) = (tenths.checked_div(10)?, tenths.checked_rem(10)?);
    Some(format!("{sign}{whole}.{rest}"))
}

// === impl FilterParams ===

impl FilterParams {
    async fn read(self, shared: &Shared) -> Result<MarginFilter, ApiError> {
        let to = match query::day("to", self.to.as_deref())? {
            Some(day) => day,
            None => usage_report::today(&shared.data).await?,
        };
        let from = query::day("from", self.from.as_deref())?;
        let from: UtcDay = from.unwrap_or_else(|| to.earlier(USUAL_DAYS.saturating_sub(1)));
        if let Some(text) = usage_report::wrong_days(from, to) {
            return Err(ApiError::invalid_param("from", text));
        }
        Ok(MarginFilter {
            from,
            to,
            channel: self.channel,
            model: query::text("model", self.model)?,
            account: self.customer.map(AccountId::new),
            group: query::text("group", self.group)?,
        })
    }
}

// === impl Names ===

impl Names {
    async fn of(
        shared: &Shared,
        by: MarginGrouping,
        lines: &[MarginLine],
    ) -> Result<Self, ApiError> {
        let accounts: Vec<AccountId> = if by.account {
            let ids = lines.iter().map(|line| AccountId::new(line.key.account));
            ids.collect()
        } else {
            Vec::new()
        };
        Self::read(shared, by.channel, &accounts).await
    }

    /// Of all channels, if wanted, and of some accounts.
    async fn read(
        shared: &Shared,
        with_channels: bool,
        accounts: &[AccountId],
    ) -> Result<Self, ApiError> {
        let mut session = shared.data.session().await?;
        let mut names = Self::default();
        if with_channels {
            let all = channels::list(&mut session).await?;
            let named = all.into_iter().map(|one| (one.id.number(), one.name));
            names.channels = named.collect();
        }
        if !accounts.is_empty() {
            names.customers = accounts::names(&mut session, accounts).await?;
        }
        Ok(names)
    }

    fn channel(&self, id: i64) -> Option<String> {
        self.channels.get(&id).cloned()
    }

    fn customer(&self, id: AccountId) -> Option<String> {
        self.customers.get(&id).cloned()
    }
}

// === impl MarginRow ===

impl MarginRow {
    fn total(totals: &MarginTotals) -> Self {
        let margin = totals.margin();
        Self {
            day: None,
            channel_id: None,
            channel: None,
            model: None,
            customer_id: None,
            customer: None,
            group: None,
            calls: totals.calls,
            failed_calls: totals.failed,
            paid_usd: totals.paid.to_string(),
            trial_usd: totals.trial.to_string(),
            refunded_usd: totals.refunded.to_string(),
            revenue_usd: totals.sale().to_string(),
            cost_usd: totals.cost.to_string(),
            margin_usd: margin.to_string(),
            margin_percent: percent(margin, totals.costed_sale()),
            uncosted_calls: totals.uncosted_calls,
            uncosted_revenue_usd: totals.uncosted_sale.to_string(),
            estimated_calls: totals.estimated_calls,
            estimated_cost_usd: totals.estimated_cost.to_string(),
            below_cost_calls: totals.below_cost_calls,
            below_cost_loss_usd: totals.below_cost_loss.to_string(),
        }
    }

    fn of(by: MarginGrouping, line: &MarginLine, names: &Names) -> Self {
        let key = &line.key;
        let customer = by.account.then(|| AccountId::new(key.account));
        Self {
            day: by.day.then(|| key.day.to_string()),
            channel_id: by.channel.then_some(key.channel),
            channel: names.channel(key.channel).filter(|_| by.channel),
            model: by.model.then(|| key.model.clone()),
            customer_id: customer.map(AccountId::number),
            customer: customer.and_then(|id| names.customer(id)),
            group: by.group.then(|| key.group.clone()),
            ..Self::total(&line.totals)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_in_percent_is_exact_and_absent_without_a_sale() {
        let of = |margin, sale| percent(Money::from_nanos(margin), Money::from_nanos(sale));
        assert_eq!(of(1, 3).as_deref(), Some("33.3"));
        assert_eq!(of(-1, 3).as_deref(), Some("-33.3"));
        assert_eq!(of(-1, 3_000).as_deref(), Some("0.0"));
        assert_eq!(of(i64::MIN, 1), Some("-922337203685477580800.0".to_owned()));
        assert_eq!(of(5, 0), None);
        assert_eq!(of(5, -1), None);
    }
}
