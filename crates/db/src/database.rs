//! A pool of connections under one role.

use std::fmt;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{Connection, PgConnection, Row};
use trunkline_types::Secret;

use crate::error::{Cause, DbError, within};
use crate::pooled_connection::{PooledConnection, Session, end_reading};
use crate::{Notifications, PoolSettings, Role, Tx, address, plans, tenant};

/// PostgreSQL under one role. Clones share the pool.
#[derive(Clone)]
pub struct Database {
    pool: PgPool,
    role: Role,
    settings: PoolSettings,
    /// What opens a transaction here.
    begin: &'static str,
    notifications: Notifications,
}

/// Opens a pool after one connection has proved that the database is there and gives us the role.
pub async fn connect(
    url: &Secret,
    role: Role,
    settings: PoolSettings,
) -> Result<Database, DbError> {
    let options = address::options(url, role, &settings)?;
    let trial = async {
        let mut connection = PgConnection::connect_with(&options).await?;
        prove(&mut connection, role).await?;
        connection.close().await
    };
    within(settings.acquire_timeout, trial).await?;
    Ok(open(options, role, settings))
}

/// Opens a pool without connecting, for a process that must start while the database is
/// unavailable.
///
/// A role that is not given shows itself later, as connections that never come.
pub fn connect_lazily(
    url: &Secret,
    role: Role,
    settings: PoolSettings,
) -> Result<Database, DbError> {
    let options = address::options(url, role, &settings)?;
    Ok(open(options, role, settings))
}

fn open(options: PgConnectOptions, role: Role, settings: PoolSettings) -> Database {
    let pool = PgPoolOptions::new()
        .max_connections(settings.max_connections)
        .acquire_timeout(settings.acquire_timeout)
        .max_lifetime(settings.max_lifetime)
        .idle_timeout(settings.idle_timeout)
        .after_connect(move |connection, _| Box::pin(prove(connection, role)))
        .after_release(|connection, _| Box::pin(end_reading(connection)))
        .connect_lazy_with(options);
    Database {
        pool,
        role,
        settings,
        begin: plans::BEGIN,
        notifications: Notifications::default(),
    }
}

/// A connection is what we asked for: under the role, and to a server that takes writes. After a
/// fail-over an old name can lead to the standby; such a connection would fail for as long as it
/// lives, so it is refused at birth. The auditor may read there.
async fn prove(connection: &mut PgConnection, role: Role) -> Result<(), sqlx::Error> {
    let row = sqlx::raw_sql("SELECT current_user::text, pg_catalog.pg_is_in_recovery()")
        .fetch_one(connection)
        .await?;
    let current: String = row.try_get(0)?;
    if current != role.name() {
        let text = format!("connected as {current} and not as {}", role.name());
        return Err(sqlx::Error::InvalidArgument(text));
    }
    let standby: bool = row.try_get(1)?;
    if standby && role != Role::Audit {
        let text = "connected to a standby, which takes no writes";
        return Err(sqlx::Error::Io(std::io::Error::other(text)));
    }
    Ok(())
}

// === impl Database ===

impl Database {
    pub async fn begin(&self) -> Result<Tx, DbError> {
        Tx::begin(self.acquire().await?).await
    }

    /// A connection for lone statements, that is, for reading.
    pub async fn session(&self) -> Result<Session, DbError> {
        Session::open(self.acquire().await?).await
    }

    /// A separate pool to the same database, for a caller that repeats few statements: it keeps its
    /// connections, and its statements are planned once, by keys (`plans.rs`).
    #[must_use]
    pub fn by_keys(&self, connections: u32) -> Self {
        let options = PgConnectOptions::clone(&self.pool.connect_options());
        let (options, begin) = plans::by_keys(options, self.settings.pooler);
        let settings = PoolSettings {
            max_connections: connections,
            // A connection that waits for the next call is not idle: its plans are what it is for.
            idle_timeout: self.settings.max_lifetime,
            ..self.settings.clone()
        };
        Self {
            begin,
            ..open(options, self.role, settings)
        }
    }

    /// A pool of one connection of its own to the same database.
    pub(crate) fn single(&self) -> PgPool {
        let settings = PoolSettings {
            max_connections: 1,
            ..self.settings.clone()
        };
        let options = PgConnectOptions::clone(&self.pool.connect_options());
        open(options, self.role, settings).pool
    }

    /// The notifications that [`Database::listen`] receives.
    #[must_use]
    pub fn notifications(&self) -> &Notifications {
        &self.notifications
    }

    /// The role that every connection of this pool works under.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The limits this pool was opened with.
    #[must_use]
    pub fn settings(&self) -> &PoolSettings {
        &self.settings
    }

    /// Open connections, and how many of them are idle.
    #[must_use]
    pub fn connections(&self) -> (u32, usize) {
        (self.pool.size(), self.pool.num_idle())
    }

    /// Closes the pool and waits for its connections, no longer than the limit of their return.
    pub async fn close(&self) -> Result<(), DbError> {
        let limit = self.settings.answer_timeout;
        match tokio::time::timeout(limit, self.pool.close()).await {
            Ok(()) => Ok(()),
            Err(_) => Err(DbError::Unavailable(Cause::no_answer(limit))),
        }
    }

    async fn acquire(&self) -> Result<PooledConnection, DbError> {
        // Whatever keeps a connection from us, a withdrawn right included, no statement of the
        // caller's was refused: to the caller the database is away.
        let connection = self.pool.acquire().await;
        let connection = connection.map_err(|error| DbError::of_connecting(&error))?;
        Ok(PooledConnection::new(
            connection,
            self.settings.answer_timeout,
            self.begin,
            tenant::of_request(self.role),
        ))
    }
}

impl fmt::Debug for Database {
    /// Without the pool, whose options hold the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Database")
            .field("role", &self.role)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
