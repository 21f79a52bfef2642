//! Calls that failed after they were charged. A usage row is written once, so the final outcome of such a call
//! stands beside it; readers of outcomes take it first.

use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, RequestId};

use crate::outcome::Outcome;

/// Records how an accepted call failed, in the transaction that refunds it. False if it was not accepted, or its
/// failure is known.
pub async fn record(
    tx: &mut Tx,
    account: AccountId,
    request: RequestId,
    outcome: Outcome,
) -> Result<bool, DbError> {
    let recorded = sqlx::query(
        "INSERT INTO ledger.late_failure
             (request_id, account_id, outcome, day, key_id, model, endpoint, group_name)
         SELECT u.request_id, u.account_id, $3, (u.settled_at AT TIME ZONE 'UTC')::date,
             COALESCE(u.key_id, 0), u.model, u.endpoint, u.group_name
         FROM ledger.usage AS u
         WHERE u.request_id = $1 AND u.account_id = $2 AND u.outcome = 'accepted'
         ON CONFLICT (request_id) DO NOTHING",
    )
    .bind(request.uuid())
    .bind(account.number())
    .bind(outcome.as_str())
    .execute(&mut **tx)
    .await?;
    Ok(recorded.rows_affected() > 0)
}
