//! The statement of one id range of a search.
//!
//! One condition is in the inner query, with the limit on scanned rows, and is served by an index;
//! the others are applied outside. Which one is inner is decided here and not by the planner, whose
//! estimates of rare rows are sometimes far off: an equality is written as a range and the order
//! names the column, so that no other index serves it.

use sqlx::{Postgres, QueryBuilder};
use trunkline_types::KeyId;

use super::{EXPENSIVE, MAX_SCANNED_ROWS, OutcomeFilter, Search};
use crate::day_scan::IdRange;

/// The predicate of the index `usage_failed_or_expensive`, verbatim: 1 for a failed call, 2 for an
/// expensive one.
const IS_MARKED: &str = "(u.outcome NOT IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') \
    OR u.paid + u.trial >= 10000000)";
const MARK: &str = "(CASE WHEN u.outcome NOT IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') \
    THEN 1 ELSE 2 END)";
const FAILED: &str =
    "u.outcome NOT IN ('complete', 'client_gone', 'balance_exhausted', 'accepted')";
const FAILED_MARK: i32 = 1;
const DEAR_MARK: i32 = 2;

/// The outcome as it is known now: a task that was taken may have failed since.
const OUTCOME: &str = "CASE WHEN u.outcome = 'accepted' THEN COALESCE((SELECT f.outcome \
    FROM ledger.late_failure AS f WHERE f.request_id = u.request_id), u.outcome) ELSE u.outcome END AS outcome";

/// The condition of the inner query.
enum Leads<'a> {
    Mark(i32),
    Key(KeyId),
    Model(&'a str),
    Account,
}

pub(super) fn statement(
    search: &Search,
    step: IdRange,
    row_limit: usize,
) -> QueryBuilder<Postgres> {
    let leads = Leads::of(search);
    let scanned = i64::from(MAX_SCANNED_ROWS);
    let mut text = QueryBuilder::new("SELECT s.* FROM (SELECT u.*, row_number() OVER (ORDER BY ");
    if leads.by().is_some() {
        text.push("u.lead DESC, ");
    }
    text.push("u.request_id DESC) AS place, (true");
    conditions(&mut text, search);
    text.push(") AS fits FROM (");
    if let Leads::Mark(FAILED_MARK) = leads {
        text.push("SELECT u.* FROM ((");
        scan(&mut text, search, step, &leads);
        text.push(") UNION ALL (");
        scan_late_failures(&mut text, search, step);
        text.push(")) AS u ORDER BY u.lead DESC, u.request_id DESC LIMIT ");
        text.push_bind(scanned);
    } else {
        scan(&mut text, search, step, &leads);
    }
    // The last row that may be scanned is returned even if it does not match: it shows how far the
    // scan came.
    text.push(") AS u) AS s WHERE s.fits OR s.place = ");
    text.push_bind(scanned).push(" LIMIT ");
    text.push_bind(i64::try_from(row_limit).unwrap_or(i64::MAX));
    text
}

fn columns(text: &mut QueryBuilder<Postgres>) {
    text.push("SELECT u.request_id, u.key_id, u.model, u.endpoint, ");
    text.push(OUTCOME);
    text.push(
        ", u.warnings, u.estimated, u.paid, u.trial, u.opened_at, u.settled_at,
             ledger.input_units(u.units) AS input_units, ledger.output_units(u.units) AS output_units",
    );
}

/// The calls of a range that the leading condition matches, newest first.
fn scan(text: &mut QueryBuilder<Postgres>, search: &Search, step: IdRange, leads: &Leads<'_>) {
    columns(text);
    if let Some(by) = leads.by() {
        text.push(", ").push(by).push(" AS lead");
    }
    text.push(" FROM ledger.usage AS u WHERE u.account_id = ");
    text.push_bind(search.account.number());
    text.push(" AND u.request_id >= ").push_bind(step.from);
    text.push(" AND u.request_id < ").push_bind(step.to);
    leads.condition(text);
    text.push(" ORDER BY ");
    if let Some(by) = leads.by() {
        text.push(by).push(" DESC, ");
    }
    text.push("u.request_id DESC LIMIT ");
    text.push_bind(i64::from(MAX_SCANNED_ROWS));
}

/// The calls of a range that failed after they were charged: the index of failed calls has them as taken.
fn scan_late_failures(text: &mut QueryBuilder<Postgres>, search: &Search, step: IdRange) {
    columns(text);
    text.push(", ").push_bind(FAILED_MARK).push(" AS lead");
    text.push(" FROM ledger.late_failure AS late JOIN ledger.usage AS u ON u.request_id = late.request_id");
    // Both ranges: the tables of other days are not opened.
    for id in ["late.request_id", "u.request_id"] {
        text.push(if id.starts_with('l') {
            " WHERE "
        } else {
            " AND "
        });
        text.push(id).push(" >= ").push_bind(step.from);
        text.push(" AND ").push(id).push(" < ").push_bind(step.to);
    }
    text.push(" AND late.account_id = ");
    text.push_bind(search.account.number());
    text.push(" ORDER BY late.request_id DESC LIMIT ");
    text.push_bind(i64::from(MAX_SCANNED_ROWS));
}

fn conditions(text: &mut QueryBuilder<Postgres>, search: &Search) {
    if let Some(key) = search.key {
        text.push(" AND u.key_id = ").push_bind(key.number());
    }
    if let Some(model) = &search.model {
        text.push(" AND u.model = ").push_bind(model);
    }
    if let Some(endpoint) = &search.endpoint {
        text.push(" AND u.endpoint = ").push_bind(endpoint);
    }
    if let Some(least) = search.min_charge {
        text.push(" AND u.paid + u.trial >= ")
            .push_bind(least.nanos());
    }
    match search.outcome {
        None => {}
        Some(OutcomeFilter::As(outcome)) => {
            text.push(" AND u.outcome = ").push_bind(outcome.as_str());
        }
        Some(OutcomeFilter::Failed) => {
            text.push(" AND ").push(FAILED);
        }
        Some(OutcomeFilter::Charged) => {
            text.push(" AND u.paid + u.trial > 0");
        }
    }
}

// === impl Leads ===

impl<'a> Leads<'a> {
    /// The condition that is expected to match the fewest rows.
    fn of(search: &'a Search) -> Self {
        let failed = match search.outcome {
            Some(OutcomeFilter::Failed) => true,
            Some(OutcomeFilter::As(outcome)) => outcome.is_failed(),
            Some(OutcomeFilter::Charged) | None => false,
        };
        match (search.key, search.model.as_deref()) {
            _ if failed => Self::Mark(FAILED_MARK),
            _ if search.min_charge.is_some_and(|least| least >= EXPENSIVE) => Self::Mark(DEAR_MARK),
            (Some(key), _) => Self::Key(key),
            (None, Some(model)) => Self::Model(model),
            (None, None) => Self::Account,
        }
    }

    /// What the rows are in the order of, newest first.
    const fn by(&self) -> Option<&'static str> {
        match self {
            Self::Account => None,
            Self::Mark(_) => Some(MARK),
            Self::Key(_) => Some("u.key_id"),
            Self::Model(_) => Some("u.model"),
        }
    }

    fn condition(&self, text: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Account => {}
            Self::Mark(mark) => {
                text.push(" AND ").push(IS_MARKED);
                self.range(text, *mark);
            }
            Self::Key(key) => self.range(text, key.number()),
            Self::Model(model) => self.range(text, (*model).to_owned()),
        }
    }

    /// From a value to the same value.
    fn range<T>(&self, text: &mut QueryBuilder<Postgres>, value: T)
    where
        T: Clone + Send + 'static + for<'q> sqlx::Encode<'q, Postgres> + sqlx::Type<Postgres>,
    {
        let Some(by) = self.by() else { return };
        text.push(" AND ").push(by).push(" >= ");
        text.push_bind(value.clone());
        text.push(" AND ").push(by).push(" <= ").push_bind(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    const MIGRATION: &str =
        include_str!("../../../../migrations/20261126010200_usage_and_transfers.sql");

    #[test]
    fn the_index_of_marked_calls_is_of_what_a_search_asks_for() {
        let words: Vec<String> = Outcome::ALL
            .into_iter()
            .filter(|one| !one.is_failed())
            .map(|one| format!("'{}'", one.as_str()))
            .collect();
        let words = words.join(", ");
        assert_eq!(FAILED, format!("u.outcome NOT IN ({words})"));
        let plain = |text: &str| {
            let text = text.replace("u.", "");
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let file = plain(MIGRATION);
        assert_eq!(
            plain(MARK),
            format!("(CASE WHEN {} THEN 1 ELSE 2 END)", plain(FAILED))
        );
        assert!(file.contains(&plain(MARK)));
        let marked = format!(
            "({} OR paid + trial >= {})",
            plain(FAILED),
            EXPENSIVE.nanos()
        );
        assert_eq!(plain(IS_MARKED), marked);
        assert!(file.contains(&format!("WHERE {marked};")));
    }
}
