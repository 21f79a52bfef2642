//! Rate limits of accounts, apart from those of their keys: in total, per model, per social
//! platform. The counters are in `trunkline_limits`.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use trunkline_db::{DbError, Tx, revision};
use trunkline_types::AccountId;

use crate::accounts;
use crate::validation::{FieldError, LIMIT_MAX, Problem, check_word};

/// The topic whose numbers the rows carry.
pub const TOPIC: &str = "limits";
/// Most rows: every node caches all of them.
pub const MAX_ROWS: usize = 100_000;

/// Rate limits. None means no limit of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    pub requests_per_minute: Option<i64>,
    pub tokens_per_minute: Option<i64>,
    pub concurrent_calls: Option<i64>,
}

/// What a limit applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// A model, by its public name.
    Model,
    /// A platform of social data, by its key.
    Platform,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimit {
    /// The account; none is the default of every account without its own row, each counted
    /// separately.
    pub account: Option<AccountId>,
    pub scope: Scope,
    /// Which model or platform.
    pub name: String,
    pub rates: Rates,
}

/// Why a limit was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetLimitError {
    /// No such account.
    #[error("there is no account {0}")]
    UnknownAccount(AccountId),
    #[error("a limit needs a number of requests, tokens or calls at once; remove it to have none")]
    Nothing,
    #[error("there are {MAX_ROWS} limits, which is the most")]
    TooMany,
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The database refused, or did not answer.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// All limits of models and platforms, in a steady order. At most [`MAX_ROWS`].
///
/// A follower reads the topic's revision first and the limits after, so they are never older than
/// their revision.
pub async fn list(connection: &mut PgConnection) -> Result<Vec<RateLimit>, DbError> {
    let rows = sqlx::query(
        "SELECT account_id, scope, name, requests_per_minute, tokens_per_minute, concurrent_calls
         FROM app.rate_limit ORDER BY account_id NULLS FIRST, scope, name LIMIT $1",
    )
    .bind(i64::try_from(MAX_ROWS).unwrap_or(i64::MAX))
    .fetch_all(connection)
    .await?;
    rows.iter().map(RateLimit::of_row).collect()
}

/// Writes a limit, or changes the one that is there.
///
/// The revision is taken before the rows are counted, which serialises writers: two cannot both
/// take the last free row.
pub async fn set(tx: &mut Tx, limit: &RateLimit) -> Result<(), SetLimitError> {
    limit.rates.check()?;
    check_word("name", &limit.name)?;
    if limit.rates == Rates::default() {
        return Err(SetLimitError::Nothing);
    }
    if let Some(account) = limit.account
        && accounts::find(tx, account).await?.is_none()
    {
        return Err(SetLimitError::UnknownAccount(account));
    }
    let number = revision::bump(tx, TOPIC).await?;
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM app.rate_limit")
        .fetch_one(&mut **tx)
        .await
        .map_err(DbError::from)?;
    if usize::try_from(count).unwrap_or(usize::MAX) >= MAX_ROWS {
        return Err(SetLimitError::TooMany);
    }
    sqlx::query(
        "INSERT INTO app.rate_limit (account_id, scope, name, requests_per_minute, tokens_per_minute,
             concurrent_calls, revision)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (account_id, scope, name) DO UPDATE SET
             requests_per_minute = excluded.requests_per_minute,
             tokens_per_minute = excluded.tokens_per_minute,
             concurrent_calls = excluded.concurrent_calls, revision = excluded.revision",
    )
    .bind(limit.account.map(AccountId::number))
    .bind(limit.scope.as_str())
    .bind(&limit.name)
    .bind(limit.rates.requests_per_minute)
    .bind(limit.rates.tokens_per_minute)
    .bind(limit.rates.concurrent_calls)
    .bind(number)
    .execute(&mut **tx)
    .await
    .map_err(DbError::from)?;
    Ok(())
}

/// Removes a limit. False if there is no such one.
pub async fn remove(
    tx: &mut Tx,
    account: Option<AccountId>,
    scope: Scope,
    name: &str,
) -> Result<bool, DbError> {
    revision::bump(tx, TOPIC).await?;
    let gone = sqlx::query(
        "DELETE FROM app.rate_limit
         WHERE account_id IS NOT DISTINCT FROM $1 AND scope = $2 AND name = $3",
    )
    .bind(account.map(AccountId::number))
    .bind(scope.as_str())
    .bind(name)
    .execute(&mut **tx)
    .await?;
    Ok(gone.rows_affected() == 1)
}

/// Sets an account's overall limits. False if there is no such account.
pub async fn set_account(
    tx: &mut Tx,
    account: AccountId,
    rates: Rates,
) -> Result<bool, SetLimitError> {
    rates.check()?;
    let number = revision::bump(tx, accounts::TOPIC).await?;
    let changed = sqlx::query(
        "UPDATE app.account SET requests_per_minute = $2, tokens_per_minute = $3,
             concurrent_calls = $4, revision = $5
         WHERE id = $1",
    )
    .bind(account.number())
    .bind(rates.requests_per_minute)
    .bind(rates.tokens_per_minute)
    .bind(rates.concurrent_calls)
    .bind(number)
    .execute(&mut **tx)
    .await
    .map_err(DbError::from)?;
    Ok(changed.rows_affected() == 1)
}

// === impl Rates ===

impl Rates {
    pub(crate) fn of_row(row: &PgRow) -> Result<Self, DbError> {
        Ok(Self {
            requests_per_minute: row.try_get("requests_per_minute")?,
            tokens_per_minute: row.try_get("tokens_per_minute")?,
            concurrent_calls: row.try_get("concurrent_calls")?,
        })
    }

    fn check(&self) -> Result<(), FieldError> {
        let (least, most) = (1, LIMIT_MAX);
        for (field, limit) in [
            ("requests_per_minute", self.requests_per_minute),
            ("tokens_per_minute", self.tokens_per_minute),
            ("concurrent_calls", self.concurrent_calls),
        ] {
            if limit.is_some_and(|limit| !(least..=most).contains(&limit)) {
                return Err(FieldError::new(field, Problem::OutOfRange { least, most }));
            }
        }
        Ok(())
    }
}

// === impl Scope ===

impl Scope {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Platform => "platform",
        }
    }

    fn of_word(word: &str) -> Result<Self, DbError> {
        match word {
            "model" => Ok(Self::Model),
            "platform" => Ok(Self::Platform),
            _ => Err(DbError::from(sqlx::Error::Decode(
                format!("{word:?} is no scope of a limit").into(),
            ))),
        }
    }
}

// === impl RateLimit ===

impl RateLimit {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let account: Option<i64> = row.try_get("account_id")?;
        let scope: String = row.try_get("scope")?;
        Ok(Self {
            account: account.map(AccountId::new),
            scope: Scope::of_word(&scope)?,
            name: row.try_get("name")?,
            rates: Rates::of_row(row)?,
        })
    }
}
