//! How a pool behaves: sizes and every limit on waiting. Plain values; who reads them from where is
//! the executable's business.

use std::time::Duration;

/// Connections a pool opens at most, unless told otherwise.
const DEFAULT_MAX_CONNECTIONS: u32 = 16;
/// Longest wait for a connection.
const DEFAULT_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest statement; PostgreSQL ends it.
const DEFAULT_STATEMENT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for a row or table lock; PostgreSQL ends it.
const DEFAULT_LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest pause between two statements of a transaction; PostgreSQL ends the connection.
const DEFAULT_IDLE_IN_TRANSACTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest wait for any answer to `BEGIN`, `COMMIT` and `ROLLBACK`; we end the connection.
const DEFAULT_ANSWER_TIMEOUT: Duration = Duration::from_secs(8);
/// A connection is replaced after this long, so that a moved database is found.
const DEFAULT_MAX_LIFETIME: Duration = Duration::from_secs(30 * 60);
/// A connection that was unused for this long is closed.
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Whether something stands between us and PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooler {
    /// Nothing: role and timeouts travel in the connection's start-up options.
    Direct,
    /// PgBouncer in transaction mode, 1.21 or later with `max_prepared_statements` on. Start-up
    /// options do not arrive there, so the login itself must carry role and timeouts (see
    /// `migrations/README.md`); the role is checked on every new connection all the same.
    ///
    /// Prepared statements stay on: sqlx without its statement cache still names every statement
    /// and never closes one, which is worse than what the cache does.
    PgBouncer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolSettings {
    /// What `pg_stat_activity` shows; cut at 63 bytes by PostgreSQL.
    pub application_name: String,
    /// Connections at most.
    pub max_connections: u32,
    /// Longest wait for a free connection, opening one included.
    pub acquire_timeout: Duration,
    /// Longest statement, ended by PostgreSQL.
    pub statement_timeout: Duration,
    /// Longest wait for a lock, ended by PostgreSQL.
    pub lock_timeout: Duration,
    /// Longest pause inside a transaction, ended by PostgreSQL.
    pub idle_in_transaction_timeout: Duration,
    /// Longest wait for an answer of a server that may be frozen or unreachable, ended by us. Above
    /// `statement_timeout`, or we give up before PostgreSQL says why.
    pub answer_timeout: Duration,
    /// Age at which a connection is replaced.
    pub max_lifetime: Duration,
    /// Idleness at which a connection is closed.
    pub idle_timeout: Duration,
    pub pooler: Pooler,
}

// === impl PoolSettings ===

impl PoolSettings {
    /// The defaults, under a name.
    #[must_use]
    pub fn named(application_name: &str) -> Self {
        Self {
            application_name: application_name.to_owned(),
            max_connections: DEFAULT_MAX_CONNECTIONS,
            acquire_timeout: DEFAULT_ACQUIRE_TIMEOUT,
            statement_timeout: DEFAULT_STATEMENT_TIMEOUT,
            lock_timeout: DEFAULT_LOCK_TIMEOUT,
            idle_in_transaction_timeout: DEFAULT_IDLE_IN_TRANSACTION_TIMEOUT,
            answer_timeout: DEFAULT_ANSWER_TIMEOUT,
            max_lifetime: DEFAULT_MAX_LIFETIME,
            idle_timeout: DEFAULT_IDLE_TIMEOUT,
            pooler: Pooler::Direct,
        }
    }
}
