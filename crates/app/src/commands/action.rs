//! What commands change, in the log of actions: by the login at the machine, in the transaction of the change.

use serde_json::Value;
use trunkline_db::{DbError, Tx};
use trunkline_store::action_log::{self, Actor, NewAction};
use trunkline_types::AccountId;

use crate::config::variable;

/// Variables that name the person at the machine, the most telling first.
const LOGINS: [&str; 3] = ["SUDO_USER", "USER", "LOGNAME"];
const UNKNOWN: &str = "command line";

/// An action without what was before.
pub(super) fn action<'a>(action: &'a str, subject: &'a str, after: Value) -> NewAction<'a> {
    NewAction {
        action,
        subject,
        after: Some(after),
        ..NewAction::default()
    }
}

/// The same about an account.
pub(super) fn of_account<'a>(
    name: &'a str,
    account: AccountId,
    subject: &'a str,
    after: Value,
) -> NewAction<'a> {
    NewAction {
        account: Some(account),
        ..action(name, subject, after)
    }
}

/// Writes an action of the person at the machine.
pub(super) async fn log(tx: &mut Tx, action: &NewAction<'_>) -> Result<(), DbError> {
    action_log::write(tx, &Actor::command(&login()), action).await
}

/// Who is at the machine, as far as the environment tells.
pub(super) fn login() -> String {
    let named = LOGINS.into_iter().find_map(variable);
    let named = named.map(|login| login.reveal().trim().to_owned());
    named
        .filter(|login| !login.is_empty())
        .unwrap_or_else(|| UNKNOWN.to_owned())
}
