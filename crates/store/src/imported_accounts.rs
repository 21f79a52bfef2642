//! Accounts that came from another gateway: which of its users an account is, and what was booked then.

use std::collections::BTreeMap;

use sqlx::Row as _;
use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, Money};

/// Longest name of a source, and longest id of a user there.
pub const SOURCE_MAX_CHARACTERS: usize = 64;

/// What an import wrote for one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedAccount {
    pub account: AccountId,
    /// What was booked into its wallet.
    pub balance: Money,
}

/// All accounts that came from a source, by the user's id there.
pub async fn of_source(
    tx: &mut Tx,
    source: &str,
) -> Result<BTreeMap<String, ImportedAccount>, DbError> {
    let rows = sqlx::query(
        "SELECT external_id, account_id, balance_nanos FROM app.imported_account WHERE source = $1",
    )
    .bind(source)
    .fetch_all(&mut **tx)
    .await?;
    rows.iter()
        .map(|row| {
            let imported = ImportedAccount {
                account: AccountId::new(row.try_get("account_id")?),
                balance: Money::from_nanos(row.try_get("balance_nanos")?),
            };
            Ok((row.try_get("external_id")?, imported))
        })
        .collect()
}

/// Notes that an account of this transaction is a user of a source. A user that is noted already is
/// refused by the table.
pub async fn note(
    tx: &mut Tx,
    source: &str,
    external_id: &str,
    imported: ImportedAccount,
) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.imported_account (source, external_id, account_id, balance_nanos)
         VALUES ($1, $2, $3, $4)",
    )
    .bind(source)
    .bind(external_id)
    .bind(imported.account.number())
    .bind(imported.balance.nanos())
    .execute(&mut **tx)
    .await?;
    Ok(())
}
