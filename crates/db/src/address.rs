//! Parses a database URL into connection options, strictly and without printing it.
//!
//! sqlx ignores parameters it does not know and writes them, values included, to the log. A
//! misspelt `sslmode` would quietly mean an open connection and a misspelt `password` a password in
//! the log, so unknown parameters are refused here before sqlx sees them.

use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;
use trunkline_types::Secret;

use crate::error::{Cause, DbError};
use crate::{PoolSettings, Pooler, Role};

/// The parameters that sqlx understands and a deployment may need.
const KNOWN_PARAMETERS: [&str; 11] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];

/// Options for a connection without role or timeouts: the migrating login's own.
pub(crate) fn plain_options(url: &Secret) -> Result<PgConnectOptions, DbError> {
    let text = url.reveal();
    if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
        return Err(refuse("it does not start with postgres://"));
    }
    let query = text.split_once('?').map_or("", |(_, query)| query);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let key = pair.split_once('=').map_or(pair, |(key, _)| key);
        if !KNOWN_PARAMETERS.contains(&key) {
            return Err(refuse("it has a parameter that is not one of ours"));
        }
    }
    // sqlx's own words about a bad URL can quote parts of it.
    PgConnectOptions::from_str(text).map_err(|_| refuse("it cannot be read"))
}

/// Options for a connection of a pool.
pub(crate) fn options(
    url: &Secret,
    role: Role,
    settings: &PoolSettings,
) -> Result<PgConnectOptions, DbError> {
    let plain = plain_options(url)?.application_name(&settings.application_name);
    match settings.pooler {
        Pooler::PgBouncer => Ok(plain),
        // Later options override earlier ones, so nothing in the URL or in PGOPTIONS undoes these.
        Pooler::Direct => Ok(plain.options([
            ("role", role.name().to_owned()),
            ("statement_timeout", millis(settings.statement_timeout)),
            ("lock_timeout", millis(settings.lock_timeout)),
            (
                "idle_in_transaction_session_timeout",
                millis(settings.idle_in_transaction_timeout),
            ),
            ("timezone", "UTC".to_owned()),
            ("synchronous_commit", "on".to_owned()),
            // Queries over a table for each day are dear on paper and take milliseconds; compiling them takes a second.
            ("jit", "off".to_owned()),
            ("default_transaction_read_only", read_only(role).to_owned()),
        ])),
    }
}

fn read_only(role: Role) -> &'static str {
    match role {
        Role::Audit => "on",
        Role::Owner | Role::Data | Role::Console => "off",
    }
}

fn millis(duration: std::time::Duration) -> String {
    format!("{}ms", duration.as_millis())
}

fn refuse(why: &str) -> DbError {
    DbError::Bug(Cause::ours(format!("the database URL is unusable: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(url: &str) -> Result<PgConnectOptions, DbError> {
        options(
            &Secret::new(url.to_owned()),
            Role::Data,
            &PoolSettings::named("test"),
        )
    }

    #[test]
    fn an_unusable_url_is_refused_without_being_quoted() {
        for url in [
            "postgres://u:canary@h:notaport/d",
            "postgres://u:canary@h/d?sslmod=require",
            "postgres://u@h/d?passwrod=canary",
            "postgres://u:canary@h/d?sslmode=canary",
            "mysql://u:canary@h/d",
            "canary",
        ] {
            let error = open(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
        }
    }

    #[test]
    fn the_role_and_every_timeout_travel_in_the_start_up_options() {
        let settled = open("postgres://u:p@h/d?sslmode=require").unwrap();
        let text = settled.get_options().unwrap();
        for word in [
            "-c role=trunkline_data",
            "-c statement_timeout=5000ms",
            "-c lock_timeout=2000ms",
            "-c idle_in_transaction_session_timeout=10000ms",
            "-c synchronous_commit=on",
            "-c jit=off",
        ] {
            assert!(text.contains(word), "{word} in {text}");
        }
    }
}
