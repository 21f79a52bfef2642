//! `/api/usage` and `/api/usage.csv`: sums of what was used, by day, key, model and interface. The
//! numbers are the ledger's own.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of `UsageQuery`"
)]

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use trunkline_ledger::usage_report::{
    self, GroupKey, Grouping, MAX_LINES, ReportRow, Totals, UsageFilter, UtcDay,
};
use trunkline_types::{KeyId, csv};
use utoipa::{IntoParams, ToSchema};

use super::call_row::Names;
use super::query;
use crate::error::{ApiError, ErrorBody};
use crate::session::MemberSession;
use crate::shared::Shared;

/// Days that are shown if none are asked for.
const USUAL_DAYS: i64 = 30;
/// Most lines of one table.
const MAX_TABLE_LINES: i64 = 50_000;
const GROUPS: &str = "day, key, model, endpoint";
const NAMES: [&str; 7] = [
    "calls",
    "failed_calls",
    "input_units",
    "output_units",
    "charged_usd",
    "refunded_usd",
    "spent_usd",
];

/// Which sums.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct UsageQuery {
    /// First UTC day; 30 days before the last one by default.
    #[param(nullable = false, example = "2026-11-01")]
    from: Option<String>,
    /// Last UTC day, inclusive; today by default.
    #[param(nullable = false, example = "2026-11-30")]
    to: Option<String>,
    /// Comma-separated list of day, key, model, endpoint; `day` by default.
    #[param(nullable = false, example = "day,model")]
    group_by: Option<String>,
    /// Only this key id.
    #[param(nullable = false, minimum = 1)]
    key: Option<i64>,
    /// Only this model.
    #[param(nullable = false, max_length = 200)]
    model: Option<String>,
}

/// Usage totals.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Usage {
    /// The first day.
    from: String,
    /// The last day.
    to: String,
    /// Always `UTC`.
    timezone: &'static str,
    /// Rows in the order of the grouping; at most 5,000.
    data: Vec<UsageLine>,
    /// Total, including rows that are not shown.
    totals: UsageLine,
    /// Whether rows were omitted.
    truncated: bool,
}

/// One usage row.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UsageLine {
    /// UTC day of settlement, if grouped by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    day: Option<String>,
    /// Key id, null for calls without a key, if grouped by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>)]
    key_id: Option<Option<i64>>,
    /// Key name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    key_name: Option<Option<String>>,
    /// Model, if grouped by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    model: Option<String>,
    /// Endpoint, if grouped by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    endpoint: Option<String>,
    /// Completed calls.
    calls: i64,
    /// Of these, failed calls, which are not charged.
    failed_calls: i64,
    /// Billed input: tokens, characters of speech or seconds of recordings.
    input_units: i64,
    /// Billed output.
    output_units: i64,
    /// Charge to both wallets.
    charged_usd: String,
    /// Refunds on these days, regardless of the day of the charge.
    refunded_usd: String,
    /// Spend: charges minus refunds, as on the dashboard. Negative if the refunds exceed the charges.
    spent_usd: String,
}

/// Returns usage totals of the organisation.
#[utoipa::path(get, path = "/api/usage", operation_id = "usage", tag = "usage",
    params(UsageQuery),
    responses((status = 200, description = "Usage totals", body = Usage)))]
pub(super) async fn sums(
    State(shared): State<Shared>,
    own: MemberSession,
    params: Result<Query<UsageQuery>, QueryRejection>,
) -> Result<Json<Usage>, ApiError> {
    let (seen, by) = read(&shared, &own, query::query(params)?).await?;
    let found = usage_report::read(&shared.people, &seen, by, None, MAX_LINES).await?;
    let names = names_of(&shared, &own, by, &found.lines).await?;
    let count = i64::try_from(found.lines.len()).unwrap_or(i64::MAX);
    let lines = found.lines.iter();
    Ok(Json(Usage {
        from: seen.from.to_string(),
        to: seen.to.to_string(),
        timezone: "UTC",
        data: lines.map(|line| UsageLine::of(by, line, &names)).collect(),
        totals: UsageLine::total(&found.totals),
        truncated: found.count > count,
    }))
}

/// The same as CSV, complete, at most 50,000 rows.
#[utoipa::path(get, path = "/api/usage.csv", operation_id = "usage_table", tag = "usage",
    params(UsageQuery),
    responses(
        (status = 200, description = "CSV with all rows", body = String, content_type = "text/csv"),
        (status = 400, description = "Invalid parameter, or too many rows", body = ErrorBody)
    ))]
pub(super) async fn table(
    State(shared): State<Shared>,
    own: MemberSession,
    params: Result<Query<UsageQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let (seen, by) = read(&shared, &own, query::query(params)?).await?;
    let mut text = String::new();
    csv::write(&mut text, &head(by));
    let mut after: Option<GroupKey> = None;
    loop {
        let found =
            usage_report::read(&shared.people, &seen, by, after.as_ref(), MAX_LINES).await?;
        if found.count > MAX_TABLE_LINES {
            let words = format!(
                "the export would have {} rows, the maximum is {MAX_TABLE_LINES}; choose fewer days, one key \
                 or model, or fewer groups",
                found.count
            );
            return Err(ApiError::invalid_param("group_by", words));
        }
        let names = names_of(&shared, &own, by, &found.lines).await?;
        for line in &found.lines {
            csv::write(&mut text, &UsageLine::of(by, line, &names).fields(by));
        }
        let full = usize::try_from(MAX_LINES).unwrap_or(usize::MAX);
        if found.lines.len() < full {
            break;
        }
        after = found
            .lines
            .into_iter()
            .next_back()
            .map(|line| line.group_key);
    }
    let name = format!("usage-{}-{}", seen.from, seen.to);
    Ok(query::table(&name, text))
}

async fn read(
    shared: &Shared,
    own: &MemberSession,
    params: UsageQuery,
) -> Result<(UsageFilter, Grouping), ApiError> {
    let by = grouping(params.group_by.as_deref())?;
    let to = match query::day("to", params.to.as_deref())? {
        Some(day) => day,
        None => usage_report::today(&shared.people).await?,
    };
    let from = query::day("from", params.from.as_deref())?;
    let from: UtcDay = from.unwrap_or_else(|| to.earlier(USUAL_DAYS.saturating_sub(1)));
    if let Some(text) = usage_report::wrong_days(from, to) {
        return Err(ApiError::invalid_param("from", text));
    }
    let seen = UsageFilter {
        account: own.account,
        below: None,
        key: query::key(params.key)?,
        model: query::text("model", params.model)?,
        from,
        to,
    };
    Ok((seen, by))
}

fn grouping(words: Option<&str>) -> Result<Grouping, ApiError> {
    let by = Grouping::parse(words.unwrap_or("day")).filter(|by| !by.group);
    by.ok_or_else(|| ApiError::invalid_param("group_by", format!("must be a list of {GROUPS}")))
}

async fn names_of(
    shared: &Shared,
    own: &MemberSession,
    by: Grouping,
    lines: &[ReportRow],
) -> Result<Names, ApiError> {
    let keys = lines.iter().filter(|_| by.key);
    let keys = keys.map(|line| KeyId::new(line.group_key.key));
    Names::of(shared, own.account, keys).await
}

/// The names of the columns.
fn head(by: Grouping) -> Vec<String> {
    let apart = by.words().into_iter().flat_map(|word| match word {
        "key" => vec!["key_id", "key_name"],
        word => vec![word],
    });
    apart.chain(NAMES).map(str::to_owned).collect()
}

// === impl UsageLine ===

impl UsageLine {
    fn total(sums: &Totals) -> Self {
        Self {
            day: None,
            key_id: None,
            key_name: None,
            model: None,
            endpoint: None,
            calls: sums.calls,
            failed_calls: sums.failed,
            input_units: sums.input_units,
            output_units: sums.output_units,
            charged_usd: sums.charged().to_string(),
            refunded_usd: sums.refunded.to_string(),
            spent_usd: sums.spent().to_string(),
        }
    }

    fn of(by: Grouping, line: &ReportRow, names: &Names) -> Self {
        let place = &line.group_key;
        // Calls without a key have no key name.
        let key = (place.key != 0).then(|| KeyId::new(place.key));
        Self {
            day: by.day.then(|| place.day.to_string()),
            key_id: by.key.then(|| key.map(KeyId::number)),
            key_name: by.key.then(|| key.and_then(|key| names.get(key))),
            model: by.model.then(|| place.model.clone()),
            endpoint: by.endpoint.then(|| place.endpoint.clone()),
            ..Self::total(&line.totals)
        }
    }

    /// As columns, in the order of [`head`].
    fn fields(&self, by: Grouping) -> Vec<String> {
        let mut fields: Vec<String> = Vec::new();
        fields.extend(self.day.clone());
        if by.key {
            let id = self.key_id.flatten();
            fields.push(id.map_or_else(String::new, |id| id.to_string()));
            fields.push(self.key_name.clone().flatten().unwrap_or_default());
        }
        fields.extend(self.model.clone());
        fields.extend(self.endpoint.clone());
        let counts = [
            self.calls,
            self.failed_calls,
            self.input_units,
            self.output_units,
        ];
        fields.extend(counts.map(|count| count.to_string()));
        fields.extend([
            self.charged_usd.clone(),
            self.refunded_usd.clone(),
            self.spent_usd.clone(),
        ]);
        fields
    }
}
