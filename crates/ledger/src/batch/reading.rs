//! What a batch reads before it decides, all of it under the locks of the accounts.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::postgres::PgRow;
use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, KeyId, RequestId};
use uuid::Uuid;

use super::days::by_day;
use super::news::News;
use crate::decide::{BudgetRoom, Legs, Standing, StretchId};
use crate::rows::{Edge, account_of, column, request_of};
use crate::verbs::Reserve;

/// Who spends: the account of a call and, where there is one, its key.
pub(super) type Payer = (AccountId, Option<KeyId>);

/// What a payer's spending counts in.
#[derive(Default)]
pub(super) struct Payers {
    pub(super) known: BTreeSet<Payer>,
    pub(super) stretches: BTreeMap<Payer, Vec<StretchId>>,
    /// The starts of stretches as PostgreSQL writes them.
    pub(super) starts: BTreeMap<StretchId, String>,
}

/// A hold that is already there.
pub(super) struct Hold {
    pub(super) account: AccountId,
    pub(super) open: bool,
    pub(super) legs: Legs,
    pub(super) stretches: Vec<StretchId>,
}

/// Which call a client's key names, the hash of its body, and whether it is over.
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
    let starts: Vec<Edge> = column(row, "budget_starts")?;
    Ok(Hold {
        account: account_of(row)?,
        open: column::<&str>(row, "state")? == "open",
        legs: Legs {
            paid: column(row, "paid")?,
            trial: column(row, "trial")?,
        },
        stretches: budgets
            .into_iter()
            .zip(starts.into_iter().map(Edge::number))
            .collect(),
    })
}

pub(super) async fn read_payers(
    tx: &mut Tx,
    asked: &[(usize, &Reserve)],
    standing: &mut Standing,
    news: &mut News,
) -> Result<Payers, DbError> {
    let mut payers = Payers::default();
    let mut keys: Vec<i64> = asked
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
            payers.add(payer, row, (standing, news))?;
        }
    }
    let keyless = asked.iter().filter(|(_, reserve)| reserve.key.is_none());
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
            payers.add((account_of(row)?, None), row, (standing, news))?;
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
        (standing, news): (&mut Standing, &mut News),
    ) -> Result<(), DbError> {
        self.known.insert(payer);
        let Some(budget) = column::<Option<i64>>(row, "budget_id")? else {
            return Ok(());
        };
        let start: Edge = column(row, "starts_at")?;
        let stretch = (budget, start.number());
        let limit: i64 = column(row, "limit_nanos")?;
        let used: i64 = column(row, "used")?;
        standing.stretches.entry(stretch).or_insert(BudgetRoom {
            id: budget,
            limit,
            used,
        });
        if column(row, "told")? {
            news.told_before(stretch);
        }
        self.starts.insert(stretch, column(row, "start_text")?);
        self.stretches.entry(payer).or_default().push(stretch);
        Ok(())
    }
}

pub(super) async fn read_stretches(
    tx: &mut Tx,
    holds: &BTreeMap<RequestId, Hold>,
    standing: &mut Standing,
    news: &mut News,
) -> Result<(), DbError> {
    let wanted: BTreeSet<StretchId> = holds
        .values()
        .flat_map(|hold| hold.stretches.iter().copied())
        .collect();
    let missing: Vec<StretchId> = wanted
        .into_iter()
        .filter(|id| !standing.stretches.contains_key(id))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let rows = sqlx::query(include_str!("../sql/read_stretches.sql"))
        .bind(
            missing
                .iter()
                .map(|(budget, _)| *budget)
                .collect::<Vec<_>>(),
        )
        .bind(
            missing
                .iter()
                .map(|(_, start)| Edge(*start))
                .collect::<Vec<_>>(),
        )
        .fetch_all(&mut **tx)
        .await?;
    for row in &rows {
        let id: i64 = column(row, "budget_id")?;
        let start: Edge = column(row, "starts_at")?;
        let room = BudgetRoom {
            id,
            limit: column(row, "limit_nanos")?,
            used: column(row, "used")?,
        };
        let stretch = (id, start.number());
        if column(row, "told")? {
            news.told_before(stretch);
        }
        standing.stretches.insert(stretch, room);
    }
    Ok(())
}

pub(super) async fn lock_places(
    tx: &mut Tx,
    asked: &[(usize, &Reserve)],
    standing: &mut Standing,
) -> Result<(), DbError> {
    let caps: BTreeMap<&str, i64> = asked
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
        standing
            .places
            .insert(column(row, "name")?, column(row, "left_today")?);
    }
    Ok(())
}

pub(super) async fn read_idempotency(
    tx: &mut Tx,
    asked: &[(usize, &Reserve)],
) -> Result<TakenKeys, DbError> {
    let keyed: Vec<(i64, &str)> = asked
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
