//! Applies a batch of ledger operations in one transaction: check the node's epoch, lock the
//! accounts, then one statement per kind of operation.

mod extend;
mod load;
pub(crate) mod notifications;
pub(crate) mod partitions;
pub(crate) mod refund;
mod reserve;
mod settle_void;

use std::collections::BTreeMap;

use trunkline_db::{DbError, Tx};
use trunkline_types::AccountId;

use crate::admission::{BatchState, WalletBalances};
use crate::columns::column;
use crate::node_epoch::NodeEpoch;
use crate::operations::{Answer, Op};

use notifications::{LowBalanceThreshold, LowBalanceThresholds, Notifications};
pub(crate) use settle_void::{Resolution, resolve};

/// Why a batch was not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The node has registered a newer epoch; this process must stop.
    #[error("this process was replaced: its epoch is over")]
    StaleEpoch,
    /// The database refused, or did not answer.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Applies all operations in an open transaction under a node's epoch and returns their answers in
/// the same order. The caller commits.
pub async fn run_in(
    tx: &mut Tx,
    node_epoch: &NodeEpoch,
    ops: &[&Op],
) -> Result<Vec<Answer>, BatchError> {
    check_epoch(tx, node_epoch).await?;
    let accounts = ops.iter().map(|op| op.account()).collect();
    let Locked {
        balances,
        thresholds,
    } = lock_accounts(tx, accounts).await?;
    let mut state = BatchState {
        balances,
        ..BatchState::default()
    };
    let mut results = BatchResults::default();
    // Reservations first: calls wait for them before anything is sent upstream.
    reserve::reserve(tx, node_epoch, ops, &mut state, &mut results).await?;
    extend::extend(tx, ops, &mut state, &mut results).await?;
    settle_void::settle_and_void(tx, node_epoch, ops, &mut results).await?;
    refund::refund(tx, ops, &mut results).await?;
    refund::write_off(tx, ops, &mut results.answers).await?;
    results.notifications.write(tx, &thresholds).await?;
    Ok(results.answers.into_values().collect())
}

/// Applies refunds without checking an epoch: they are keyed by their request id and correct under
/// any.
pub(crate) async fn refund_in(tx: &mut Tx, refunds: &[Op]) -> Result<(), DbError> {
    let locked = lock_accounts(tx, refunds.iter().map(Op::account).collect()).await?;
    let refunds: Vec<&Op> = refunds.iter().collect();
    let mut results = BatchResults::default();
    refund::refund(tx, &refunds, &mut results).await?;
    results.notifications.write(tx, &locked.thresholds).await
}

/// Answers by the operation's index in the batch.
type Answers = BTreeMap<usize, Answer>;

/// Answers of a batch so far, and the events to write at its end.
#[derive(Default)]
struct BatchResults {
    answers: Answers,
    notifications: Notifications,
}

/// Locked accounts, as their rows were when locked.
pub(crate) struct Locked {
    pub(crate) balances: BTreeMap<AccountId, WalletBalances>,
    /// Of the accounts with a low-balance threshold.
    pub(crate) thresholds: LowBalanceThresholds,
}

pub(crate) async fn check_epoch(tx: &mut Tx, node_epoch: &NodeEpoch) -> Result<(), BatchError> {
    let lives: bool = sqlx::query_scalar(include_str!("sql/check_epoch.sql"))
        .bind(node_epoch.node.as_str())
        .bind(node_epoch.epoch)
        .fetch_one(&mut **tx)
        .await
        .map_err(DbError::from)?;
    lives.then_some(()).ok_or(BatchError::StaleEpoch)
}

pub(crate) async fn lock_accounts(
    tx: &mut Tx,
    mut accounts: Vec<AccountId>,
) -> Result<Locked, DbError> {
    accounts.sort_unstable();
    accounts.dedup();
    let ids: Vec<i64> = accounts.iter().map(|account| account.number()).collect();
    let rows = sqlx::query(include_str!("sql/lock_accounts.sql"))
        .bind(ids)
        .fetch_all(&mut **tx)
        .await?;
    let (mut balances, mut thresholds) = (BTreeMap::new(), BTreeMap::new());
    for row in &rows {
        let account = AccountId::new(column(row, "id")?);
        let balance = WalletBalances {
            paid_posted: column(row, "paid_posted")?,
            credit_limit: column(row, "credit_limit")?,
            paid_held: column(row, "paid_held")?,
            trial_posted: column(row, "trial_posted")?,
            trial_held: column(row, "trial_held")?,
            topped_up: column(row, "topped_up")?,
        };
        if let Some(below) = column(row, "low_balance_nanos")? {
            let threshold = LowBalanceThreshold {
                below,
                is_low: column(row, "balance_low")?,
                posted: balance.paid_posted.saturating_add(balance.trial_posted),
            };
            thresholds.insert(account, threshold);
        }
        balances.insert(account, balance);
    }
    Ok(Locked {
        balances,
        thresholds,
    })
}
