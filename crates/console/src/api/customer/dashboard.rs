//! `GET /api/home`: how the organisation does, out of sums that are kept anyway.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use trunkline_ledger::call_search::{self, OutcomeFilter, Search};
use trunkline_ledger::usage_report::{
    self, Grouping, MAX_LINES, ReportRow, Totals, UsageFilter, UtcDay,
};
use trunkline_store::keys;
use trunkline_types::{Money, Timestamp};
use utoipa::ToSchema;

use super::amounts::{self, BalanceView};
use super::call_row::{LogRow, rows};
use crate::error::ApiError;
use crate::session::MemberSession;
use crate::shared::Shared;

/// Days that are summed up.
const MONTH_DAYS: i64 = 30;
/// Days that are shown one by one.
const SHOWN_DAYS: i64 = 14;
/// Full days that the burn rate is the mean of, beside today.
const BURN_DAYS: i64 = 7;
const SECONDS_A_DAY: i64 = 86_400;
/// Failed calls that are shown.
const LAST_ERRORS: u32 = 5;
/// A model is troubled if so many calls of it failed, and so many percent.
const TROUBLED_CALLS: i64 = 3;
const TROUBLED_PERCENT: i64 = 20;
/// Most models that are told of.
const MAX_TROUBLED: usize = 20;

/// Dashboard of the organisation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Home {
    /// Wallet balances.
    balance: BalanceView,
    /// Low-balance threshold; null for none.
    #[schema(required)]
    low_balance_threshold_usd: Option<String>,
    /// Spend of today (UTC): charges minus refunds, as in the usage report.
    spent_today_usd: String,
    /// Spend of yesterday.
    spent_yesterday_usd: String,
    /// Spend of the last 30 days, including today.
    spent_30_days_usd: String,
    /// Average spend per day over the last seven full days and today, or since the first call.
    burn_per_day_usd: String,
    /// Whole days until the balance is used up at that rate; null without spend.
    #[schema(required)]
    days_left: Option<i64>,
    /// Calls completed today.
    calls_today: i64,
    /// Of these, failed calls, which are not charged.
    failed_today: i64,
    /// The last 14 days, oldest first.
    days: Vec<HomeDay>,
    /// Recent failed calls, newest first, at most five.
    last_errors: Vec<LogRow>,
    /// Models with at least three failed calls and a failure rate of 20 % since yesterday.
    failing_models: Vec<FailingModel>,
    /// Whether the organisation has an API key.
    has_key: bool,
    /// Whether the organisation has ever made a call.
    has_called: bool,
}

/// One UTC day.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HomeDay {
    /// The day.
    #[schema(example = "2026-11-16")]
    day: String,
    /// Spend: charges minus refunds.
    spent_usd: String,
    /// Completed calls.
    calls: i64,
    /// Failed calls.
    failed: i64,
}

/// A model with a high failure rate.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FailingModel {
    /// The model.
    model: String,
    /// Calls since yesterday.
    calls: i64,
    /// Failed calls.
    failed: i64,
}

/// Returns balance, burn rate and recent errors.
#[utoipa::path(get, path = "/api/home", operation_id = "home", tag = "wallet",
    responses((status = 200, description = "Dashboard of the organisation", body = Home)))]
pub(super) async fn home(
    State(shared): State<Shared>,
    own: MemberSession,
) -> Result<Json<Home>, ApiError> {
    let (balance, trial_ends) = amounts::balance(&shared, own.account).await?;
    let today = usage_report::today(&shared.people).await?;
    let month = by_day(&shared, &own, today).await?;
    let errors = Search {
        outcome: Some(OutcomeFilter::Failed),
        ..Search::of(own.account, LAST_ERRORS)
    };
    let errors = call_search::search(&shared.people, &errors).await?;
    let has_called = month.iter().any(|(_, sums)| sums.calls > 0)
        || usage_report::has_called(&shared.people, own.account).await?;
    let burn = burn(&month, today, own.now);
    let on = |day: UtcDay| of_day(&month, day);
    let all = spent_nanos(month.iter());
    let days = (0..SHOWN_DAYS).rev().map(|ago| {
        let day = today.earlier(ago);
        let sums = on(day);
        HomeDay {
            day: day.to_string(),
            spent_usd: sums.spent().to_string(),
            calls: sums.calls,
            failed: sums.failed,
        }
    });
    Ok(Json(Home {
        low_balance_threshold_usd: balance.low_balance_threshold.map(|mark| mark.to_string()),
        spent_today_usd: on(today).spent().to_string(),
        spent_yesterday_usd: on(today.earlier(1)).spent().to_string(),
        spent_30_days_usd: Money::from_nanos(all).to_string(),
        burn_per_day_usd: burn.to_string(),
        days_left: days_left(amounts::available(&balance), burn),
        calls_today: on(today).calls,
        failed_today: on(today).failed,
        days: days.collect(),
        last_errors: rows(&shared, own.account, &errors.calls).await?,
        failing_models: troubled(&shared, &own, today).await?,
        has_key: has_key(&shared, &own).await?,
        has_called,
        balance: BalanceView::of(&balance, trial_ends),
    }))
}

/// The sums of each of the last 30 days that has any.
async fn by_day(
    shared: &Shared,
    own: &MemberSession,
    today: UtcDay,
) -> Result<Vec<(UtcDay, Totals)>, ApiError> {
    let by = Grouping {
        day: true,
        ..Grouping::default()
    };
    let seen = seen(own, today.earlier(MONTH_DAYS.saturating_sub(1)), today);
    let report = usage_report::read(&shared.people, &seen, by, None, MAX_LINES).await?;
    let lines = report.lines.into_iter();
    Ok(lines
        .map(|line| (line.group_key.day, line.totals))
        .collect())
}

async fn troubled(
    shared: &Shared,
    own: &MemberSession,
    today: UtcDay,
) -> Result<Vec<FailingModel>, ApiError> {
    let by = Grouping {
        model: true,
        ..Grouping::default()
    };
    let seen = seen(own, today.earlier(1), today);
    let report = usage_report::read(&shared.people, &seen, by, None, MAX_LINES).await?;
    let is_troubled = |line: &ReportRow| {
        let sums = &line.totals;
        let share = sums.failed.saturating_mul(100);
        sums.failed >= TROUBLED_CALLS && share >= sums.calls.saturating_mul(TROUBLED_PERCENT)
    };
    let mut lines: Vec<ReportRow> = report.lines.into_iter().filter(is_troubled).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.totals.failed));
    let failing = lines.into_iter().take(MAX_TROUBLED);
    let failing = failing.map(|line| FailingModel {
        model: line.group_key.model,
        calls: line.totals.calls,
        failed: line.totals.failed,
    });
    Ok(failing.collect())
}

async fn has_key(shared: &Shared, own: &MemberSession) -> Result<bool, ApiError> {
    let mut session = shared.people.session().await?;
    let first = keys::list(&mut session, own.account, None, 1).await?;
    Ok(!first.is_empty())
}

fn seen(own: &MemberSession, from: UtcDay, to: UtcDay) -> UsageFilter {
    UsageFilter {
        account: own.account,
        below: None,
        key: None,
        model: None,
        from,
        to,
    }
}

fn of_day(month: &[(UtcDay, Totals)], day: UtcDay) -> Totals {
    let found = month.iter().find(|(of, _)| *of == day);
    found.map_or(Totals::NOTHING, |(_, sums)| *sums)
}

/// The spend of several days.
fn spent_nanos<'a>(days: impl Iterator<Item = &'a (UtcDay, Totals)>) -> i64 {
    days.fold(0, |sum: i64, (_, sums)| {
        sum.saturating_add(sums.spent().nanos())
    })
}

/// The mean of a day since the window began, or since the first day with a call in it; at least one day,
/// so that the first call does not look like a flood.
fn burn(month: &[(UtcDay, Totals)], today: UtcDay, now: Timestamp) -> Money {
    let window = today.earlier(BURN_DAYS);
    let inside = || month.iter().filter(|(day, _)| *day >= window);
    let first = inside()
        .filter(|(_, sums)| sums.calls > 0)
        .map(|(day, _)| *day)
        .min();
    let Some(first) = first else {
        return Money::ZERO;
    };
    let spent = spent_nanos(inside());
    let began = first.starts_at().seconds();
    let seconds = now.seconds().saturating_sub(began).max(SECONDS_A_DAY);
    let a_day = i128::from(spent.max(0))
        .saturating_mul(i128::from(SECONDS_A_DAY))
        .checked_div(i128::from(seconds));
    Money::from_nanos(
        a_day
            .and_then(|nanos| i64::try_from(nanos).ok())
            .unwrap_or(0),
    )
}

fn days_left(available: Money, burn: Money) -> Option<i64> {
    available.nanos().max(0).checked_div(burn.nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> UtcDay {
        UtcDay::parse(text).unwrap()
    }

    fn sums(calls: i64, paid: i64, refunded: i64) -> Totals {
        Totals {
            calls,
            paid: Money::from_nanos(paid),
            refunded: Money::from_nanos(refunded),
            ..Totals::NOTHING
        }
    }

    #[test]
    fn the_burn_rate_is_the_mean_of_seven_days_and_today_so_far() {
        let today = day("2026-11-16");
        let noon = today.starts_at().plus_seconds(43_200);
        let month = [
            (day("2026-11-01"), sums(9, 1_000_000, 0)),
            (day("2026-11-09"), sums(1, 4_000, 0)),
            (today, sums(3, 3_500, 0)),
        ];
        // 7,500 in seven and a half days.
        assert_eq!(burn(&month, today, noon), Money::from_nanos(1_000));
        assert_eq!(
            days_left(Money::from_nanos(9_999), Money::from_nanos(1_000)),
            Some(9)
        );
    }

    #[test]
    fn it_begins_with_the_first_call_and_a_first_day_counts_whole() {
        let today = day("2026-11-16");
        let soon = today.starts_at().plus_seconds(60);
        let first = [(today, sums(1, 500, 0))];
        assert_eq!(burn(&first, today, soon), Money::from_nanos(500));
        let two = [
            (day("2026-11-15"), sums(1, 500, 0)),
            (today, sums(1, 500, 0)),
        ];
        let half = today.starts_at().plus_seconds(43_200);
        assert_eq!(burn(&two, today, half), Money::from_nanos(666));
    }

    #[test]
    fn where_nothing_burns_no_days_are_counted() {
        let today = day("2026-11-16");
        let now = today.starts_at();
        assert_eq!(burn(&[], today, now), Money::ZERO);
        let back = [(today, sums(1, 100, 300))];
        assert_eq!(burn(&back, today, now), Money::ZERO);
        assert_eq!(back[0].1.spent(), Money::from_nanos(-200));
        assert_eq!(days_left(Money::from_nanos(5), Money::ZERO), None);
    }
}
