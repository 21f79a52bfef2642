//! Single calls with their sale and cost, newest first.
//!
//! Calls sold below their cost have an index of their own, and those of one account the index of the
//! account. All others are found by looking at a bounded number of calls; a page says how far it looked.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Postgres, QueryBuilder};
use trunkline_db::{Database, DbError, from_sql_time};
use trunkline_types::{AccountId, Money, RequestId, Timestamp};
use uuid::Uuid;

use super::MarginFilter;
use crate::call_search::refunds_of;
use crate::columns::{account_of, column, request_of};
use crate::day_scan::{DayScan, IdRange, first_id, time_of};

/// Most calls of one page.
pub const MAX_CALLS: u32 = 200;
/// Calls of one range that are looked at; a page has five ranges at most.
const MAX_SCANNED_ROWS: i64 = 10_000;
/// Each statement of a range looks at so many times the calls of the one before.
const BOUND_GROWTH: i64 = 8;
/// A call is settled at most so long after its id was made: tasks take hours.
const LONGEST_CALL_SECONDS: i64 = 3 * 86_400;

const COLUMNS: &str = "u.request_id, u.account_id, u.model, u.endpoint, u.group_name, \
    COALESCE((u.attempts -> -1 ->> 'channel')::bigint, 0) AS channel_id, u.tier, u.units, u.outcome, u.estimated, \
    u.paid, u.trial, u.cost, encode(u.price_version, 'hex') AS price_version, u.opened_at, u.settled_at";
/// The predicate of the index `usage_below_cost`, verbatim.
const BELOW_COST: &str = "u.cost > u.paid + u.trial \
    AND u.outcome IN ('complete', 'client_gone', 'balance_exhausted', 'accepted')";

/// Which calls.
#[derive(Debug, Clone)]
pub struct CallsSearch {
    pub filter: MarginFilter,
    /// Only those sold below their cost.
    pub below_cost: bool,
    /// Those before this one: where a page ended.
    pub before: Option<RequestId>,
    /// At most so many, up to [`MAX_CALLS`].
    pub limit: u32,
}

/// A call with its sale and cost.
#[derive(Debug, Clone, PartialEq)]
pub struct CallMargin {
    pub request: RequestId,
    pub account: AccountId,
    pub model: String,
    pub endpoint: String,
    /// The group whose prices applied.
    pub group: String,
    /// The last channel that was called; 0 if none was.
    pub channel: i64,
    pub tier: Option<String>,
    /// Billed units per face.
    pub units: serde_json::Value,
    pub outcome: String,
    /// The units, and so the cost, were inferred.
    pub estimated: bool,
    pub paid: Money,
    pub trial: Money,
    pub refunded: Money,
    /// None if it is not known.
    pub cost: Option<Money>,
    /// The version of the prices it was sold at, in hexadecimal.
    pub price_version: String,
    pub opened_at: Timestamp,
    pub settled_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallsPage {
    /// Newest first.
    pub calls: Vec<CallMargin>,
    /// Where the next page goes on; none if there is nothing more.
    pub next: Option<RequestId>,
    /// How far this page looked, if a bound ended it.
    pub searched_to: Option<Timestamp>,
}

/// A page of the calls that fit.
pub async fn calls(database: &Database, search: &CallsSearch) -> Result<CallsPage, DbError> {
    let mut session = database.session().await?;
    let mut page = scan(&mut session, search).await?;
    let ids: Vec<Uuid> = page.calls.iter().map(|call| call.request.uuid()).collect();
    for (request, amount) in refunds_of(&mut session, &ids).await? {
        let of = |call: &&mut CallMargin| call.request.uuid() == request;
        if let Some(call) = page.calls.iter_mut().find(of) {
            call.refunded = amount;
        }
    }
    Ok(page)
}

/// One call; none if it is unknown or still running.
pub async fn one_call(
    database: &Database,
    request: RequestId,
) -> Result<Option<CallMargin>, DbError> {
    let mut session = database.session().await?;
    let statement = format!("SELECT {COLUMNS} FROM ledger.usage AS u WHERE u.request_id = $1");
    let row = sqlx::query(sqlx::AssertSqlSafe(statement))
        .bind(request.uuid())
        .fetch_optional(&mut *session)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let mut call = CallMargin::of_row(&row)?;
    for (_, amount) in refunds_of(&mut session, &[request.uuid()]).await? {
        call.refunded = amount;
    }
    Ok(Some(call))
}

async fn scan(connection: &mut PgConnection, search: &CallsSearch) -> Result<CallsPage, DbError> {
    let mut scan = DayScan::through(search.ids());
    let mut page = CallsPage::default();
    while let Some(step) = scan.step() {
        scan_range(connection, search, step, &mut page).await?;
        if page.next.is_some() {
            return Ok(page);
        }
    }
    if let Some(rest) = scan.rest() {
        page.searched_to = Some(time_of(rest));
        page.next = RequestId::from_uuid(rest).ok();
    }
    Ok(page)
}

/// Adds the calls of a range that fit, until the page is full or enough calls were looked at. The first statement looks
/// at no more than a page: with a large bound the planner sorts all calls of a day instead of following the index.
async fn scan_range(
    connection: &mut PgConnection,
    search: &CallsSearch,
    mut range: IdRange,
    page: &mut CallsPage,
) -> Result<(), DbError> {
    let most = usize::try_from(search.limit.clamp(1, MAX_CALLS)).unwrap_or(usize::MAX);
    let mut left = MAX_SCANNED_ROWS;
    let mut bound = i64::from(search.limit.clamp(1, MAX_CALLS)).saturating_add(1);
    while left > 0 {
        bound = bound.min(left);
        // One more than is returned shows whether there are more.
        let rows = most.saturating_add(1).saturating_sub(page.calls.len());
        let rows = statement(search, range, bound, rows)
            .build()
            // Planned each time with the ids known, so that partitions of other days are not opened.
            .persistent(false)
            .fetch_all(&mut *connection)
            .await?;
        let mut last = None;
        for row in &rows {
            if column(row, "fits")? {
                page.calls.push(CallMargin::of_row(row)?);
            }
            if page.calls.len() > most {
                page.calls.truncate(most);
                page.next = page.calls.last().map(|call| call.request);
                return Ok(());
            }
            if column::<i64>(row, "place")? >= bound {
                last = Some(request_of(row)?);
            }
        }
        let Some(last) = last else { return Ok(()) };
        range.to = last.uuid();
        left = left.saturating_sub(bound);
        bound = bound.saturating_mul(BOUND_GROWTH);
        if left == 0 {
            page.searched_to = Some(time_of(last.uuid()));
            page.next = Some(last);
        }
    }
    Ok(())
}

/// The calls of a range. The inner query is served by an index and bounded; other conditions are applied to its rows.
fn statement(
    search: &CallsSearch,
    range: IdRange,
    bound: i64,
    row_limit: usize,
) -> QueryBuilder<Postgres> {
    let filter = &search.filter;
    let mut text = QueryBuilder::new(
        "SELECT s.* FROM (SELECT u.*, row_number() OVER (ORDER BY u.request_id DESC) AS place, (true",
    );
    text.push(" AND (u.settled_at AT TIME ZONE 'UTC')::date BETWEEN ");
    text.push_bind(filter.from.date()).push(" AND ");
    text.push_bind(filter.to.date());
    if let Some(channel) = filter.channel {
        text.push(" AND u.channel_id = ").push_bind(channel);
    }
    if let Some(model) = &filter.model {
        text.push(" AND u.model = ").push_bind(model);
    }
    if let Some(group) = &filter.group {
        text.push(" AND u.group_name = ").push_bind(group);
    }
    text.push(") AS fits FROM (SELECT ").push(COLUMNS);
    text.push(" FROM ledger.usage AS u WHERE u.request_id >= ");
    text.push_bind(range.from).push(" AND u.request_id < ");
    text.push_bind(range.to);
    if let Some(account) = filter.account {
        text.push(" AND u.account_id = ")
            .push_bind(account.number());
    }
    if search.below_cost {
        text.push(" AND ").push(BELOW_COST);
    }
    text.push(" ORDER BY u.request_id DESC LIMIT ");
    text.push_bind(bound);
    // The last row that may be looked at is returned even if it does not fit: it shows how far the scan came.
    text.push(") AS u) AS s WHERE s.fits OR s.place = ");
    text.push_bind(bound);
    text.push(" ORDER BY s.place LIMIT ");
    text.push_bind(i64::try_from(row_limit).unwrap_or(i64::MAX));
    text
}

// === impl CallsSearch ===

impl CallsSearch {
    /// The ids that can be among them: days are of the settlement, ids of the beginning.
    fn ids(&self) -> IdRange {
        let begins = self.filter.from.starts_at();
        let mut ids = IdRange {
            from: first_id(begins.plus_seconds(LONGEST_CALL_SECONDS.saturating_neg())),
            to: first_id(self.filter.to.next().starts_at()),
        };
        if let Some(before) = self.before {
            ids.to = ids.to.min(before.uuid());
        }
        ids
    }
}

// === impl CallMargin ===

impl CallMargin {
    /// Charges less refunds.
    #[must_use]
    pub fn sale(&self) -> Money {
        let charged = self.paid.checked_add(self.trial).unwrap_or(self.paid);
        charged.checked_sub(self.refunded).unwrap_or(charged)
    }

    /// None if the cost is not known.
    #[must_use]
    pub fn margin(&self) -> Option<Money> {
        self.sale().checked_sub(self.cost?).ok()
    }

    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        Ok(Self {
            request: request_of(row)?,
            account: account_of(row)?,
            model: column(row, "model")?,
            endpoint: column(row, "endpoint")?,
            group: column(row, "group_name")?,
            channel: column(row, "channel_id")?,
            tier: column(row, "tier")?,
            units: column(row, "units")?,
            outcome: column(row, "outcome")?,
            estimated: column(row, "estimated")?,
            paid: column(row, "paid").map(Money::from_nanos)?,
            trial: column(row, "trial").map(Money::from_nanos)?,
            refunded: Money::ZERO,
            cost: column::<Option<i64>>(row, "cost")?.map(Money::from_nanos),
            price_version: column(row, "price_version")?,
            opened_at: from_sql_time(column(row, "opened_at")?),
            settled_at: from_sql_time(column(row, "settled_at")?),
        })
    }
}
