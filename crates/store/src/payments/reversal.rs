//! What a provider takes back of a payment: refunds and disputes. Told in any order and more than once, so a
//! row only ever moves forward.

use sqlx::{PgConnection, Row as _};
use trunkline_db::{DbError, Tx};
use trunkline_types::Money;

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
