//! Many words in one transaction. The order of a batch is this page: who speaks, which accounts are
//! locked, then each kind of word in one statement.

mod days;
mod extend;
pub(crate) mod news;
mod reading;
pub(crate) mod refund;
mod reserve;
mod resolve;

use std::collections::BTreeMap;

use trunkline_db::{DbError, Tx};
use trunkline_types::AccountId;

use crate::decide::{Purse, Standing};
use crate::recovery::Author;
use crate::rows::column;
use crate::verbs::{Answer, Op};

use news::{Mark, Marks, News};
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
    let Locked { purses, marks } = lock_accounts(tx, accounts).await?;
    let mut standing = Standing {
        purses,
        ..Standing::default()
    };
    let mut said = Said::default();
    // Reservations first: they are waited for before anything is sent on, the rest after.
    reserve::reserve(tx, author, ops, &mut standing, &mut said).await?;
    extend::extend(tx, ops, &mut standing, &mut said).await?;
    resolve::settle_and_void(tx, author, ops, &mut said).await?;
    refund::refund(tx, ops, &mut said).await?;
    refund::write_off(tx, ops, &mut said.answers).await?;
    said.news.tell(tx, &marks).await?;
    Ok(said.answers.into_values().collect())
}

/// Gives back in the name of nobody: refunds are keyed by their call and right in any life.
pub(crate) async fn give_back_in(tx: &mut Tx, refunds: &[Op]) -> Result<(), DbError> {
    let locked = lock_accounts(tx, refunds.iter().map(Op::account).collect()).await?;
    let refunds: Vec<&Op> = refunds.iter().collect();
    let mut said = Said::default();
    refund::refund(tx, &refunds, &mut said).await?;
    said.news.tell(tx, &locked.marks).await
}

/// Answers by the place of the word in the batch.
type Answers = BTreeMap<usize, Answer>;

/// What a batch has said so far, and what it will have to tell of.
#[derive(Default)]
struct Said {
    answers: Answers,
    news: News,
}

/// Accounts under lock, as their rows were then.
pub(crate) struct Locked {
    pub(crate) purses: BTreeMap<AccountId, Purse>,
    /// Of those that want to be told of a low balance.
    pub(crate) marks: Marks,
}

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
) -> Result<Locked, DbError> {
    accounts.sort_unstable();
    accounts.dedup();
    let ids: Vec<i64> = accounts.iter().map(|account| account.number()).collect();
    let rows = sqlx::query(include_str!("sql/lock_accounts.sql"))
        .bind(ids)
        .fetch_all(&mut **tx)
        .await?;
    let (mut purses, mut marks) = (BTreeMap::new(), BTreeMap::new());
    for row in &rows {
        let account = AccountId::new(column(row, "id")?);
        let purse = Purse {
            paid_posted: column(row, "paid_posted")?,
            paid_held: column(row, "paid_held")?,
            trial_posted: column(row, "trial_posted")?,
            trial_held: column(row, "trial_held")?,
            topped_up: column(row, "topped_up")?,
        };
        if let Some(below) = column(row, "low_balance_nanos")? {
            let mark = Mark {
                below,
                told: column(row, "balance_low")?,
                posted: purse.paid_posted.saturating_add(purse.trial_posted),
            };
            marks.insert(account, mark);
        }
        purses.insert(account, purse);
    }
    Ok(Locked { purses, marks })
}
