//! The rows that lines are of, and their texts.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use time::OffsetDateTime;
use trunkline_db::DbError;
use trunkline_receipts::{CallLine, TransferLine};
use uuid::Uuid;

use super::entry::{LineId, LineKind};
use crate::columns::{column, request_of};

/// A row that is a line as soon as it has a number.
pub(super) struct LineRow {
    pub(super) account: i64,
    /// The order of lines that are entered together.
    pub(super) at: OffsetDateTime,
    line: Line,
}

enum Line {
    Call(CallLine),
    Transfer(TransferLine),
}

/// The rows of lines, as far as they are there.
pub(super) async fn read_lines(
    connection: &mut PgConnection,
    ids: &[LineId],
) -> Result<HashMap<LineId, LineRow>, DbError> {
    let mut found = HashMap::with_capacity(ids.len());
    let is_call = |id: &&LineId| id.kind == LineKind::CALL;
    let calls: Vec<Uuid> = ids.iter().filter(is_call).map(|id| id.request).collect();
    if !calls.is_empty() {
        let rows = sqlx::query(include_str!("../sql/chain_calls.sql"))
            .bind(calls)
            .fetch_all(&mut *connection)
            .await?;
        for row in &rows {
            let id = LineId {
                kind: LineKind::CALL,
                request: column(row, "request_id")?,
            };
            found.insert(id, LineRow::of_call(row)?);
        }
    }
    let transfers: Vec<&LineId> = ids.iter().filter(|id| !is_call(id)).collect();
    if transfers.is_empty() {
        return Ok(found);
    }
    let requests: Vec<Uuid> = transfers.iter().map(|id| id.request).collect();
    let (kinds, legs): (Vec<&str>, Vec<i16>) =
        transfers.iter().map(|id| id.kind.transfer()).unzip();
    let rows = sqlx::query(include_str!("../sql/chain_transfers.sql"))
        .bind(requests)
        .bind(kinds)
        .bind(legs)
        .fetch_all(&mut *connection)
        .await?;
    for row in &rows {
        let (kind, leg): (String, i16) = (column(row, "kind")?, column(row, "leg")?);
        if let Some(kind) = LineKind::new(&kind, leg) {
            let request = column(row, "request_id")?;
            found.insert(LineId { kind, request }, LineRow::of_transfer(row)?);
        }
    }
    Ok(found)
}

// === impl LineRow ===

impl LineRow {
    fn of_call(row: &PgRow) -> Result<Self, DbError> {
        let line = CallLine {
            n: 0,
            kind: CallLine::KIND,
            id: request_of(row)?.to_string(),
            at: column(row, "at")?,
            key: column(row, "key_id")?,
            model: column(row, "model")?,
            endpoint: column(row, "endpoint")?,
            group: column(row, "group_name")?,
            outcome: column(row, "outcome")?,
            estimated: column(row, "estimated")?,
            tier: column(row, "tier")?,
            units: units(column(row, "units")?),
            prices: column(row, "price_version")?,
            paid_nanos: column::<i64>(row, "paid")?.saturating_neg(),
            trial_nanos: column::<i64>(row, "trial")?.saturating_neg(),
        };
        Ok(Self {
            account: column(row, "account_id")?,
            at: column(row, "moment")?,
            line: Line::Call(line),
        })
    }

    fn of_transfer(row: &PgRow) -> Result<Self, DbError> {
        let (leg, amount): (i16, i64) = (column(row, "leg")?, column(row, "amount")?);
        let (paid_nanos, trial_nanos) = if leg == 0 { (amount, 0) } else { (0, amount) };
        let line = TransferLine {
            n: 0,
            kind: column(row, "kind")?,
            id: request_of(row)?.to_string(),
            at: column(row, "at")?,
            paid_nanos,
            trial_nanos,
        };
        Ok(Self {
            account: column(row, "account_id")?,
            at: column(row, "moment")?,
            line: Line::Transfer(line),
        })
    }

    /// Its text under its number.
    pub(super) fn text(&mut self, number: u64) -> String {
        match &mut self.line {
            Line::Call(line) => {
                line.n = number;
                line.text()
            }
            Line::Transfer(line) => {
                line.n = number;
                line.text()
            }
        }
    }
}

fn units(stored: Value) -> BTreeMap<String, Value> {
    match stored {
        Value::Object(units) => units.into_iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            BTreeMap::new()
        }
    }
}
