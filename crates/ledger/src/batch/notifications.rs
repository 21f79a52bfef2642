//! Events of a batch: refunds, balances below their threshold, budgets that refused a call or are
//! used up. They are written last, in the same transaction and under the locks of the accounts, so
//! each is written once whatever the number of nodes. A batch without events runs no statement for
//! them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use trunkline_db::events::{self, NewEvent};
use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, RequestId, Topic};
use uuid::Uuid;

use crate::admission::{BudgetWindowId, WalletSplit, money};
use crate::columns::{PeriodBoundary, account_of, column};
use crate::operations::{RefundKind, Shortage};

/// An account's low-balance threshold, and whether its event was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LowBalanceThreshold {
    pub(crate) below: i64,
    pub(crate) is_low: bool,
    /// Posted in both wallets when the account was locked.
    pub(crate) posted: i64,
}

/// The thresholds of accounts that have one.
pub(crate) type LowBalanceThresholds = BTreeMap<AccountId, LowBalanceThreshold>;

/// A refund that was made.
#[derive(Debug)]
pub(super) struct Refunded {
    pub(super) event: Uuid,
    pub(super) request: RequestId,
    pub(super) account: AccountId,
    pub(super) kind: RefundKind,
    pub(super) model: String,
    /// The task that the charge was for.
    pub(super) task: Option<Uuid>,
    pub(super) split: WalletSplit,
}

/// Events to write at the end of a batch.
#[derive(Debug, Default)]
pub(crate) struct Notifications {
    posted: BTreeMap<AccountId, i64>,
    /// Budget windows whose event was written before.
    old: BTreeSet<BudgetWindowId>,
    reached: BTreeSet<BudgetWindowId>,
    refunded: Vec<Refunded>,
}

// === impl Notifications ===

impl Notifications {
    /// An account's posted balance changed.
    pub(crate) fn posted(&mut self, account: AccountId, change: i64) {
        let sum = self.posted.entry(account).or_default();
        *sum = sum.saturating_add(change);
    }

    /// The event of this budget window was written before.
    pub(super) fn already_notified(&mut self, window: BudgetWindowId) {
        self.old.insert(window);
    }

    /// A window of a budget is used up.
    pub(super) fn reached(&mut self, window: BudgetWindowId) {
        if !self.old.contains(&window) {
            self.reached.insert(window);
        }
    }

    /// A call was refused; if by a budget, in one of these windows.
    pub(super) fn refused(&mut self, by: Shortage, windows: &[BudgetWindowId]) {
        match by {
            Shortage::Wallet => {}
            Shortage::Budget(id) => {
                let window = windows.iter().find(|(budget, _)| *budget == id);
                if let Some(window) = window {
                    self.reached(*window);
                }
            }
        }
    }

    pub(super) fn refunded(&mut self, back: Refunded) {
        self.posted(back.account, back.split.total());
        self.refunded.push(back);
    }

    /// Writes all events. The thresholds are as they were before the batch.
    pub(crate) async fn write(
        self,
        tx: &mut Tx,
        thresholds: &LowBalanceThresholds,
    ) -> Result<(), DbError> {
        let crossed = self.crossed(thresholds);
        let mut events: Vec<NewEvent> = self.refunded.into_iter().map(refund_event).collect();
        if !crossed.is_empty() {
            events.extend(update_low_balance(tx, &crossed).await?);
        }
        if !self.reached.is_empty() {
            events.extend(mark_reached(tx, &self.reached).await?);
        }
        events::append(tx, &events).await
    }

    /// Accounts that crossed their threshold, and whether they are below it now.
    fn crossed(&self, thresholds: &LowBalanceThresholds) -> Vec<(AccountId, bool)> {
        let side = |(account, change): (&AccountId, &i64)| {
            let threshold = thresholds.get(account)?;
            let low = threshold.posted.saturating_add(*change) < threshold.below;
            (low != threshold.is_low).then_some((*account, low))
        };
        self.posted.iter().filter_map(side).collect()
    }
}

/// Writes the events of a packed batch.
pub(crate) async fn write_events(
    tx: &mut Tx,
    crossed: &[(AccountId, bool)],
    reached: &BTreeSet<BudgetWindowId>,
) -> Result<(), DbError> {
    let mut events = Vec::new();
    if !crossed.is_empty() {
        events.extend(update_low_balance(tx, crossed).await?);
    }
    if !reached.is_empty() {
        events.extend(mark_reached(tx, reached).await?);
    }
    events::append(tx, &events).await
}

fn refund_event(back: Refunded) -> NewEvent {
    NewEvent {
        id: back.event,
        account: back.account,
        topic: Topic::CallRefunded,
        task: back.task,
        body: json!({
            "request_id": back.request.to_string(),
            "kind": back.kind.as_str(),
            "amount_usd": money(back.split.total()).to_string(),
            "model": back.model,
        }),
    }
}

/// Updates the low-balance flags and returns the events of accounts that fell below.
pub(crate) async fn update_low_balance(
    tx: &mut Tx,
    crossed: &[(AccountId, bool)],
) -> Result<Vec<NewEvent>, DbError> {
    let rows = sqlx::query(include_str!("../sql/update_low_balance.sql"))
        .bind(
            crossed
                .iter()
                .map(|(account, _)| account.number())
                .collect::<Vec<_>>(),
        )
        .bind(crossed.iter().map(|(_, low)| *low).collect::<Vec<_>>())
        .fetch_all(&mut **tx)
        .await?;
    let mut events = Vec::new();
    for row in &rows {
        if !column::<bool>(row, "balance_low")? {
            continue;
        }
        let usd = |name: &str| column(row, name).map(|nanos| money(nanos).to_string());
        events.push(NewEvent {
            id: column(row, "event_id")?,
            account: AccountId::new(column(row, "id")?),
            topic: Topic::BalanceLow,
            task: None,
            body: json!({ "balance_usd": usd("posted")?, "threshold_usd": usd("low_balance_nanos")? }),
        });
    }
    Ok(events)
}

async fn mark_reached(
    tx: &mut Tx,
    reached: &BTreeSet<BudgetWindowId>,
) -> Result<Vec<NewEvent>, DbError> {
    let rows = sqlx::query(include_str!("../sql/mark_reached.sql"))
        .bind(
            reached
                .iter()
                .map(|(budget, _)| *budget)
                .collect::<Vec<_>>(),
        )
        .bind(
            reached
                .iter()
                .map(|(_, start)| PeriodBoundary(*start))
                .collect::<Vec<_>>(),
        )
        .fetch_all(&mut **tx)
        .await?;
    let event = |row: &sqlx::postgres::PgRow| {
        let usd = |name: &str| column(row, name).map(|nanos| money(nanos).to_string());
        Ok(NewEvent {
            id: column(row, "event_id")?,
            account: account_of(row)?,
            topic: Topic::BudgetReached,
            task: None,
            body: json!({
                "budget": column::<i64>(row, "budget_id")?,
                "key": column::<Option<i64>>(row, "key_id")?,
                "period": column::<String>(row, "period")?,
                "limit_usd": usd("limit_nanos")?,
                "used_usd": usd("used")?,
                "ends_at": column::<Option<i64>>(row, "ends_at")?,
            }),
        })
    };
    rows.iter().map(event).collect()
}
