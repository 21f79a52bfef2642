//! One database per test, on the server that the run shares.

use std::time::Duration;

use sqlx::Connection as _;
use trunkline_db::{Database, PoolSettings, Role, connect, seal};
use trunkline_types::Secret;

use crate::server::{self, MIGRATOR, SUPERUSER};
use crate::test_run::{self, MIGRATED, Run};
use crate::{FaultProxy, clock, port, prepared, random, tally};

/// Few, because many tests share the server.
const CONNECTIONS: u32 = 8;
/// How long a pool of a test waits where the product would give up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A migrated, empty database of a test's own. It is dropped with the handle, despite open connections.
#[derive(Debug)]
pub struct Db {
    name: String,
    port: u16,
}

// === impl Db ===

impl Db {
    pub async fn fresh() -> Self {
        // No session can be connected to the template, so nothing has to be waited for or tried again.
        Self::sealed_from(MIGRATED).await
    }

    /// A copy of the database that `prepare` has filled. The first test of the run that asks for this kind prepares it;
    /// those that come within a minute of it, on the same day, get copies of the same one.
    pub async fn prepared(kind: &str, prepare: impl AsyncFnOnce() -> Self) -> Self {
        Self::sealed_from(&prepared::source(kind, prepare).await).await
    }

    async fn sealed_from(template: &str) -> Self {
        let db = Self::create_from(template).await;
        let mut migrator = test_run::open(&db.migrator_url()).await;
        assert_eq!(seal(&mut migrator).await, Ok(true));
        migrator.close().await.expect("the connection closes");
        db
    }

    /// One with nothing in it, for those who migrate it themselves.
    pub async fn empty() -> Self {
        Self::create_from("template0").await
    }

    async fn create_from(template: &str) -> Self {
        tally::count("database");
        let run = Run::current().await;
        let name = format!("test_{}", random::random_word());
        let port = run.shared_port();
        // Files are copied as they are: block by block through the log takes three times the processor.
        let create = format!(
            "CREATE DATABASE {name} TEMPLATE {template} OWNER {MIGRATOR} STRATEGY file_copy"
        );
        test_run::execute(&server::url(SUPERUSER, port, "postgres"), &[&create]).await;
        Self { name, port }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// An address whose login has this role and no other.
    #[must_use]
    pub fn url(&self, role: Role) -> Secret {
        server::url(server::login(role), self.port, &self.name)
    }

    /// The same through a wire that [`Db::wire`] has given.
    #[must_use]
    pub fn url_through(&self, wire: &FaultProxy, role: Role) -> Secret {
        server::url(server::login(role), wire.port(), &self.name)
    }

    /// The address of the login that owns the database and may create roles.
    #[must_use]
    pub fn migrator_url(&self) -> Secret {
        server::url(MIGRATOR, self.port, &self.name)
    }

    /// The address of the login that may do everything.
    #[must_use]
    pub fn superuser_url(&self) -> Secret {
        server::url(SUPERUSER, self.port, &self.name)
    }

    /// What the superuser reads: the first column, as text, of a query for one.
    pub async fn ask(&self, query: &str) -> Vec<String> {
        test_run::ask(&self.superuser_url(), query).await
    }

    /// A pool under a role.
    pub async fn connect(&self, role: Role) -> Database {
        let mut settings = PoolSettings::named("test");
        settings.max_connections = CONNECTIONS;
        // A machine that runs many tests at once may take seconds for what the product should not.
        settings.acquire_timeout = PATIENCE;
        settings.statement_timeout = PATIENCE;
        settings.answer_timeout = PATIENCE.saturating_mul(2);
        self.connect_with(role, settings).await
    }

    /// A pool under a role, with settings.
    pub async fn connect_with(&self, role: Role, settings: PoolSettings) -> Database {
        connect(&self.url(role), role, settings)
            .await
            .expect("the test database lets us in")
    }

    /// A pool as the owner, for what no role may do: arranging and looking behind.
    pub async fn owner(&self) -> Database {
        self.connect(Role::Owner).await
    }

    /// A breakable line to the shared server, for this test only.
    #[must_use]
    pub fn wire(&self) -> FaultProxy {
        FaultProxy::to_postgres(port::loopback(self.port))
    }

    /// Moves `app.now()` for all connections to this database, relative to where it stands.
    pub async fn shift_clock(&self, seconds: i64) {
        clock::shift(&self.url(Role::Owner), seconds).await;
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        let url = server::url(SUPERUSER, self.port, "postgres");
        let statement = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // A thread of its own, because the test's runtime may be the one that is ending. When it
        // fails the database stays until the run's end, which harms no other test.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            if let Ok(runtime) = runtime {
                runtime.block_on(drop_database(&url, statement));
            }
        });
        drop(dropping.join());
    }
}

async fn drop_database(url: &Secret, statement: String) {
    if let Ok(mut connection) = sqlx::PgConnection::connect(url.reveal()).await {
        let dropped = sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut connection);
        drop(dropped.await);
    }
}
