//! A transaction with a reliable result of its commit.
//!
//! Three things that sqlx's own does not do. It says `Ok` to a commit only when the server has
//! committed: PostgreSQL answers `COMMIT` with a friendly `ROLLBACK` when a statement has failed
//! before, and sqlx does not look. It returns [`DbError::UnknownCommit`] when the outcome is
//! unknown. And it never waits for ever.

use std::fmt;
use std::ops::{Deref, DerefMut};

use sqlx::{PgConnection, SqlSafeStr as _};

use crate::error::{Cause, DbError, within};
use crate::pooled_connection::{PooledConnection, ROLLBACK, Session};
use crate::tenant;

/// Ends the transaction in one round trip. The savepoint is a question: where a statement has failed
/// (25P02), or where there is no transaction any more (25P01), it raises, and nothing is committed.
const COMMIT: &str = "SAVEPOINT still_good; COMMIT";

/// An open transaction, read committed.
///
/// End it with [`Tx::commit`], [`Tx::rollback`] or [`Tx::finish`]. One that is dropped is rolled back
/// by closing its connection, which is right when a caller has gone and dear when it happens often.
///
/// It stands for a `PgConnection`: `query.execute(&mut *tx)`. Never say `tx.begin()` on it: sqlx does
/// not know that a transaction is open and would end this one.
pub struct Tx(PooledConnection);

// === impl Tx ===

impl Tx {
    pub(crate) async fn begin(mut pooled: PooledConnection) -> Result<Self, DbError> {
        pooled.unfit = true;
        let limit = pooled.answer_timeout;
        let begin = match pooled.account {
            None => pooled.begin.into_sql_str(),
            Some(account) => tenant::begin(pooled.begin, account),
        };
        let begin = sqlx::raw_sql(begin).execute(&mut *pooled.connection);
        within(limit, begin).await?;
        Ok(Self(pooled))
    }

    /// Commits. `Ok` is said only when the server has confirmed it.
    pub async fn commit(self) -> Result<(), DbError> {
        self.committed().await.map(drop)
    }

    /// Commits and keeps the connection, for who has the next transaction ready: its way through the
    /// pool costs two questions to the server. Not for a request of a customer: what is kept is for no account.
    pub async fn commit_and_keep(self) -> Result<Session, DbError> {
        if self.0.account.is_some() {
            let text = "a connection for one account is not kept".to_owned();
            return Err(DbError::Bug(Cause::ours(text)));
        }
        self.committed().await.map(Session::kept)
    }

    async fn committed(mut self) -> Result<PooledConnection, DbError> {
        let limit = self.0.answer_timeout;
        let commit = sqlx::raw_sql(COMMIT).execute(&mut *self.0.connection);
        match tokio::time::timeout(limit, commit).await {
            Ok(Ok(_)) => {
                self.0.unfit = false;
                Ok(self.0)
            }
            Ok(Err(error)) => Err(DbError::of_commit(error)),
            Err(_) => Err(DbError::UnknownCommit(Cause::no_answer(limit))),
        }
    }

    /// Rolls back and keeps the connection. An error here changes nothing: what was not committed is
    /// gone either way.
    pub async fn rollback(mut self) -> Result<(), DbError> {
        let limit = self.0.answer_timeout;
        let rollback = sqlx::raw_sql(ROLLBACK).execute(&mut *self.0.connection);
        within(limit, rollback).await?;
        self.0.unfit = false;
        Ok(())
    }

    /// Commits what went well and rolls back what did not.
    ///
    /// ```ignore
    /// let mut tx = database.begin().await?;
    /// let done = move_money(&mut tx).await;
    /// tx.finish(done).await
    /// ```
    pub async fn finish<T, E: From<DbError>>(self, done: Result<T, E>) -> Result<T, E> {
        match done {
            Ok(value) => self.commit().await.map(|()| value).map_err(E::from),
            Err(error) => Err(self.undone(error).await),
        }
    }

    /// The same, and keeps the connection of a transaction that was committed.
    pub async fn finish_and_keep<T, E: From<DbError>>(
        self,
        done: Result<T, E>,
    ) -> Result<(T, Session), E> {
        match done {
            Ok(value) => {
                let session = self.commit_and_keep().await?;
                Ok((value, session))
            }
            Err(error) => Err(self.undone(error).await),
        }
    }

    /// The first error is the one to tell; a failed rollback has closed the connection.
    async fn undone<E>(self, error: E) -> E {
        drop(self.rollback().await);
        error
    }
}

impl Deref for Tx {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.0.connection
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.0.connection
    }
}

impl fmt::Debug for Tx {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Tx")
    }
}
