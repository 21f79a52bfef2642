//! Many words in one transaction. The order of a batch is this page: who speaks, which accounts are
//! locked, then each kind of word in one statement.

mod days;
mod extend;
mod reading;
pub(crate) mod refund;
mod reserve;
mod resolve;

use std::collections::BTreeMap;

use trunkline_db::{DbError, Tx};
use trunkline_terms::AccountId;

use crate::decide::{Purse, Standing};
use crate::recovery::Author;
use crate::rows::column;
use crate::verbs::{Answer, Op};

pub(crate) use resolve::{Resolution, resolve};

/// Why a batch did nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The node has begun another life since; this process must stop.
    #[error("this process was replaced: its epoch is over")]
    StaleEpoch,
    /// The database said no, or nothing.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Says all words in an open transaction, in the name of a node, and returns their answers in the
/// same order. Nothing is final before the caller commits.
pub async fn run_in(tx: &mut Tx, author: &Author, ops: &[&Op]) -> Result<Vec<Answer>, BatchError> {
    check_author(tx, author).await?;
    let accounts = ops.iter().map(|op| op.account()).collect();
    let mut standing = Standing {
        purses: lock_accounts(tx, accounts).await?,
        ..Standing::default()
    };
    let mut answers = BTreeMap::new();
    // Reservations first: they are waited for before anything is sent on, the rest after.
    reserve::reserve(tx, author, ops, &mut standing, &mut answers).await?;
    extend::extend(tx, ops, &mut standing, &mut answers).await?;
    resolve::settle_and_void(tx, author, ops, &mut answers).await?;
    refund::refund(tx, ops, &mut answers).await?;
    refund::write_off(tx, ops, &mut answers).await?;
    Ok(answers.into_values().collect())
}

/// Gives back in the name of nobody: refunds are keyed by their call and right in any life.
pub(crate) async fn give_back_in(tx: &mut Tx, refunds: &[Op]) -> Result<(), DbError> {
    lock_accounts(tx, refunds.iter().map(Op::account).collect()).await?;
    let refunds: Vec<&Op> = refunds.iter().collect();
    refund::refund(tx, &refunds, &mut Answers::new()).await
}

/// Answers by the place of the word in the batch.
type Answers = BTreeMap<usize, Answer>;

pub(crate) async fn check_author(tx: &mut Tx, author: &Author) -> Result<(), BatchError> {
    let lives: bool = sqlx::query_scalar(include_str!("sql/check_author.sql"))
        .bind(author.node.as_str())
        .bind(author.epoch)
        .fetch_one(&mut **tx)
        .await
        .map_err(DbError::from)?;
    lives.then_some(()).ok_or(BatchError::StaleEpoch)
}

pub(crate) async fn lock_accounts(
    tx: &mut Tx,
    mut accounts: Vec<AccountId>,
) -> Result<BTreeMap<AccountId, Purse>, DbError> {
    accounts.sort_unstable();
    accounts.dedup();
    let ids: Vec<i64> = accounts.iter().map(|account| account.number()).collect();
    let rows = sqlx::query(include_str!("sql/lock_accounts.sql"))
        .bind(ids)
        .fetch_all(&mut **tx)
        .await?;
    let purse = |row: &sqlx::postgres::PgRow| {
        let purse = Purse {
            paid_posted: column(row, "paid_posted")?,
            paid_held: column(row, "paid_held")?,
            trial_posted: column(row, "trial_posted")?,
            trial_held: column(row, "trial_held")?,
            topped_up: column(row, "topped_up")?,
        };
        Ok((AccountId::new(column(row, "id")?), purse))
    };
    rows.iter().map(purse).collect()
}
