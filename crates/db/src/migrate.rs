//! Applies the migrations: forward only, one at a time, each in its own transaction with the line
//! that says it was done, all as `trunkline_owner`.
//!
//! Why not sqlx's migrator: it makes its table before the first migration has made the owner, takes
//! its lock by waiting inside a statement, applies files out of order, and cannot say what it did.

use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::migrate::MigrationType;
use sqlx::{ConnectOptions as _, Connection, PgConnection, SqlSafeStr};
use trunkline_types::Secret;

use crate::address;
use crate::error::{Cause, DbError, within};
use crate::migrations::{MIGRATIONS, Migration, Previous};

/// Any number will do that no other lock uses: "trunk".
const ADVISORY_LOCK: i64 = 0x74_72_75_6e_6b;
/// Longest wait for a connection.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// Longest wait for another migrator.
const LOCK_WAIT: Duration = Duration::from_secs(60);
/// How often to ask whether the other one is done.
const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// Longest wait for a table that is in use; other sessions queue behind us meanwhile.
const TABLE_LOCK_TIMEOUT: &str = "5s";

/// How often a file is tried whose roles another migration is making: `SET ROLE` and `GRANT` of a role
/// that is not seen yet. Anything else that says so fails just as well the fifth time.
const ROLE_RACE_TRIES: u32 = 5;
const ROLE_RACE_CODES: [&str; 2] = ["22023", "42704"];

/// What a run has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationReport {
    /// Applied by this run, oldest first.
    pub applied: Vec<Applied>,
    /// How many were there before.
    pub already: usize,
    /// Whether `PUBLIC` was shut out; only the database's owner can do that.
    pub sealed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The digits of its file's name.
    pub version: i64,
    /// The words of its file's name.
    pub name: &'static str,
    /// Whether the release before may run on the schema after it.
    pub previous_runs: bool,
}

/// Why a database was not migrated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MigrateError {
    /// A file was edited after it had been applied here.
    #[error(
        "migration {version} was applied here with another text; undo the edit and write a new one"
    )]
    Changed { version: i64 },
    /// The database knows more than this executable.
    #[error(
        "the database is newer than this executable: it has migration {version}; use the newer executable"
    )]
    Newer {
        /// The first that is unknown here.
        version: i64,
    },
    /// The database is of a build before the first release, whose migrations are no more.
    #[error(
        "the database was made by an unreleased build: it has migration {version}; make it anew"
    )]
    Unreleased {
        /// The first of them.
        version: i64,
    },
    /// A pending file is older than one that was applied.
    #[error(
        "migration {version} is older than {newest}, which was applied here; give it a later number"
    )]
    OutOfOrder {
        version: i64,
        /// The newest applied one.
        newest: i64,
    },
    /// A file did not run. Its own changes were rolled back, those of earlier ones stay.
    #[error("migration {version} failed: {error}")]
    Failed { version: i64, error: DbError },
    /// The database could not be asked.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Brings the database to this executable's schema. Doing it twice, or from several places at once,
/// does no harm.
///
/// The URL leads straight to PostgreSQL and names a login that may create roles and owns the
/// database.
pub async fn migrate(url: &Secret) -> Result<MigrationReport, MigrateError> {
    let options = address::plain_options(url)?
        .application_name("trunkline-migrate")
        .options([
            ("statement_timeout", "0"),
            ("lock_timeout", TABLE_LOCK_TIMEOUT),
            ("timezone", "UTC"),
            ("synchronous_commit", "on"),
        ])
        // A migration may take long, and its text is no news to an operator.
        .disable_statement_logging();
    let mut connection = within(CONNECT_WAIT, PgConnection::connect_with(&options)).await?;
    take_turn(&mut connection).await?;
    let report = apply_pending(&mut connection).await?;
    // The lock goes with the connection, also when we are thrown out half-way.
    connection.close().await.map_err(DbError::from)?;
    Ok(report)
}

/// The versions this executable needs and the database has not got. Any role may ask.
///
/// A server that finds some should not serve. One that finds none may, also on a database that is
/// newer: that is what expand and contract is for.
pub async fn missing_migrations(connection: &mut PgConnection) -> Result<Vec<i64>, DbError> {
    let applied = applied(connection).await?;
    let missing = MIGRATIONS
        .iter()
        .map(|migration| migration.version)
        .filter(|version| !applied.iter().any(|(there, _)| there == version))
        .collect();
    Ok(missing)
}

/// The applied versions that this executable does not know and that say it must not run. Any role may ask, of a database
/// that has every migration of this executable.
pub async fn incompatible_migrations(connection: &mut PgConnection) -> Result<Vec<i64>, DbError> {
    let known: Vec<i64> = MIGRATIONS.iter().map(|known| known.version).collect();
    let found = sqlx::query_scalar(
        "SELECT version FROM app.migration
         WHERE NOT previous_runs AND version <> ALL ($1) ORDER BY version",
    )
    .bind(known)
    .fetch_all(connection)
    .await?;
    Ok(found)
}

/// Shuts `PUBLIC` out of the database this connection is in, and lets the four roles in; tells
/// whether this login was allowed to. [`migrate`] does it each time; a clone needs it again.
pub async fn seal(connection: &mut PgConnection) -> Result<bool, DbError> {
    let sealed = sqlx::query_scalar("SELECT app.seal_database()")
        .fetch_one(connection)
        .await?;
    Ok(sealed)
}

/// Asks for the lock again and again instead of waiting inside one statement: a waiting statement
/// holds a snapshot, and what the other migrator does may have to wait for all snapshots to go.
async fn take_turn(connection: &mut PgConnection) -> Result<(), DbError> {
    let wait = async {
        loop {
            let mine: bool = sqlx::query_scalar("SELECT pg_catalog.pg_try_advisory_lock($1)")
                .bind(ADVISORY_LOCK)
                .fetch_one(&mut *connection)
                .await?;
            if mine {
                return Ok(());
            }
            tokio::time::sleep(LOCK_PAUSE).await;
        }
    };
    match tokio::time::timeout(LOCK_WAIT, wait).await {
        Ok(result) => result,
        Err(_) => Err(DbError::Conflict(Cause::ours(
            "another migration of this database does not end".to_owned(),
        ))),
    }
}

async fn apply_pending(connection: &mut PgConnection) -> Result<MigrationReport, MigrateError> {
    let there = applied(connection).await?;
    let pending = pending(&there)?;
    let mut report = MigrationReport {
        applied: Vec::new(),
        already: there.len(),
        sealed: false,
    };
    for migration in pending {
        apply_despite_races(connection, migration)
            .await
            .map_err(|error| MigrateError::Failed {
                version: migration.version,
                error,
            })?;
        report.applied.push(Applied {
            version: migration.version,
            name: migration.name,
            previous_runs: migration.previous == Previous::Runs,
        });
    }
    report.sealed = seal(connection).await?;
    Ok(report)
}

/// Compares what was applied with what we carry, and gives what is left to do.
fn pending(there: &[(i64, Vec<u8>)]) -> Result<Vec<&'static Migration>, MigrateError> {
    let initial = MIGRATIONS.first().map(|first| first.version);
    for (version, checksum) in there {
        match MIGRATIONS.iter().find(|known| known.version == *version) {
            None if Some(*version) < initial => {
                return Err(MigrateError::Unreleased { version: *version });
            }
            None => return Err(MigrateError::Newer { version: *version }),
            Some(known) if checksum_of(known) != *checksum => {
                return Err(MigrateError::Changed { version: *version });
            }
            Some(_) => {}
        }
    }
    let newest = there.iter().map(|(version, _)| *version).max();
    let pending: Vec<&'static Migration> = MIGRATIONS
        .iter()
        .filter(|known| !there.iter().any(|(version, _)| *version == known.version))
        .collect();
    match (pending.first(), newest) {
        (Some(first), Some(newest)) if first.version < newest => Err(MigrateError::OutOfOrder {
            version: first.version,
            newest,
        }),
        _ => Ok(pending),
    }
}

/// Applied migrations, oldest first; empty for a new database.
async fn applied(connection: &mut PgConnection) -> Result<Vec<(i64, Vec<u8>)>, DbError> {
    let built: bool = sqlx::query_scalar(
        "SELECT EXISTS (
             SELECT FROM pg_catalog.pg_class AS c
             JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname = 'app' AND c.relname = 'migration'
         )",
    )
    .fetch_one(&mut *connection)
    .await?;
    if !built {
        return Ok(Vec::new());
    }
    let rows = sqlx::query_as("SELECT version, checksum FROM app.migration ORDER BY version")
        .fetch_all(connection)
        .await?;
    Ok(rows)
}

/// Roles belong to the cluster and our lock to one database. Who loses the race to make them may
/// believe until its next transaction that they are missing (PostgreSQL keeps "not found" in its
/// cache, and does not read what others have done at every turn), so it gets a next transaction.
async fn apply_despite_races(
    connection: &mut PgConnection,
    migration: &Migration,
) -> Result<(), DbError> {
    let mut tries: u32 = 1;
    loop {
        let Err(error) = apply(connection, migration).await else {
            return Ok(());
        };
        let code = error.as_database_error().and_then(DatabaseError::code);
        let lost_a_race = code.is_some_and(|code| ROLE_RACE_CODES.contains(&&*code));
        if !lost_a_race || tries >= ROLE_RACE_TRIES {
            return Err(DbError::of_commit(error));
        }
        tries = tries.saturating_add(1);
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

async fn apply(connection: &mut PgConnection, migration: &Migration) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    // The first migration makes the owner and then becomes it by itself.
    let owner_exists: bool = sqlx::query_scalar(
        "SELECT EXISTS (
             SELECT FROM pg_catalog.pg_namespace AS n
             JOIN pg_catalog.pg_roles AS r ON r.oid = n.nspowner
             WHERE n.nspname = 'app' AND r.rolname = 'trunkline_owner'
         )",
    )
    .fetch_one(&mut *transaction)
    .await?;
    if owner_exists {
        sqlx::raw_sql("SET LOCAL ROLE trunkline_owner")
            .execute(&mut *transaction)
            .await?;
    }
    sqlx::raw_sql(migration.statement())
        .execute(&mut *transaction)
        .await?;
    sqlx::query(
        "INSERT INTO app.migration (version, name, checksum, previous_runs)
         VALUES ($1, $2, $3, $4)",
    )
    .bind(migration.version)
    .bind(migration.name)
    .bind(checksum_of(migration))
    .bind(migration.previous == Previous::Runs)
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await
}

/// SHA-384 of the text, as sqlx's own migrator keeps it.
fn checksum_of(migration: &Migration) -> Vec<u8> {
    sqlx::migrate::Migration::new(
        migration.version,
        migration.name.into(),
        MigrationType::Simple,
        migration.sql.into_sql_str(),
        false,
    )
    .checksum
    .into_owned()
}
