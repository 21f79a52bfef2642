//! A pooled connection, and its bounded return to the pool.
//!
//! sqlx gives a connection back by asking the server for a sign of life, and waits for it without a
//! limit. When the server's machine has vanished that wait is a quarter of an hour, the pool's places
//! are gone one after the other, and we answer 503 long after the database has come back. So every
//! connection goes back through here: within a limit, or it is closed.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, Postgres};
use tokio::runtime::Handle;
use trunkline_types::AccountId;

use crate::error::within;
use crate::{DbError, Tx, tenant};

/// What opens the transaction of a [`Session`] that is for one account. A statement that writes would be lost with it.
const BEGIN_READING: &str = "BEGIN READ ONLY";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

tokio::task_local! {
    /// Set on the way back of a connection on which such a transaction is open.
    static READING: ();
}

/// A pooled connection. Dropping it returns it to the pool.
pub(crate) struct PooledConnection {
    pub(crate) connection: PoolConnection<Postgres>,
    pub(crate) answer_timeout: Duration,
    /// What opens a transaction here.
    pub(crate) begin: &'static str,
    /// The account whose rows alone are seen.
    pub(crate) account: Option<AccountId>,
    /// The transaction of a session is open.
    reading: bool,
    /// A transaction may be open on the server, or a response half read: it must not return to the
    /// pool.
    pub(crate) unfit: bool,
}

/// A connection outside any transaction: each statement commits by itself.
///
/// For reading. In a request of a customer it is a transaction that can only read, because its account is a setting of the
/// transaction ([`tenant`]); it ends with the session. Elsewhere a lone statement that writes must give its errors to
/// [`DbError::of_commit`](crate::DbError::of_commit).
pub struct Session(PooledConnection);

// === impl PooledConnection ===

impl PooledConnection {
    pub(crate) fn new(
        connection: PoolConnection<Postgres>,
        answer_timeout: Duration,
        begin: &'static str,
        account: Option<AccountId>,
    ) -> Self {
        Self {
            connection,
            answer_timeout,
            begin,
            account,
            reading: false,
            unfit: false,
        }
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else {
            // Without a runtime it cannot be returned; dropping the future closes it.
            drop(self.connection.return_to_pool());
            return;
        };
        if self.unfit {
            self.connection.close_on_drop();
            return;
        }
        // What sqlx does when a connection is dropped, except that we stop waiting: a way back that
        // is left half-way closes the socket and frees the place. The pool owns this task, closing
        // the pool waits for the place.
        let way_back = self.connection.return_to_pool();
        let (is_reading, limit) = (self.reading, self.answer_timeout);
        let way_back = tokio::time::timeout(limit, async move {
            if is_reading {
                READING.scope((), way_back).await;
            } else {
                way_back.await;
            }
        });
        #[expect(
            clippy::disallowed_methods,
            reason = "the pool owns the task: closing the pool waits for the place"
        )]
        runtime.spawn(way_back);
    }
}

/// The end of a session's transaction, which the pool calls before it takes a connection back.
pub(crate) async fn end_reading(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    if READING.try_with(|()| ()).is_ok() {
        sqlx::raw_sql(ROLLBACK).execute(connection).await?;
    }
    Ok(true)
}

// === impl Session ===

impl Session {
    pub(crate) async fn open(mut pooled: PooledConnection) -> Result<Self, DbError> {
        if let Some(account) = pooled.account {
            pooled.unfit = true;
            let begin = tenant::begin(BEGIN_READING, account);
            let begin = sqlx::raw_sql(begin).execute(&mut *pooled.connection);
            within(pooled.answer_timeout, begin).await?;
            pooled.reading = true;
            pooled.unfit = false;
        }
        Ok(Self(pooled))
    }

    /// A connection without a transaction, after one that was not for one account.
    pub(crate) const fn kept(pooled: PooledConnection) -> Self {
        Self(pooled)
    }

    /// Opens a transaction on this very connection.
    pub async fn begin(mut self) -> Result<Tx, DbError> {
        if self.0.reading {
            self.0.unfit = true;
            let end = sqlx::raw_sql(ROLLBACK).execute(&mut *self.0.connection);
            within(self.0.answer_timeout, end).await?;
            self.0.reading = false;
        }
        Tx::begin(self.0).await
    }
}

impl Deref for Session {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.0.connection
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.0.connection
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Session")
    }
}
