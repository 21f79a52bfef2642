//! Accounts, budgets, keys and payments: what people and payment providers change, one transaction
//! each.

mod payments;
mod trial_expiry;
mod types;

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::Row as _;
use time::OffsetDateTime;
use trunkline_db::{Database, DbError, Tx, events, from_sql_time};
use trunkline_types::{AccountId, KeyId, Money};

use crate::batch::lock_accounts;
use crate::batch::notifications::update_low_balance;
use crate::columns::column;

pub use payments::{adjust, take_free, top_up};
pub use trial_expiry::{ExpiredTrial, TRIAL_EXPIRED, expire_trial};
pub use types::{AccountKind, Adjust, AdjustAnswer, Balance, Period, TopUp, TopUpAnswer, Wallet};

/// Creates an account with empty wallets.
pub async fn create_account(tx: &mut Tx, kind: AccountKind) -> Result<AccountId, DbError> {
    let row = sqlx::query("INSERT INTO ledger.account (kind) VALUES ($1) RETURNING id")
        .bind(kind.as_str())
        .fetch_one(&mut **tx)
        .await?;
    column(&row, "id").map(AccountId::new)
}

/// Waits until every transaction that moves an account's money has ended, and blocks new ones until this one
/// has: what such a transaction wrote is there now, or never.
pub async fn lock(tx: &mut Tx, account: AccountId) -> Result<(), DbError> {
    lock_accounts(tx, vec![account]).await.map(|_| ())
}

/// An account's balance, none if there is no such account.
pub async fn balance(database: &Database, account: AccountId) -> Result<Option<Balance>, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query(
        "SELECT kind, paid_posted, paid_held, trial_posted, trial_held, topped_up_at,
             low_balance_nanos, balance_low
         FROM ledger.account WHERE id = $1",
    )
    .bind(account.number())
    .fetch_optional(&mut *session)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let nanos = |name: &str| column(&row, name).map(Money::from_nanos);
    let topped_up_at: Option<OffsetDateTime> = column(&row, "topped_up_at")?;
    let low_balance_threshold: Option<i64> = column(&row, "low_balance_nanos")?;
    Ok(Some(Balance {
        paid: nanos("paid_posted")?,
        paid_held: nanos("paid_held")?,
        trial: nanos("trial_posted")?,
        trial_held: nanos("trial_held")?,
        kind: AccountKind::of(column(&row, "kind")?),
        topped_up: topped_up_at.is_some(),
        topped_up_at: topped_up_at.map(from_sql_time),
        low_balance_threshold: low_balance_threshold.map(Money::from_nanos),
        is_low: column(&row, "balance_low")?,
    }))
}

/// The kinds of these accounts; unknown ones are omitted.
pub async fn kinds(
    database: &Database,
    accounts: &[AccountId],
) -> Result<BTreeMap<AccountId, AccountKind>, DbError> {
    if accounts.is_empty() {
        return Ok(BTreeMap::new());
    }
    let numbers: Vec<i64> = accounts.iter().map(|account| account.number()).collect();
    let mut session = database.session().await?;
    let rows = sqlx::query("SELECT id, kind FROM ledger.account WHERE id = ANY ($1)")
        .bind(numbers)
        .fetch_all(&mut *session)
        .await?;
    let kinds = rows.iter().map(|row| {
        let id = column(row, "id").map(AccountId::new)?;
        Ok((id, AccountKind::of(column(row, "kind")?)))
    });
    kinds.collect()
}

/// Time until the daily capacities reset (midnight UTC), by the database's clock.
pub async fn until_midnight(database: &Database) -> Result<Duration, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query(
        "SELECT ceil(extract(epoch FROM date_trunc('day', now) + interval '1 day' - now))::bigint AS seconds
         FROM (SELECT app.now() AT TIME ZONE 'UTC' AS now) AS clock",
    )
    .fetch_one(&mut *session)
    .await?;
    let seconds: i64 = column(&row, "seconds")?;
    Ok(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// Registers a key with the ledger, under its parent where it has one. The parent must be of the
/// same account. False if it is not.
pub async fn register_key(
    tx: &mut Tx,
    account: AccountId,
    key: KeyId,
    parent: Option<KeyId>,
) -> Result<bool, DbError> {
    let done = sqlx::query(
        "INSERT INTO ledger.spender (key_id, account_id, chain)
         SELECT $1, $2, ARRAY[$1::bigint] || COALESCE(
             (SELECT p.chain FROM ledger.spender AS p WHERE p.key_id = $3 AND p.account_id = $2), '{}')
         WHERE $3::bigint IS NULL
             OR EXISTS (SELECT FROM ledger.spender AS p WHERE p.key_id = $3 AND p.account_id = $2)",
    )
    .bind(key.number())
    .bind(account.number())
    .bind(parent.map(KeyId::number))
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Sets the total budget of a key that was registered in the same transaction. The key has no
/// budget yet, so the caller needs the right to insert a budget, not to change one.
pub async fn cap_new_key(
    tx: &mut Tx,
    account: AccountId,
    key: KeyId,
    limit: Money,
) -> Result<(), DbError> {
    let text = "INSERT INTO ledger.budget (account_id, key_id, period, limit_nanos)
                VALUES ($1, $2, 'total', $3)";
    let insert = sqlx::query(text).bind(account.number()).bind(key.number());
    insert.bind(limit.nanos()).execute(&mut **tx).await?;
    Ok(())
}

/// Sets what an account (no key) or a key may spend in a period. None takes the limit away. The
/// time zone counts from the next budget on: an existing budget keeps its own. False if there is no
/// such account or key.
pub async fn set_budget(
    tx: &mut Tx,
    account: AccountId,
    key: Option<KeyId>,
    period: Period,
    timezone: &str,
    limit: Option<Money>,
) -> Result<bool, DbError> {
    let balances = lock_accounts(tx, vec![account]).await?.balances;
    let key_number = key.map(KeyId::number);
    let known = sqlx::query(
        "SELECT 1 WHERE $2::bigint IS NULL
         OR EXISTS (SELECT FROM ledger.spender WHERE key_id = $2 AND account_id = $1)",
    )
    .bind(account.number())
    .bind(key_number)
    .fetch_optional(&mut **tx)
    .await?;
    if balances.is_empty() || known.is_none() {
        return Ok(false);
    }
    let Some(limit) = limit else {
        sqlx::query(
            "UPDATE ledger.budget SET removed_at = app.now()
             WHERE account_id = $1 AND key_id IS NOT DISTINCT FROM $2 AND period = $3 AND removed_at IS NULL",
        )
        .bind(account.number())
        .bind(key_number)
        .bind(period.as_str())
        .execute(&mut **tx)
        .await?;
        return Ok(true);
    };
    let row = sqlx::query(
        "INSERT INTO ledger.budget (account_id, key_id, period, timezone, limit_nanos)
         VALUES ($1, $2, $3, CASE WHEN $3 = 'total' THEN 'UTC' ELSE $4 END, $5)
         ON CONFLICT (account_id, key_id, period) WHERE removed_at IS NULL
         DO UPDATE SET limit_nanos = excluded.limit_nanos
         RETURNING id, ledger.period_start(period, timezone, app.now()) IS NULL AS unknown_zone",
    )
    .bind(account.number())
    .bind(key_number)
    .bind(period.as_str())
    .bind(timezone)
    .bind(limit.nanos())
    .fetch_one(&mut **tx)
    .await?;
    let id: i64 = row.try_get("id")?;
    // Existing periods follow the new limit, but never drop below what is used.
    sqlx::query("UPDATE ledger.budget_period SET cap = greatest($2, used) WHERE budget_id = $1")
        .bind(id)
        .bind(limit.nanos())
        .execute(&mut **tx)
        .await?;
    Ok(true)
}

/// Sets the threshold of the low-balance event; none disables it. An account that is below it
/// already gets the event in this transaction. False if there is no such account.
pub async fn set_low_balance(
    tx: &mut Tx,
    account: AccountId,
    mark: Option<Money>,
) -> Result<bool, DbError> {
    let locked = lock_accounts(tx, vec![account]).await?;
    let Some(balance) = locked.balances.get(&account) else {
        return Ok(false);
    };
    let posted = balance.paid_posted.saturating_add(balance.trial_posted);
    let low = mark.is_some_and(|mark| posted < mark.nanos());
    // A changed threshold resets the flag, so that the event is sent for the new one.
    sqlx::query(
        "UPDATE ledger.account SET low_balance_nanos = $2,
             balance_low = balance_low AND $3 AND low_balance_nanos IS NOT DISTINCT FROM $2
         WHERE id = $1",
    )
    .bind(account.number())
    .bind(mark.map(Money::nanos))
    .bind(low)
    .execute(&mut **tx)
    .await?;
    let events = update_low_balance(tx, &[(account, low)]).await?;
    events::append(tx, &events).await?;
    Ok(true)
}
