//! One call, with all that is known of it.

use serde_json::Value;
use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use trunkline_db::{Database, DbError, from_sql_time};
use trunkline_types::{AccountId, Money, RequestId, Timestamp, Units};
use uuid::Uuid;

use super::{Call, counts_of, refunds_of};
use crate::accounts::Wallet;
use crate::columns::{column, request_of};

/// Attempts that are shown; there are never as many.
const MAX_ATTEMPTS: usize = 50;

/// A call and everything that became of it.
#[derive(Debug, Clone)]
pub struct CallDetail {
    /// What lists show of it.
    pub call: Call,
    /// The group whose prices applied.
    pub group: String,
    pub tier: Option<String>,
    pub price_version: Vec<u8>,
    /// Billed units by face, as written.
    pub units: Vec<(String, u64)>,
    /// The same, if all its faces are known today.
    pub billed: Option<Units>,
    /// All that was measured, by bucket.
    pub measured: Vec<(String, u64)>,
    /// Attempts at upstreams, first to last.
    pub attempts: Vec<Attempt>,
    /// Money that moved for it, in order.
    pub transfers: Vec<Transfer>,
    /// Whether the account had topped up when the call began: its prices depend on it.
    pub topped_up: bool,
}

/// One attempt at an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The channel's number. For operators only: customers see which attempts were on the same
    /// channel.
    pub channel: Option<i64>,
    pub status: Option<u16>,
    /// Error code; none if it succeeded.
    pub fault: Option<String>,
    /// Time to its response, in milliseconds.
    pub millis: Option<i64>,
}

/// Money that moved for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// `charge`, `refund`, `settlement_adjustment` or `undelivered`.
    pub kind: String,
    pub wallet: Wallet,
    pub amount: Money,
    /// Into the wallet, and not out of it.
    pub is_in: bool,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charged {
    pub request: RequestId,
    pub charged: Money,
    /// Refunded of it since.
    pub refunded: Money,
}

/// A call of an account; none if it is another's, still running or unknown.
pub async fn detail(
    database: &Database,
    account: AccountId,
    request: RequestId,
) -> Result<Option<CallDetail>, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query(
        "SELECT u.request_id, u.key_id, u.model, u.endpoint, COALESCE(f.outcome, u.outcome) AS outcome,
             u.warnings, u.estimated, u.paid,
             u.trial, u.opened_at, u.settled_at, ledger.input_units(u.units) AS input_units,
             ledger.output_units(u.units) AS output_units, u.group_name, u.tier, u.price_version, u.units,
             u.measured, u.attempts, COALESCE(a.topped_up_at <= u.opened_at, false) AS topped_up
         FROM ledger.usage AS u JOIN ledger.account AS a ON a.id = u.account_id
         LEFT JOIN ledger.late_failure AS f ON f.request_id = u.request_id
         WHERE u.request_id = $1 AND u.account_id = $2",
    )
    .bind(request.uuid())
    .bind(account.number())
    .fetch_optional(&mut *session)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let transfers = transfers_of(&mut session, request).await?;
    let mut call = Call::of_row(&row)?;
    let back = transfers.iter().filter(|transfer| transfer.is_in);
    call.refunded = back.fold(Money::ZERO, |sum, one| {
        sum.checked_add(one.amount).unwrap_or(sum)
    });
    let units: Value = column(&row, "units")?;
    let attempts: Value = column(&row, "attempts")?;
    Ok(Some(CallDetail {
        call,
        group: column(&row, "group_name")?,
        tier: column(&row, "tier")?,
        price_version: column(&row, "price_version")?,
        units: counts_of(&units),
        billed: serde_json::from_value(units).ok(),
        measured: counts_of(&column(&row, "measured")?),
        attempts: attempts_of(&attempts),
        transfers,
        topped_up: column(&row, "topped_up")?,
    }))
}

/// Money that moved for a request of an account, in order.
pub async fn transfers(
    database: &Database,
    account: AccountId,
    request: RequestId,
) -> Result<Vec<Transfer>, DbError> {
    let mut session = database.session().await?;
    let known: Option<i64> =
        sqlx::query_scalar("SELECT account_id FROM ledger.usage WHERE request_id = $1")
            .bind(request.uuid())
            .fetch_optional(&mut *session)
            .await?;
    if known != Some(account.number()) {
        return Ok(Vec::new());
    }
    transfers_of(&mut session, request).await
}

/// What some requests of an account cost; those that cost nothing are left out.
pub async fn charges(
    database: &Database,
    account: AccountId,
    requests: &[RequestId],
) -> Result<Vec<Charged>, DbError> {
    let ids: Vec<Uuid> = requests.iter().map(|request| request.uuid()).collect();
    let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
        return Ok(Vec::new());
    };
    let mut session = database.session().await?;
    let rows = sqlx::query(
        "SELECT u.request_id, u.paid + u.trial AS charged FROM ledger.usage AS u
         WHERE u.account_id = $1 AND u.request_id >= $2 AND u.request_id <= $3
             AND u.request_id = ANY ($4) AND u.paid + u.trial > 0",
    )
    .bind(account.number())
    .bind(first)
    .bind(last)
    .bind(&ids)
    .persistent(false)
    .fetch_all(&mut *session)
    .await?;
    let mut charged = Vec::with_capacity(rows.len());
    for row in &rows {
        charged.push(Charged {
            request: request_of(row)?,
            charged: Money::from_nanos(column(row, "charged")?),
            refunded: Money::ZERO,
        });
    }
    let ids: Vec<Uuid> = charged.iter().map(|one| one.request.uuid()).collect();
    for (id, refunded) in refunds_of(&mut session, &ids).await? {
        if let Some(one) = charged.iter_mut().find(|one| one.request.uuid() == id) {
            one.refunded = refunded;
        }
    }
    Ok(charged)
}

async fn transfers_of(
    connection: &mut PgConnection,
    request: RequestId,
) -> Result<Vec<Transfer>, DbError> {
    let rows = sqlx::query(
        "SELECT t.kind, t.leg, t.credit >= 0 AS is_in, t.amount, t.at FROM ledger.posting AS t
         WHERE t.request_id = $1 ORDER BY t.at, t.kind, t.leg",
    )
    .bind(request.uuid())
    .fetch_all(connection)
    .await?;
    let read = |row: &PgRow| {
        Ok(Transfer {
            kind: column(row, "kind")?,
            wallet: Wallet::of_leg(column(row, "leg")?),
            amount: Money::from_nanos(column(row, "amount")?),
            is_in: column(row, "is_in")?,
            at: from_sql_time(column(row, "at")?),
        })
    };
    rows.iter().map(read).collect()
}

/// Fields that cannot be read were written by a later version and are omitted.
fn attempts_of(value: &Value) -> Vec<Attempt> {
    let all = value.as_array().into_iter().flatten().take(MAX_ATTEMPTS);
    let read = |one: &Value| Attempt {
        channel: one.get("channel").and_then(Value::as_i64),
        status: one
            .get("status")
            .and_then(Value::as_u64)
            .and_then(|status| u16::try_from(status).ok()),
        fault: one.get("error").and_then(Value::as_str).map(str::to_owned),
        millis: one.get("ms").and_then(Value::as_i64),
    };
    all.map(read).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_cannot_be_read_of_an_attempt_is_left_out() {
        let written = json!([
            { "channel": 7, "status": 503, "error": "failed", "ms": 12 },
            { "channel": 9, "outcome": "accepted" },
            { "status": 70_000, "ms": "soon" },
        ]);
        let attempt = |channel, status, fault: Option<&str>, millis| Attempt {
            channel,
            status,
            fault: fault.map(str::to_owned),
            millis,
        };
        assert_eq!(
            attempts_of(&written),
            [
                attempt(Some(7), Some(503), Some("failed"), Some(12)),
                attempt(Some(9), None, None, None),
                attempt(None, None, None, None),
            ]
        );
        assert_eq!(attempts_of(&Value::Null), []);
    }
}
