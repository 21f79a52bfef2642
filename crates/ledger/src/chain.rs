//! The hash chain of each account (ADR 84): calls and transfers become numbered lines, the lines of a day a tree, the
//! root of the tree a signed record that names the day before it.
//!
//! [`link`] enters what waits, as a job of the worker; one runs at a time.

mod entry;
mod lines;
mod link;

use trunkline_db::DbError;

pub use link::{Linked, link};

/// Only one may write to chains.
const LOCK: &str = "SELECT pg_try_advisory_xact_lock(hashtext('ledger.chain'))";

fn unreadable(what: &str) -> DbError {
    DbError::from(sqlx::Error::Decode(
        format!("{what} of a chain is not as this version writes it").into(),
    ))
}

/// Numbers of lines are positive, by the tables' constraints.
fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
