//! Searches single calls of an account by filters, newest first. Read-only.
//!
//! A page is bounded in three ways: calls returned, days scanned (`day_scan`), and rows scanned.
//! One filter is served by an index where there is one (`query`); the others are applied to each
//! row. A page that ends early reports how far it scanned and where the next one continues.

mod detail;
mod query;

use serde_json::Value;
use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use trunkline_db::{Database, DbError, from_sql_time};
use trunkline_types::{AccountId, KeyId, Money, RequestId, Timestamp};
use uuid::Uuid;

use crate::columns::{column, request_of};
use crate::day_scan::{AccountLifetime, DayScan, IdRange, first_id, time_of};
use crate::outcome::Outcome;

pub use detail::{Attempt, CallDetail, Charged, Transfer, charges, detail, transfers};

/// Most calls of one page.
pub const MAX_PAGE: u32 = 200;
/// Rows that one statement scans. A page runs at most five statements.
pub const MAX_SCANNED_ROWS: u32 = 5_000;
/// Calls from this charge on are indexed as expensive. One US cent.
pub const EXPENSIVE: Money = Money::from_nanos(10_000_000);

/// Filters of a search. None does not filter.
#[derive(Debug, Clone)]
pub struct Search {
    pub account: AccountId,
    /// Those made with this key.
    pub key: Option<KeyId>,
    /// Those of this model.
    pub model: Option<String>,
    pub endpoint: Option<String>,
    pub outcome: Option<OutcomeFilter>,
    /// Those that cost at least so much.
    pub min_charge: Option<Money>,
    /// Those that began then or later.
    pub from: Option<Timestamp>,
    /// Those that began before.
    pub until: Option<Timestamp>,
    /// Those whose ids begin so.
    pub id_prefix: Option<IdPrefix>,
    /// Those before this one: where a page ended.
    pub before: Option<RequestId>,
    /// At most so many, up to [`MAX_PAGE`].
    pub limit: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeFilter {
    As(Outcome),
    /// Without delivering anything.
    Failed,
    Charged,
}

/// The prefix of a request id, as a range of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdPrefix {
    first: Uuid,
    last: Uuid,
}

/// A call that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub request: RequestId,
    pub key: Option<KeyId>,
    /// Public name of the model or data set.
    pub model: String,
    /// The interface that was called.
    pub endpoint: String,
    pub outcome: Outcome,
    /// Billed on the way in.
    pub input_units: i64,
    /// Billed on the way out.
    pub output_units: i64,
    /// Codes of warnings given to the caller.
    pub warnings: Vec<String>,
    /// Usage was estimated because the upstream did not report it.
    pub estimated: bool,
    /// Charged to the paid wallet.
    pub paid: Money,
    /// Charged to the trial wallet.
    pub trial: Money,
    /// Refunded of it since.
    pub refunded: Money,
    /// When it was admitted, by the database's clock.
    pub opened_at: Timestamp,
    /// When it was settled or voided.
    pub settled_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Newest first.
    pub calls: Vec<Call>,
    /// Where the next page goes on; none if there is nothing more.
    pub next: Option<RequestId>,
    /// How far this page scanned, if a scan limit ended it.
    pub searched_to: Option<Timestamp>,
}

/// A page of the calls that fit.
pub async fn search(database: &Database, search: &Search) -> Result<Page, DbError> {
    let mut session = database.session().await?;
    let Some(lifetime) = AccountLifetime::of(&mut session, search.account).await? else {
        return Ok(Page::nothing());
    };
    let mut found = pages(&mut session, search, lifetime).await?;
    add_refunds(&mut session, &mut found.calls).await?;
    Ok(found)
}

async fn pages(
    connection: &mut PgConnection,
    search: &Search,
    lifetime: AccountLifetime,
) -> Result<Page, DbError> {
    let most = usize::try_from(search.limit.clamp(1, MAX_PAGE)).unwrap_or(usize::MAX);
    let mut scan = DayScan::through(search.ids(lifetime));
    let mut calls: Vec<Call> = Vec::new();
    while let Some(step) = scan.step() {
        // One more than is returned shows whether there are more.
        let row_limit = most.saturating_add(1).saturating_sub(calls.len());
        let rows = query::statement(search, step, row_limit)
            .build()
            // Planned each time with the ids known, so that partitions of other days are not
            // opened.
            .persistent(false)
            .fetch_all(&mut *connection)
            .await?;
        for row in &rows {
            if column(row, "fits")? {
                calls.push(Call::of_row(row)?);
            }
            if calls.len() > most {
                calls.truncate(most);
                let next = calls.last().map(|call| call.request);
                return Ok(Page {
                    calls,
                    next,
                    searched_to: None,
                });
            }
            if column::<i64>(row, "place")? >= i64::from(MAX_SCANNED_ROWS) {
                return Ok(Page::ended_at(calls, request_of(row)?.uuid()));
            }
        }
    }
    Ok(match scan.rest() {
        Some(rest) => Page::ended_at(calls, rest),
        None => Page {
            calls,
            next: None,
            searched_to: None,
        },
    })
}

/// Adds the refunds of each call, by primary key, in the partitions of the page's days.
async fn add_refunds(connection: &mut PgConnection, calls: &mut [Call]) -> Result<(), DbError> {
    let charged = calls.iter().filter(|call| call.charged() > Money::ZERO);
    let ids: Vec<Uuid> = charged.map(|call| call.request.uuid()).collect();
    for (request, amount) in refunds_of(connection, &ids).await? {
        if let Some(call) = calls.iter_mut().find(|call| call.request.uuid() == request) {
            call.refunded = amount;
        }
    }
    Ok(())
}

/// Refunds of some requests; requests without are omitted.
pub(crate) async fn refunds_of(
    connection: &mut PgConnection,
    ids: &[Uuid],
) -> Result<Vec<(Uuid, Money)>, DbError> {
    let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
        return Ok(Vec::new());
    };
    let rows = sqlx::query(
        "SELECT t.request_id, sum(t.amount)::bigint AS amount FROM ledger.transfer AS t
         WHERE t.request_id >= $1 AND t.request_id <= $2 AND t.request_id = ANY ($3)
             AND t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
         GROUP BY t.request_id",
    )
    .bind(first)
    .bind(last)
    .bind(ids)
    .persistent(false)
    .fetch_all(connection)
    .await?;
    let read = |row: &PgRow| {
        let amount = column(row, "amount").map(Money::from_nanos)?;
        Ok((column(row, "request_id")?, amount))
    };
    rows.iter().map(read).collect()
}

// === impl Search ===

impl Search {
    /// All calls of an account.
    #[must_use]
    pub const fn of(account: AccountId, limit: u32) -> Self {
        Self {
            account,
            key: None,
            model: None,
            endpoint: None,
            outcome: None,
            min_charge: None,
            from: None,
            until: None,
            id_prefix: None,
            before: None,
            limit,
        }
    }

    /// The ids that can be among them.
    fn ids(&self, lifetime: AccountLifetime) -> IdRange {
        let mut ids = lifetime.ids();
        if let Some(from) = self.from {
            ids.from = ids.from.max(first_id(from));
        }
        if let Some(until) = self.until {
            ids.to = ids.to.min(first_id(until));
        }
        if let Some(begins) = self.id_prefix {
            let after = begins.last.as_u128().saturating_add(1);
            ids = ids.within(IdRange {
                from: begins.first,
                to: Uuid::from_u128(after),
            });
        }
        if let Some(before) = self.before {
            ids.to = ids.to.min(before.uuid());
        }
        ids
    }
}

// === impl IdPrefix ===

impl IdPrefix {
    /// Fewest characters, the prefix included.
    pub const MIN_PREFIX_CHARACTERS: usize = 8;
    const PREFIXES: [&'static str; 2] = ["req_", "task_"];
    const DIGITS: usize = 32;

    /// The beginning of the id of a request or a task, `req_` and `task_` included or not.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if text.len() < Self::MIN_PREFIX_CHARACTERS {
            return None;
        }
        let bare = Self::PREFIXES
            .iter()
            .find_map(|prefix| text.strip_prefix(prefix));
        let digits = bare.unwrap_or(&text);
        if digits.is_empty() || digits.len() > Self::DIGITS {
            return None;
        }
        let rest = Self::DIGITS.saturating_sub(digits.len());
        let filled = |with: &str| Uuid::try_parse(&format!("{digits}{}", with.repeat(rest))).ok();
        Some(Self {
            first: filled("0")?,
            last: filled("f")?,
        })
    }
}

// === impl Page ===

impl Page {
    const fn nothing() -> Self {
        Self {
            calls: Vec::new(),
            next: None,
            searched_to: None,
        }
    }

    /// A scan limit ended the page at this id.
    fn ended_at(calls: Vec<Call>, id: Uuid) -> Self {
        Self {
            calls,
            next: RequestId::from_uuid(id).ok(),
            searched_to: Some(time_of(id)),
        }
    }
}

// === impl Call ===

impl Call {
    /// What was charged to both wallets.
    #[must_use]
    pub fn charged(&self) -> Money {
        self.paid.checked_add(self.trial).unwrap_or(self.paid)
    }

    /// From its admission to its end.
    #[must_use]
    pub fn latency_millis(&self) -> i64 {
        let (opened, settled) = (self.opened_at.millis(), self.settled_at.millis());
        settled.saturating_sub(opened).max(0)
    }

    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let money = |name: &str| column(row, name).map(Money::from_nanos);
        Ok(Self {
            request: request_of(row)?,
            key: column::<Option<i64>>(row, "key_id")?.map(KeyId::new),
            model: column(row, "model")?,
            endpoint: column(row, "endpoint")?,
            outcome: outcome_of(row)?,
            input_units: column(row, "input_units")?,
            output_units: column(row, "output_units")?,
            warnings: column(row, "warnings")?,
            estimated: column(row, "estimated")?,
            paid: money("paid")?,
            trial: money("trial")?,
            refunded: Money::ZERO,
            opened_at: from_sql_time(column(row, "opened_at")?),
            settled_at: from_sql_time(column(row, "settled_at")?),
        })
    }
}

fn outcome_of(row: &PgRow) -> Result<Outcome, DbError> {
    let word: String = column(row, "outcome")?;
    let unknown = || {
        let text = format!("a call with the unknown outcome {word:?}");
        DbError::from(sqlx::Error::Decode(text.into()))
    };
    Outcome::of(&word).ok_or_else(unknown)
}

/// Counts by name, as the table stores them.
fn counts_of(value: &Value) -> Vec<(String, u64)> {
    let pairs = value.as_object().into_iter().flatten();
    let read = |(name, count): (&String, &Value)| Some((name.clone(), count.as_u64()?));
    pairs.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_an_id_is_a_range_of_ids() {
        let id = "req_019a5c6b7d8e7f0081828384858687aa";
        let whole = IdPrefix::parse(id).unwrap();
        assert_eq!(whole.first, whole.last);
        let request: RequestId = id.parse().unwrap();
        assert_eq!(whole.first, request.uuid());
        for text in [
            "req_019a5c",
            "019a5c6b",
            " REQ_019A5C6B7D ",
            "task_019a5c6b",
        ] {
            let part = IdPrefix::parse(text).unwrap();
            assert!(
                part.first < request.uuid() && request.uuid() < part.last,
                "{text}"
            );
        }
        for wrong in [
            "req_019",
            "req_",
            "019a5c6",
            "req_019a5cxy",
            &format!("{id}0"),
            "%%%%%%%%",
        ] {
            assert_eq!(IdPrefix::parse(wrong), None, "{wrong}");
        }
    }
}
