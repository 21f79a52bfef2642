//! Payments through a provider: attempts, what the provider took back, and its events. The caller books the
//! money with the ledger in the same transaction. Saved payment methods are in [`profiles`], the position of
//! the reconciliation is in [`cursor`].

pub mod cursor;
mod payment;
pub mod profiles;
mod reversal;

use sqlx::{PgConnection, Row as _};
use trunkline_db::{DbError, Tx, to_sql_time};
use trunkline_types::{AccountId, Money, Timestamp};
use uuid::Uuid;

pub use payment::{NewPayment, Payment, PaymentKind, PaymentState};
pub use reversal::{
    Dispute, NewReversal, Reversal, ReversalKind, ReversalState, disputes, of_payment,
    put_reversal, reversed,
};

use payment::COLUMNS;

/// Most payments of one list.
pub const LIST_MAX: i64 = 1_000;
/// After so long a payment whose outcome is unknown is asked for again.
const ATTEMPT_SECONDS: i64 = 60;

/// An event of a provider, as it is kept.
#[derive(Debug, Clone, Copy)]
pub struct NewEvent<'a> {
    pub provider: &'a str,
    pub id: &'a str,
    pub kind: &'a str,
    /// The id of what it is about.
    pub object: &'a str,
    pub created_at: Timestamp,
    /// Whether the reconciliation found it.
    pub is_found: bool,
}

/// Writes an event, once. False if it is there: what it says was done before.
pub async fn note_event(tx: &mut Tx, event: &NewEvent<'_>) -> Result<bool, DbError> {
    let done = sqlx::query(
        "INSERT INTO app.payment_event (provider, id, kind, object_id, created_at, is_found)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (provider, id) DO NOTHING",
    )
    .bind(event.provider)
    .bind(event.id)
    .bind(event.kind)
    .bind(event.object)
    .bind(to_sql_time(event.created_at))
    .bind(event.is_found)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Waits for other transactions about the same payment of the provider, and blocks them until this one ends:
/// a payment and its refund may be told at once, and each must see what the other wrote.
pub async fn lock_provider_payment(
    tx: &mut Tx,
    provider: &str,
    provider_payment: &str,
) -> Result<(), DbError> {
    sqlx::query("SELECT pg_advisory_xact_lock(app.payment_lock($1, $2))")
        .bind(provider)
        .bind(provider_payment)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Writes a payment that is still to be made. False if the account has an open automatic one already.
pub async fn create(tx: &mut Tx, new: &NewPayment<'_>) -> Result<bool, DbError> {
    let done = sqlx::query(
        "INSERT INTO app.payment (id, account_id, provider, kind, amount_nanos)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (account_id) WHERE kind = 'automatic' AND state = 'open' DO NOTHING",
    )
    .bind(new.id)
    .bind(new.account.number())
    .bind(new.provider)
    .bind(new.kind.as_str())
    .bind(new.amount.nanos())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn find(connection: &mut PgConnection, id: Uuid) -> Result<Option<Payment>, DbError> {
    let query = format!("SELECT {COLUMNS} FROM app.payment WHERE id = $1");
    let row = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(id)
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(Payment::of_row).transpose()
}

/// A payment by the provider's id of it.
pub async fn find_by_provider(
    connection: &mut PgConnection,
    provider: &str,
    provider_payment: &str,
) -> Result<Option<Payment>, DbError> {
    let query =
        format!("SELECT {COLUMNS} FROM app.payment WHERE provider = $1 AND provider_payment = $2");
    let row = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(provider)
        .bind(provider_payment)
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(Payment::of_row).transpose()
}

/// Notes the page on which it is paid.
pub async fn set_checkout(tx: &mut Tx, id: Uuid, checkout: &str) -> Result<(), DbError> {
    sqlx::query("UPDATE app.payment SET checkout_id = $2 WHERE id = $1")
        .bind(id)
        .bind(checkout)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Marks a payment as paid with what was received, in the transaction that books it.
pub async fn set_paid(
    tx: &mut Tx,
    id: Uuid,
    provider_payment: &str,
    amount: Money,
) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.payment SET state = 'paid', provider_payment = $2, amount_nanos = $3, failure = NULL,
             paid_at = app.now()
         WHERE id = $1",
    )
    .bind(id)
    .bind(provider_payment)
    .bind(amount.nanos())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Marks an open payment as failed. False if it is not open.
pub async fn set_failed(tx: &mut Tx, id: Uuid, failure: &str) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.payment SET state = 'failed', failure = left($2, 500) WHERE id = $1 AND state = 'open'",
    )
    .bind(id)
    .bind(failure)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn set_receipt(tx: &mut Tx, id: Uuid, url: &str) -> Result<(), DbError> {
    sqlx::query("UPDATE app.payment SET receipt_url = $2 WHERE id = $1")
        .bind(id)
        .bind(url)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Notes how much of a payment was taken back in all. The caller has locked the account.
pub async fn set_taken(tx: &mut Tx, id: Uuid, taken: Money) -> Result<(), DbError> {
    sqlx::query("UPDATE app.payment SET taken_nanos = $2 WHERE id = $1")
        .bind(id)
        .bind(taken.nanos())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Payments of an account of which the provider has taken back more than the wallet has given, oldest first.
pub async fn owing(
    connection: &mut PgConnection,
    account: AccountId,
) -> Result<Vec<Payment>, DbError> {
    let query = format!(
        "SELECT {COLUMNS} FROM app.payment AS p
         WHERE p.account_id = $1 AND p.state = 'paid' AND p.taken_nanos < LEAST(p.amount_nanos, (
             SELECT COALESCE(sum(r.amount_nanos), 0) FROM app.payment_reversal AS r
             WHERE r.provider = p.provider AND r.provider_payment = p.provider_payment
                 AND r.state IN ('open', 'lost')))
         ORDER BY p.created_at, p.id"
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(account.number())
        .fetch_all(connection)
        .await?;
    rows.iter().map(Payment::of_row).collect()
}

/// What an account owes of payments that were taken back and that its wallet did not cover.
pub async fn owed(connection: &mut PgConnection, account: AccountId) -> Result<Money, DbError> {
    let owed: i64 = sqlx::query_scalar(
        "SELECT COALESCE(sum(greatest(LEAST(p.amount_nanos, (
                 SELECT COALESCE(sum(r.amount_nanos), 0) FROM app.payment_reversal AS r
                 WHERE r.provider = p.provider AND r.provider_payment = p.provider_payment
                     AND r.state IN ('open', 'lost'))) - p.taken_nanos, 0)), 0)::bigint
         FROM app.payment AS p WHERE p.account_id = $1 AND p.state = 'paid'",
    )
    .bind(account.number())
    .fetch_one(connection)
    .await?;
    Ok(Money::from_nanos(owed))
}

/// Payments, newest first, of one account or of all.
pub async fn list(
    connection: &mut PgConnection,
    account: Option<AccountId>,
    limit: i64,
) -> Result<Vec<Payment>, DbError> {
    list_in_state(connection, account, None, limit).await
}

/// The same, of one state or of all.
pub async fn list_in_state(
    connection: &mut PgConnection,
    account: Option<AccountId>,
    state: Option<PaymentState>,
    limit: i64,
) -> Result<Vec<Payment>, DbError> {
    let query = format!(
        "SELECT {COLUMNS} FROM app.payment
         WHERE ($1::bigint IS NULL OR account_id = $1) AND ($3::text IS NULL OR state = $3)
         ORDER BY created_at DESC, id DESC LIMIT $2"
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(account.map(AccountId::number))
        .bind(limit.clamp(1, LIST_MAX))
        .bind(state.map(PaymentState::as_str))
        .fetch_all(connection)
        .await?;
    rows.iter().map(Payment::of_row).collect()
}

/// Open payments on pages of the provider that are older than this, oldest first.
pub async fn open_checkouts(
    connection: &mut PgConnection,
    provider: &str,
    older_than_seconds: i64,
) -> Result<Vec<Payment>, DbError> {
    let query = format!(
        "SELECT {COLUMNS} FROM app.payment
         WHERE state = 'open' AND kind = 'checkout' AND provider = $1 AND checkout_id IS NOT NULL
             AND created_at < app.now() - make_interval(secs => $2)
         ORDER BY created_at LIMIT $3"
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(provider)
        .bind(f64::from(
            i32::try_from(older_than_seconds).unwrap_or(i32::MAX),
        ))
        .bind(LIST_MAX)
        .fetch_all(connection)
        .await?;
    rows.iter().map(Payment::of_row).collect()
}

/// Claims an automatic payment that the provider is to be asked for: a new one, or one whose outcome is unknown.
pub async fn claim_automatic(tx: &mut Tx, provider: &str) -> Result<Option<Payment>, DbError> {
    let query = format!(
        "UPDATE app.payment SET attempted_at = app.now() WHERE id = (
             SELECT q.id FROM app.payment AS q
             WHERE q.state = 'open' AND q.kind = 'automatic' AND q.provider = $1
                 AND (q.attempted_at IS NULL OR q.attempted_at < app.now() - make_interval(secs => $2))
             ORDER BY q.created_at LIMIT 1 FOR UPDATE SKIP LOCKED)
         RETURNING {COLUMNS}"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(provider)
        .bind(f64::from(
            i32::try_from(ATTEMPT_SECONDS).unwrap_or(i32::MAX),
        ))
        .fetch_optional(&mut **tx)
        .await?;
    row.as_ref().map(Payment::of_row).transpose()
}

/// What automatic payments of this month (UTC) come to, the open ones included.
pub async fn automatic_this_month(
    connection: &mut PgConnection,
    account: AccountId,
) -> Result<Money, DbError> {
    let row = sqlx::query(
        "SELECT COALESCE(sum(amount_nanos), 0)::bigint AS total FROM app.payment
         WHERE account_id = $1 AND kind = 'automatic' AND state IN ('open', 'paid')
             AND created_at >= date_trunc('month', app.now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'",
    )
    .bind(account.number())
    .fetch_one(connection)
    .await?;
    Ok(Money::from_nanos(row.try_get("total")?))
}
