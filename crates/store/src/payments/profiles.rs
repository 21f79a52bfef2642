//! Saved payment methods, and when they are charged without asking.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, Money};

/// After so many failures in a row a method is not charged any more, until its rule is set again.
pub const MAX_FAILURES: i32 = 3;
/// How long a profile rests between two looks at its balance.
const CHECK_SECONDS: i32 = 15;
/// How long it rests after a failure, times the failures.
const FAILURE_SECONDS: i32 = 3_600;

/// When the saved method is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopUpRule {
    /// Below this free balance.
    pub below: Money,
    /// With this amount.
    pub amount: Money,
    /// At most so much in a calendar month (UTC).
    pub month_max: Money,
}

#[derive(Debug, Clone)]
pub struct Profile {
    pub account: AccountId,
    /// The provider's id of the customer.
    pub customer: String,
    /// The provider's id of the payment method.
    pub method: String,
    pub rule: Option<TopUpRule>,
    /// Failures in a row.
    pub failures: i32,
}

const COLUMNS: &str =
    "account_id, customer_id, method_id, top_up_below, top_up_amount, top_up_month_max, failures";

pub async fn find(
    connection: &mut PgConnection,
    account: AccountId,
) -> Result<Option<Profile>, DbError> {
    let query = format!("SELECT {COLUMNS} FROM app.payment_profile WHERE account_id = $1");
    let row = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(account.number())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(Profile::of_row).transpose()
}

/// Saves the method that an account paid with, instead of the one before.
pub async fn save_method(
    tx: &mut Tx,
    provider: &str,
    account: AccountId,
    customer: &str,
    method: &str,
) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.payment_profile (account_id, provider, customer_id, method_id) VALUES ($1, $2, $3, $4)
         ON CONFLICT (account_id) DO UPDATE SET customer_id = excluded.customer_id,
             method_id = excluded.method_id, failures = 0",
    )
    .bind(account.number())
    .bind(provider)
    .bind(customer)
    .bind(method)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Sets when the saved method is charged; none for never. False if there is no saved method.
pub async fn set_rule(
    tx: &mut Tx,
    account: AccountId,
    rule: Option<TopUpRule>,
) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.payment_profile SET top_up_below = $2, top_up_amount = $3, top_up_month_max = $4,
             failures = 0, check_at = app.now()
         WHERE account_id = $1",
    )
    .bind(account.number())
    .bind(rule.map(|rule| rule.below.nanos()))
    .bind(rule.map(|rule| rule.amount.nanos()))
    .bind(rule.map(|rule| rule.month_max.nanos()))
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Claims a profile whose balance is to be looked at; it rests afterwards.
pub async fn claim_due(tx: &mut Tx, provider: &str) -> Result<Option<Profile>, DbError> {
    let query = format!(
        "UPDATE app.payment_profile SET check_at = app.now() + make_interval(secs => $2) WHERE account_id = (
             SELECT q.account_id FROM app.payment_profile AS q
             WHERE q.top_up_amount IS NOT NULL AND q.provider = $1 AND q.failures < $3
                 AND q.check_at <= app.now()
             ORDER BY q.check_at LIMIT 1 FOR UPDATE SKIP LOCKED)
         RETURNING {COLUMNS}"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(provider)
        .bind(f64::from(CHECK_SECONDS))
        .bind(MAX_FAILURES)
        .fetch_optional(&mut **tx)
        .await?;
    row.as_ref().map(Profile::of_row).transpose()
}

/// Counts a failure, after which the method rests for longer.
pub async fn note_failure(tx: &mut Tx, account: AccountId) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.payment_profile SET failures = failures + 1,
             check_at = app.now() + make_interval(secs => $2 * (failures + 1))
         WHERE account_id = $1",
    )
    .bind(account.number())
    .bind(f64::from(FAILURE_SECONDS))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A payment with it succeeded.
pub async fn note_success(tx: &mut Tx, account: AccountId) -> Result<(), DbError> {
    sqlx::query("UPDATE app.payment_profile SET failures = 0 WHERE account_id = $1")
        .bind(account.number())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

// === impl Profile ===

impl Profile {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let money = |name: &str| -> Result<Option<Money>, DbError> {
            let nanos: Option<i64> = row.try_get(name)?;
            Ok(nanos.map(Money::from_nanos))
        };
        let below = money("top_up_below")?;
        let (amount, month_max) = (money("top_up_amount")?, money("top_up_month_max")?);
        let rule = match (below, amount, month_max) {
            (Some(below), Some(amount), Some(month_max)) => Some(TopUpRule {
                below,
                amount,
                month_max,
            }),
            (None, _, _) | (_, None, _) | (_, _, None) => None,
        };
        Ok(Self {
            account: AccountId::new(row.try_get("account_id")?),
            customer: row.try_get("customer_id")?,
            method: row.try_get("method_id")?,
            rule,
            failures: row.try_get("failures")?,
        })
    }
}
