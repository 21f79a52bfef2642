//! Loads what a batch decides on, under the locks of the accounts.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::postgres::PgRow;
use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, KeyId, RequestId};
use uuid::Uuid;

use super::notifications::Notifications;
use super::partitions::by_day;
use crate::admission::{BatchState, BudgetWindow, BudgetWindowId, WalletSplit};
use crate::columns::{PeriodBoundary, account_of, column, request_of};
use crate::operations::Reserve;

/// The payer of a call: its account and, where there is one, its key.
pub(super) type Payer = (AccountId, Option<KeyId>);

/// What a payer's spending counts in.
#[derive(Default)]
pub(super) struct Payers {
    pub(super) known: BTreeSet<Payer>,
    pub(super) windows: BTreeMap<Payer, Vec<BudgetWindowId>>,
    /// The starts of windows as PostgreSQL writes them.
    pub(super) starts: BTreeMap<BudgetWindowId, String>,
}

/// A hold that exists already.
pub(super) struct Hold {
    pub(super) account: AccountId,
    pub(super) open: bool,
    pub(super) split: WalletSplit,
    pub(super) windows: Vec<BudgetWindowId>,
}

/// By idempotency key: the request, the hash of its body, and whether it is finished.
pub(super) type TakenKeys = BTreeMap<(AccountId, String), (RequestId, [u8; 32], bool)>;

pub(super) async fn read_holds(
    tx: &mut Tx,
    requests: impl Iterator<Item = RequestId>,
) -> Result<BTreeMap<RequestId, Hold>, DbError> {
    let mut holds = BTreeMap::new();
    for (day, requests) in by_day(requests, |request| *request) {
        let ids: Vec<Uuid> = requests.into_iter().map(RequestId::uuid).collect();
        let statement = day.tables(include_str!("../sql/read_holds.sql"));
        for row in &sqlx::query(statement)
            .bind(ids)
            .fetch_all(&mut **tx)
            .await?
        {
            holds.insert(request_of(row)?, hold_of(row)?);
        }
    }
    Ok(holds)
}

fn hold_of(row: &PgRow) -> Result<Hold, DbError> {
    let budgets: Vec<i64> = column(row, "budget_ids")?;
    let starts: Vec<PeriodBoundary> = column(row, "budget_starts")?;
    Ok(Hold {
        account: account_of(row)?,
        open: column::<&str>(row, "state")? == "open",
        split: WalletSplit {
            paid: column(row, "paid")?,
            trial: column(row, "trial")?,
        },
        windows: budgets
            .into_iter()
            .zip(starts.into_iter().map(PeriodBoundary::number))
            .collect(),
    })
}

pub(super) async fn read_payers(
    tx: &mut Tx,
    requested: &[(usize, &Reserve)],
    state: &mut BatchState,
    notifications: &mut Notifications,
) -> Result<Payers, DbError> {
    let mut payers = Payers::default();
    let mut keys: Vec<i64> = requested
        .iter()
        .filter_map(|(_, reserve)| reserve.key.map(KeyId::number))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    if !keys.is_empty() {
        let rows = sqlx::query(include_str!("../sql/read_spenders.sql"))
            .bind(keys)
            .fetch_all(&mut **tx)
            .await?;
        for row in &rows {
            let payer = (account_of(row)?, Some(KeyId::new(column(row, "key_id")?)));
            payers.add(payer, row, state, notifications)?;
        }
    }
    let keyless = requested
        .iter()
        .filter(|(_, reserve)| reserve.key.is_none());
    let accounts: BTreeSet<AccountId> = keyless.map(|(_, reserve)| reserve.account).collect();
    if !accounts.is_empty() {
        payers
            .known
            .extend(accounts.iter().map(|account| (*account, None)));
        let ids: Vec<i64> = accounts.iter().map(|account| account.number()).collect();
        let rows = sqlx::query(include_str!("../sql/read_account_budgets.sql"))
            .bind(ids)
            .fetch_all(&mut **tx)
            .await?;
        for row in &rows {
            payers.add((account_of(row)?, None), row, state, notifications)?;
        }
    }
    Ok(payers)
}

// === impl Payers ===

impl Payers {
    fn add(
        &mut self,
        payer: Payer,
        row: &PgRow,
        state: &mut BatchState,
        notifications: &mut Notifications,
    ) -> Result<(), DbError> {
        self.known.insert(payer);
        let Some(budget) = column::<Option<i64>>(row, "budget_id")? else {
            return Ok(());
        };
        let start: PeriodBoundary = column(row, "starts_at")?;
        let window = (budget, start.number());
        let limit: i64 = column(row, "limit_nanos")?;
        let used: i64 = column(row, "used")?;
        state.windows.entry(window).or_insert(BudgetWindow {
            id: budget,
            limit,
            used,
        });
        if column(row, "told")? {
            notifications.already_notified(window);
        }
        self.starts.insert(window, column(row, "start_text")?);
        self.windows.entry(payer).or_default().push(window);
        Ok(())
    }
}

pub(super) async fn read_windows(
    tx: &mut Tx,
    holds: &BTreeMap<RequestId, Hold>,
    state: &mut BatchState,
    notifications: &mut Notifications,
) -> Result<(), DbError> {
    let needed: BTreeSet<BudgetWindowId> = holds
        .values()
        .flat_map(|hold| hold.windows.iter().copied())
        .collect();
    let missing: Vec<BudgetWindowId> = needed
        .into_iter()
        .filter(|id| !state.windows.contains_key(id))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let rows = sqlx::query(include_str!("../sql/read_budget_windows.sql"))
        .bind(
            missing
                .iter()
                .map(|(budget, _)| *budget)
                .collect::<Vec<_>>(),
        )
        .bind(
            missing
                .iter()
                .map(|(_, start)| PeriodBoundary(*start))
                .collect::<Vec<_>>(),
        )
        .fetch_all(&mut **tx)
        .await?;
    for row in &rows {
        let id: i64 = column(row, "budget_id")?;
        let start: PeriodBoundary = column(row, "starts_at")?;
        let budget_window = BudgetWindow {
            id,
            limit: column(row, "limit_nanos")?,
            used: column(row, "used")?,
        };
        let window = (id, start.number());
        if column(row, "told")? {
            notifications.already_notified(window);
        }
        state.windows.insert(window, budget_window);
    }
    Ok(())
}

pub(super) async fn lock_capacities(
    tx: &mut Tx,
    requested: &[(usize, &Reserve)],
    state: &mut BatchState,
) -> Result<(), DbError> {
    let caps: BTreeMap<&str, i64> = requested
        .iter()
        .filter_map(|(_, reserve)| reserve.capacity.as_ref())
        .map(|capacity| (capacity.name.as_str(), capacity.cap))
        .collect();
    if caps.is_empty() {
        return Ok(());
    }
    let rows = sqlx::query(include_str!("../sql/lock_capacities.sql"))
        .bind(caps.keys().copied().collect::<Vec<_>>())
        .bind(caps.values().copied().collect::<Vec<_>>())
        .fetch_all(&mut **tx)
        .await?;
    for row in &rows {
        state
            .capacity_left
            .insert(column(row, "name")?, column(row, "left_today")?);
    }
    Ok(())
}

pub(super) async fn read_idempotency(
    tx: &mut Tx,
    requested: &[(usize, &Reserve)],
) -> Result<TakenKeys, DbError> {
    let keyed: Vec<(i64, &str)> = requested
        .iter()
        .filter_map(|(_, reserve)| {
            let idempotency = reserve.idempotency.as_ref()?;
            Some((reserve.account.number(), idempotency.key.as_str()))
        })
        .collect();
    if keyed.is_empty() {
        return Ok(TakenKeys::new());
    }
    let rows = sqlx::query(include_str!("../sql/read_idempotency.sql"))
        .bind(
            keyed
                .iter()
                .map(|(account, _)| *account)
                .collect::<Vec<_>>(),
        )
        .bind(keyed.iter().map(|(_, key)| *key).collect::<Vec<_>>())
        .fetch_all(&mut **tx)
        .await?;
    let taken = |row: &PgRow| {
        let hash: Vec<u8> = column(row, "body_hash")?;
        let hash: [u8; 32] = hash.try_into().unwrap_or_default();
        let finished = column::<&str>(row, "state")? == "finished";
        Ok((
            (account_of(row)?, column(row, "key")?),
            (request_of(row)?, hash, finished),
        ))
    };
    rows.iter().map(taken).collect()
}
