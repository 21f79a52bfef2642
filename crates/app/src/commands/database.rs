//! Opening the database for a command: under one role, with the configured limits, and only if its
//! schema is this version's.

use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use trunkline_db::{
    Database, DbError, PoolSettings, Pooler, Role, Tx, connect, database_now,
    incompatible_migrations, missing_migrations,
};
use trunkline_types::{Secret, Timestamp};

use crate::config::Config;

/// How much longer than PostgreSQL we wait for an answer, so that it can say itself what was slow.
const PATIENCE: Duration = Duration::from_secs(3);

/// The configured address, or what to do about it.
pub(super) fn url(config: &Config) -> anyhow::Result<&Secret> {
    config.database.url.as_ref().context(
        "database.url is not set: write it into trunkline.toml or set TRUNKLINE__DATABASE__URL",
    )
}

pub(super) async fn open(config: &Config, role: Role) -> anyhow::Result<Database> {
    let own = config.console.database_url.as_ref();
    let url = match own.filter(|_| role == Role::Console) {
        Some(own) => own,
        None => url(config)?,
    };
    let settings = &config.database;
    let pool = PoolSettings {
        max_connections: settings.max_connections,
        acquire_timeout: settings.acquire_timeout,
        statement_timeout: settings.statement_timeout,
        lock_timeout: settings.lock_timeout,
        answer_timeout: settings.statement_timeout.saturating_add(PATIENCE),
        pooler: if settings.pgbouncer {
            Pooler::PgBouncer
        } else {
            Pooler::Direct
        },
        ..PoolSettings::named("trunkline-cli")
    };
    let database = connect(url, role, pool).await.with_context(|| {
        format!(
            "cannot work in the database as {role}; `trunkline migrate` makes that role, and \
             `GRANT {role} TO ...` gives it to the login of database.url",
            role = role.name()
        )
    })?;
    check_schema(&database).await?;
    Ok(database)
}

async fn check_schema(database: &Database) -> anyhow::Result<()> {
    let mut session = database.session().await?;
    let missing = missing_migrations(&mut session)
        .await
        .context("cannot read which migrations the database has; run `trunkline migrate`")?;
    if !missing.is_empty() {
        bail!(
            "the database lacks {} migrations of this version: run `trunkline migrate`",
            missing.len()
        );
    }
    let newer = incompatible_migrations(&mut session).await?;
    if let Some(version) = newer.first() {
        bail!(
            "this executable is older than its database and cannot run on it (migration {version}): \
             use the newer executable, or restore a backup of before"
        );
    }
    Ok(())
}

/// Ends a transaction. If the commit outcome is unknown, the advice says how to find out.
pub(super) async fn finish<T>(tx: Tx, done: anyhow::Result<T>, advice: &str) -> anyhow::Result<T> {
    tx.finish(done)
        .await
        .map_err(|error| match error.downcast_ref::<DbError>() {
            Some(DbError::UnknownCommit(_)) => anyhow!("{error:#}; {advice}"),
            Some(
                DbError::Unavailable(_)
                | DbError::Conflict(_)
                | DbError::Refused { .. }
                | DbError::Bug(_),
            )
            | None => error,
        })
}

/// Says goodbye. What was to be done is done or not by now, so a failure changes nothing.
pub(super) async fn close(database: &Database) {
    drop(database.close().await);
}

/// Now, by the database's clock, which also decides what has expired.
pub(super) async fn now(database: &Database) -> anyhow::Result<Timestamp> {
    let mut session = database.session().await?;
    Ok(database_now(&mut session).await?)
}

/// The same, inside a transaction.
pub(super) async fn now_in(tx: &mut Tx) -> anyhow::Result<Timestamp> {
    Ok(database_now(tx).await?)
}
