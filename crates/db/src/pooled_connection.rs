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

use crate::{DbError, Tx};

/// A pooled connection. Dropping it returns it to the pool.
pub(crate) struct PooledConnection {
    pub(crate) connection: PoolConnection<Postgres>,
    pub(crate) answer_timeout: Duration,
    /// What opens a transaction here.
    pub(crate) begin: &'static str,
    /// A transaction may be open on the server, or a response half read: it must not return to the
    /// pool.
    pub(crate) unfit: bool,
}

/// A connection outside any transaction: each statement commits by itself.
///
/// For reading. A lone statement that writes must give its errors to
/// [`DbError::of_commit`](crate::DbError::of_commit).
pub struct Session(PooledConnection);

// === impl PooledConnection ===

impl PooledConnection {
    pub(crate) fn new(
        connection: PoolConnection<Postgres>,
        answer_timeout: Duration,
        begin: &'static str,
    ) -> Self {
        Self {
            connection,
            answer_timeout,
            begin,
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
        let way_back = tokio::time::timeout(self.answer_timeout, self.connection.return_to_pool());
        #[expect(
            clippy::disallowed_methods,
            reason = "the pool owns the task: closing the pool waits for the place"
        )]
        runtime.spawn(way_back);
    }
}

// === impl Session ===

impl Session {
    pub(crate) fn new(pooled: PooledConnection) -> Self {
        Self(pooled)
    }

    /// Opens a transaction on this very connection.
    pub async fn begin(self) -> Result<Tx, DbError> {
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
