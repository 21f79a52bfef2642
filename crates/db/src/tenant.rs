//! The account that a request of a customer is for. From when it is known, whatever the request reads or writes under the
//! console's role is held to that account by the policies of the tables: a second check behind the filters of queries
//! ([ADR 100](../../../docs/adr/0100-row-level-security.md)). Operators, commands and jobs enter no account and see all.
//!
//! The account is a setting of the transaction and never of the connection: it cannot outlast the request, and it holds
//! behind PgBouncer too, where the next transaction is another connection's. So such a request reads in transactions as well
//! ([`Session`](crate::Session)).

use std::cell::Cell;

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};
use trunkline_types::AccountId;

use crate::{Cause, DbError, Role};

tokio::task_local! {
    static TENANT: Cell<Option<AccountId>>;
}

/// Serves a request that may turn out to be a customer's. What it spawns as a task of its own is not part of it.
pub async fn serve<F: Future>(request: F) -> F::Output {
    TENANT.scope(Cell::new(None), request).await
}

/// The rest of this request is for this account.
pub fn enter(account: AccountId) -> Result<(), DbError> {
    let entered = TENANT.try_with(|tenant| tenant.set(Some(account)));
    entered.map_err(|_| {
        DbError::Bug(Cause::ours(
            "an account was entered outside of a request".to_owned(),
        ))
    })
}

/// The account that the running request is for. The other roles have no policies.
pub(crate) fn of_request(role: Role) -> Option<AccountId> {
    match role {
        Role::Console => TENANT.try_with(Cell::get).ok().flatten(),
        Role::Owner | Role::Data | Role::Audit => None,
    }
}

/// What opens a transaction for an account.
pub(crate) fn begin(begin: &str, account: AccountId) -> SqlStr {
    let number = account.number();
    AssertSqlSafe(format!("{begin}; SET LOCAL trunkline.account = '{number}'")).into_sql_str()
}
