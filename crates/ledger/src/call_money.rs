//! The money of one call: what is or was held for it, and what moved. Read-only.

use std::time::Duration;

use time::OffsetDateTime;
use trunkline_db::{Database, DbError, from_sql_time};
use trunkline_types::{AccountId, Money, RequestId, Timestamp};

use crate::batch::partitions::Day;
use crate::columns::column;

/// The money of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallMoney {
    /// None before anything is held.
    pub hold: Option<CallHold>,
    /// What moved, in the order of time.
    pub moves: Vec<Move>,
}

/// What is or was held for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallHold {
    pub amount: Money,
    pub opened_at: Timestamp,
    pub state: HoldState,
    /// When it was settled or voided.
    pub resolved_at: Option<Timestamp>,
    /// Whether the process that holds it still works, as far as the database knows.
    pub has_live_node: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldState {
    Open,
    Settled,
    Voided,
}

/// Money that moved for a call, out of both wallets together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// `charge`, `refund` and its kin.
    pub kind: String,
    pub amount: Money,
    pub at: Timestamp,
}

/// The money of a call of an account. A node without a heartbeat for so long counts as dead.
pub async fn read(
    database: &Database,
    account: AccountId,
    request: RequestId,
    dead_after: Duration,
) -> Result<CallMoney, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query(include_str!("sql/call_hold.sql"))
        .bind(request.uuid())
        .bind(account.number())
        .bind(Day::of(request).date())
        .bind(i64::try_from(dead_after.as_millis()).unwrap_or(i64::MAX))
        .fetch_optional(&mut *session)
        .await?;
    let hold = row.map(|row| {
        let resolved_at: Option<OffsetDateTime> = column(&row, "resolved_at")?;
        Ok::<_, DbError>(CallHold {
            amount: column(&row, "amount").map(Money::from_nanos)?,
            opened_at: from_sql_time(column(&row, "opened_at")?),
            state: HoldState::of(column(&row, "state")?),
            resolved_at: resolved_at.map(from_sql_time),
            has_live_node: column(&row, "has_live_node")?,
        })
    });
    let rows = sqlx::query(
        "SELECT t.kind, sum(t.amount)::bigint AS amount, min(t.at) AS at FROM ledger.posting AS t
         WHERE t.request_id = $1 AND t.account_id = $2 GROUP BY t.kind ORDER BY min(t.at), t.kind",
    )
    .bind(request.uuid())
    .bind(account.number())
    .fetch_all(&mut *session)
    .await?;
    let moves = rows.iter().map(|row| {
        Ok(Move {
            kind: column(row, "kind")?,
            amount: column(row, "amount").map(Money::from_nanos)?,
            at: from_sql_time(column(row, "at")?),
        })
    });
    Ok(CallMoney {
        hold: hold.transpose()?,
        moves: moves.collect::<Result<_, DbError>>()?,
    })
}

// === impl HoldState ===

impl HoldState {
    /// The words are those of the table's constraint.
    fn of(word: &str) -> Self {
        match word {
            "settled" => Self::Settled,
            "voided" => Self::Voided,
            _ => Self::Open,
        }
    }
}
