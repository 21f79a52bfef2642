//! What a provider takes back of a payment: refunds and disputes. Told in any order and more than once, so a
//! row only ever moves forward.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::{AccountId, Money, Timestamp};
use uuid::Uuid;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReversalKind {
    /// All refunds of a charge together.
    Refund,
    Dispute,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReversalState {
    /// A question of the bank; nothing is taken.
    Inquiry,
    /// Taken.
    Open,
    /// Given back.
    Won,
    /// Taken for good.
    Lost,
}

#[derive(Debug, Clone, Copy)]
pub struct NewReversal<'a> {
    pub provider: &'a str,
    /// The charge of refunds, or the dispute.
    pub id: &'a str,
    pub provider_payment: &'a str,
    pub kind: ReversalKind,
    pub state: ReversalState,
    pub amount: Money,
}

/// A reversal as it stands.
#[derive(Debug, Clone)]
pub struct Reversal {
    pub id: String,
    pub kind: String,
    pub state: String,
    pub amount: Money,
    pub changed_at: Timestamp,
}

/// A dispute, and the payment that it is about if that is ours.
#[derive(Debug, Clone)]
pub struct Dispute {
    pub reversal: Reversal,
    pub provider: String,
    pub provider_payment: String,
    pub payment: Option<Uuid>,
    pub account: Option<AccountId>,
    /// What was taken out of the wallet for all reversals of the payment.
    pub taken: Money,
}

/// The reversals of a payment, newest first.
pub async fn of_payment(
    connection: &mut PgConnection,
    provider: &str,
    provider_payment: &str,
) -> Result<Vec<Reversal>, DbError> {
    let rows = sqlx::query(
        "SELECT id, kind, state, amount_nanos, changed_at FROM app.payment_reversal
         WHERE provider = $1 AND provider_payment = $2 ORDER BY changed_at DESC, id LIMIT 100",
    )
    .bind(provider)
    .bind(provider_payment)
    .fetch_all(connection)
    .await?;
    rows.iter().map(Reversal::of_row).collect()
}

/// Disputes of one state or of all, newest first.
pub async fn disputes(
    connection: &mut PgConnection,
    state: Option<ReversalState>,
    limit: i64,
) -> Result<Vec<Dispute>, DbError> {
    let rows = sqlx::query(
        "SELECT r.id, r.kind, r.state, r.amount_nanos, r.changed_at, r.provider, r.provider_payment,
             p.id AS payment_id, p.account_id, COALESCE(p.taken_nanos, 0) AS taken_nanos
         FROM app.payment_reversal AS r
         LEFT JOIN app.payment AS p ON p.provider = r.provider AND p.provider_payment = r.provider_payment
         WHERE r.kind = 'dispute' AND ($1::text IS NULL OR r.state = $1)
         ORDER BY r.changed_at DESC, r.id LIMIT $2",
    )
    .bind(state.map(ReversalState::as_str))
    .bind(limit)
    .fetch_all(connection)
    .await?;
    let dispute = |row: &PgRow| {
        Ok(Dispute {
            reversal: Reversal::of_row(row)?,
            provider: row.try_get("provider")?,
            provider_payment: row.try_get("provider_payment")?,
            payment: row.try_get("payment_id")?,
            account: row
                .try_get::<Option<i64>, _>("account_id")?
                .map(AccountId::new),
            taken: Money::from_nanos(row.try_get("taken_nanos")?),
        })
    };
    rows.iter().map(dispute).collect()
}

/// Writes a reversal, or what is newer about it: refunds of a charge grow, and a dispute goes from an inquiry
/// to open to its end. What is older changes nothing.
pub async fn put_reversal(tx: &mut Tx, new: &NewReversal<'_>) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.payment_reversal AS r (provider, id, provider_payment, kind, state, amount_nanos)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (provider, id) DO UPDATE SET state = excluded.state, amount_nanos = excluded.amount_nanos,
             changed_at = app.now()
         WHERE CASE r.kind
             WHEN 'refund' THEN excluded.amount_nanos > r.amount_nanos
             ELSE array_position(ARRAY['inquiry', 'open', 'won', 'lost'], excluded.state)
                     > array_position(ARRAY['inquiry', 'open', 'won', 'lost'], r.state)
                 AND r.state NOT IN ('won', 'lost')
         END",
    )
    .bind(new.provider)
    .bind(new.id)
    .bind(new.provider_payment)
    .bind(new.kind.as_str())
    .bind(new.state.as_str())
    .bind(new.amount.nanos())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// What is taken back of a payment as things stand.
pub async fn reversed(
    connection: &mut PgConnection,
    provider: &str,
    provider_payment: &str,
) -> Result<Money, DbError> {
    let row = sqlx::query(
        "SELECT COALESCE(sum(amount_nanos), 0)::bigint AS total FROM app.payment_reversal
         WHERE provider = $1 AND provider_payment = $2 AND state IN ('open', 'lost')",
    )
    .bind(provider)
    .bind(provider_payment)
    .fetch_one(connection)
    .await?;
    Ok(Money::from_nanos(row.try_get("total")?))
}

// === impl Reversal ===

impl Reversal {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let changed_at: OffsetDateTime = row.try_get("changed_at")?;
        Ok(Self {
            id: row.try_get("id")?,
            kind: row.try_get("kind")?,
            state: row.try_get("state")?,
            amount: Money::from_nanos(row.try_get("amount_nanos")?),
            changed_at: from_sql_time(changed_at),
        })
    }
}

// === impl ReversalKind, ReversalState ===

impl ReversalKind {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refund => "refund",
            Self::Dispute => "dispute",
        }
    }
}

impl ReversalState {
    pub const ALL: [Self; 4] = [Self::Inquiry, Self::Open, Self::Won, Self::Lost];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inquiry => "inquiry",
            Self::Open => "open",
            Self::Won => "won",
            Self::Lost => "lost",
        }
    }
}
