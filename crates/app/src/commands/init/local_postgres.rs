//! A database in the PostgreSQL of this machine, created through its superuser `postgres`, as whom only
//! root and that user may speak. PostgreSQL itself is the distribution's package: it is started if it is
//! stopped, and neither installed nor configured here.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::{Instant, sleep};
use trunkline_db::Role;
use trunkline_types::Secret;

use super::paths;
use crate::random;

/// The login of the service, and its database.
const NAME: &str = "trunkline";
const PASSWORD_BYTES: usize = 24;
const START_WAIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Longest run of one statement.
const STATEMENT_WAIT: Duration = Duration::from_secs(60);
const NOT_INSTALLED: &str = "PostgreSQL is not installed on this machine: run `apt-get install postgresql`, then this again; \
     or name a database elsewhere with --database postgres://...";

/// What is there of it.
struct Found {
    has_login: bool,
    has_database: bool,
}

/// Makes sure that PostgreSQL runs here; its port, and whether it had to be started.
pub(super) async fn server() -> anyhow::Result<(u16, bool)> {
    let began = match port().await {
        Ok(port) => return Ok((port, false)),
        Err(error) => error,
    };
    let started = Command::new("service")
        .args(["postgresql", "start"])
        .stdin(Stdio::null())
        .output()
        .await;
    if !paths::is_root()? || !started.is_ok_and(|done| done.status.success()) {
        return Err(began);
    }
    let ends = Instant::now().checked_add(START_WAIT);
    loop {
        match port().await {
            Ok(port) => return Ok((port, true)),
            Err(error) if ends.is_none_or(|ends| Instant::now() > ends) => return Err(error),
            Err(_) => sleep(LOOK_EVERY).await,
        }
    }
}

/// The address of the database, with a fresh password.
pub(super) fn address(port: u16) -> anyhow::Result<Secret> {
    let password: String = random::bytes::<PASSWORD_BYTES>()?
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(Secret::new(format!(
        "postgres://{NAME}:{password}@127.0.0.1:{port}/{NAME}"
    )))
}

/// Rejects an existing login or database: its password and contents are not ours.
pub(super) async fn must_be_free() -> anyhow::Result<()> {
    let found = look().await?;
    if found.has_login || found.has_database {
        bail!(
            "the PostgreSQL of this machine already has a login or a database named {NAME}, which is left as it is; \
             if it is for this installation, give its address with --database \
             postgres://{NAME}:PASSWORD@127.0.0.1/{NAME}"
        );
    }
    Ok(())
}

/// Creates the login, the roles and the database of an address that [`address`] has made and that is
/// kept, as far as they are missing; says what was created.
pub(super) async fn create(url: &Secret) -> anyhow::Result<Vec<&'static str>> {
    let found = look().await?;
    let mut created = Vec::new();
    if !found.has_login {
        let parsed = url::Url::parse(url.reveal()).ok();
        let password = parsed.as_ref().and_then(url::Url::password);
        let password = password.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let password =
            password.context("the kept database address is none of `--database here`")?;
        psql(&login_sql(password)).await?;
        created.push("the login trunkline with its roles");
    }
    if !found.has_database {
        psql(&format!("CREATE DATABASE {NAME} OWNER {NAME};")).await?;
        created.push("the database trunkline");
    }
    Ok(created)
}

/// The roles are created in advance, so that the login needs no right to create any.
fn login_sql(password: &str) -> String {
    let roles = Role::ALL.map(Role::name);
    let mut sql = String::from("BEGIN;\n");
    for role in roles {
        sql.push_str(&format!(
            "DO $$ BEGIN CREATE ROLE {role} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;\n"
        ));
    }
    sql.push_str(&format!(
        "CREATE ROLE {NAME} LOGIN PASSWORD '{password}';\nGRANT {} TO {NAME};\nCOMMIT;\n",
        roles.join(", ")
    ));
    sql
}

async fn port() -> anyhow::Result<u16> {
    let port = psql("SHOW port;").await?;
    port.parse().context("PostgreSQL did not report its port")
}

async fn look() -> anyhow::Result<Found> {
    let sql = format!(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = '{NAME}'), \
         EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = '{NAME}');"
    );
    let progress = psql(&sql).await?;
    let (login, database) = progress
        .split_once('|')
        .context("PostgreSQL did not answer")?;
    Ok(Found {
        has_login: login == "t",
        has_database: database == "t",
    })
}

/// Runs statements as the superuser. They go by the input: arguments are seen by every user of the machine.
async fn psql(sql: &str) -> anyhow::Result<String> {
    let mut command = if paths::is_root()? {
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid=postgres",
            "--regid=postgres",
            "--init-groups",
            "psql",
        ]);
        command
    } else {
        Command::new("psql")
    };
    command
        .args([
            "--no-psqlrc",
            "--quiet",
            "--tuples-only",
            "--no-align",
            "--no-password",
        ])
        .args([
            "--set=ON_ERROR_STOP=1",
            "--username=postgres",
            "--dbname=postgres",
        ])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().context(NOT_INSTALLED)?;
    if let Some(mut input) = child.stdin.take() {
        // One that ends early says why.
        drop(input.write_all(sql.as_bytes()).await);
    }
    let done = tokio::time::timeout(STATEMENT_WAIT, child.wait_with_output()).await;
    let done = done.context("PostgreSQL does not answer")??;
    if !done.status.success() {
        let words = String::from_utf8_lossy(&done.stderr);
        let words = words.trim();
        if words.contains("failed to execute psql") {
            bail!(NOT_INSTALLED);
        }
        bail!(
            "the PostgreSQL of this machine does not let us in as postgres: {words}\n\
             Run this as root, or name a database with --database postgres://..."
        );
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_has_a_password_that_needs_no_quotes() {
        let url = address(5433).unwrap();
        let url = url::Url::parse(url.reveal()).unwrap();
        assert_eq!(
            (url.username(), url.port(), url.path()),
            ("trunkline", Some(5433), "/trunkline")
        );
        let password = url.password().unwrap();
        assert_eq!(password.len(), PASSWORD_BYTES * 2);
        assert!(password.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert!(login_sql(password).contains(&format!("PASSWORD '{password}'")));
    }
}
