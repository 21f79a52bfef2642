//! Database errors, in the five classes that callers act on.
//!
//! A caller answers 503 to [`DbError::Unavailable`], tries the whole transaction again on
//! [`DbError::Conflict`] and, with the same ids, on [`DbError::UnknownCommit`]; it translates
//! [`DbError::Refused`] into its own error, and [`DbError::Bug`] is a defect of this program.
//! Nothing here knows HTTP. A cause carries PostgreSQL's first line and code, never the detail
//! lines, which quote rows.

use std::fmt;
use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::postgres::{PgDatabaseError, PgSeverity};

/// What a database error means to the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DbError {
    /// The database is unavailable. Nothing was committed.
    #[error("the database is unavailable: {0}")]
    Unavailable(Cause),
    /// Another transaction conflicted. Nothing was committed; retry the transaction.
    #[error("another transaction was in the way: {0}")]
    Conflict(Cause),
    /// The connection was lost while a commit was under way: it may have happened or not. Repeat
    /// the transaction with the same ids, or read whether it is there.
    #[error("it is unknown whether the transaction was committed: {0}")]
    UnknownCommit(Cause),
    /// A constraint or a privilege forbids it. Nothing was committed.
    #[error("the database refused: {cause}")]
    Refused {
        /// The broken constraint's name, where it was one.
        constraint: Option<String>,
        cause: Cause,
    },
    /// A defect in our SQL or settings. Nothing was committed.
    #[error("a mistake in our own SQL or settings: {0}")]
    Bug(Cause),
}

/// One line about what happened, fit for a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The SQLSTATE, where PostgreSQL itself spoke.
    pub code: Option<String>,
    pub text: String,
}

/// Waits for `work`, but no longer than `limit`: a frozen server or a broken network gives no
/// error.
///
/// A statement that was given up on leaves its connection in the middle of an answer; drop the
/// [`Tx`](crate::Tx) or [`Session`](crate::Session) and it is cleaned or closed.
pub async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, DbError> {
    match tokio::time::timeout(limit, work).await {
        Ok(result) => result.map_err(DbError::from),
        Err(_) => Err(DbError::Unavailable(Cause::no_answer(limit))),
    }
}

// === impl DbError ===

impl DbError {
    /// The error of a statement that commits by itself: of `COMMIT`, or of a lone statement outside
    /// a transaction. Where a lost connection means "unavailable" elsewhere, here the outcome is
    /// unknown.
    #[must_use]
    pub fn of_commit(error: sqlx::Error) -> Self {
        if let sqlx::Error::Database(server_error) = &error
            && ended_for_certain(&**server_error)
        {
            return Self::of_answer(&**server_error);
        }
        if was_never_sent(&error) {
            return Self::from(error);
        }
        Self::UnknownCommit(Cause::of(&error))
    }

    /// The broken constraint's name, where one was broken.
    #[must_use]
    pub fn constraint(&self) -> Option<&str> {
        match self {
            Self::Refused { constraint, .. } => constraint.as_deref(),
            Self::Unavailable(_) | Self::Conflict(_) | Self::UnknownCommit(_) | Self::Bug(_) => {
                None
            }
        }
    }

    /// The error of asking a running pool for a connection.
    pub(crate) fn of_connecting(error: &sqlx::Error) -> Self {
        Self::Unavailable(Cause::of(error))
    }

    fn of_answer(server_error: &dyn DatabaseError) -> Self {
        let code = server_error.code().unwrap_or_default().into_owned();
        let cause = Cause::of_answer(server_error);
        match code.as_str() {
            "08007" | "40003" => Self::UnknownCommit(cause),
            "40001" | "40P01" | "55P03" => Self::Conflict(cause),
            // Cancelled (statement_timeout); idle in transaction; shut down, crashed, starting,
            // dropped; read-only because this server has become a standby; a password or a database
            // that is not there (any more): the caller can do nothing but come again.
            "57014" | "25P03" | "25006" | "28000" | "28P01" | "3D000" | "58030" => {
                Self::Unavailable(cause)
            }
            "42501" | "44000" | "P0001" => Self::refused(server_error, cause),
            _ if code.starts_with("08") || code.starts_with("53") || code.starts_with("57P") => {
                Self::Unavailable(cause)
            }
            _ if code.starts_with("23") => Self::refused(server_error, cause),
            _ => Self::Bug(cause),
        }
    }

    fn refused(server_error: &dyn DatabaseError, cause: Cause) -> Self {
        Self::Refused {
            constraint: server_error.constraint().map(str::to_owned),
            cause,
        }
    }
}

impl From<sqlx::Error> for DbError {
    /// The error of anything but a commit; see [`DbError::of_commit`].
    fn from(error: sqlx::Error) -> Self {
        if let sqlx::Error::Database(server_error) = &error {
            return Self::of_answer(&**server_error);
        }
        let cause = Cause::of(&error);
        if is_away(&error) {
            Self::Unavailable(cause)
        } else {
            Self::Bug(cause)
        }
    }
}

// === impl Cause ===

impl Cause {
    pub(crate) fn ours(text: String) -> Self {
        Self { code: None, text }
    }

    pub(crate) fn no_answer(limit: Duration) -> Self {
        Self::ours(format!("no answer within {} ms", limit.as_millis()))
    }

    fn of(error: &sqlx::Error) -> Self {
        match error.as_database_error() {
            Some(server_error) => Self::of_answer(server_error),
            None => Self::ours(error.to_string()),
        }
    }

    fn of_answer(server_error: &dyn DatabaseError) -> Self {
        Self {
            code: server_error.code().map(std::borrow::Cow::into_owned),
            text: server_error.message().to_owned(),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.code {
            Some(code) => write!(formatter, "{} ({code})", self.text),
            None => formatter.write_str(&self.text),
        }
    }
}

/// PostgreSQL answered with an ERROR, which means that the transaction is over and rolled back.
/// FATAL and PANIC can also be said after the commit was written, and so can the "canceled" of a
/// wait for a standby.
fn ended_for_certain(server_error: &dyn DatabaseError) -> bool {
    let severity = server_error
        .try_downcast_ref::<PgDatabaseError>()
        .map(PgDatabaseError::severity);
    let cancelled = server_error.code().is_some_and(|code| code == "57014");
    matches!(severity, Some(PgSeverity::Error)) && !cancelled
}

fn was_never_sent(error: &sqlx::Error) -> bool {
    matches!(
        error,
        sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::Configuration(_)
            | sqlx::Error::InvalidArgument(_)
            | sqlx::Error::Encode(_)
    )
}

fn is_away(error: &sqlx::Error) -> bool {
    matches!(
        error,
        sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
    )
}
