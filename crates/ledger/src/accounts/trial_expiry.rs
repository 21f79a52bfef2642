//! Expiry of trial credit: what is left of a grant is deducted, never more.

use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, Money, RequestId};

use super::payments::adjust;
use super::types::{Adjust, AdjustAnswer, Wallet};
use crate::batch::lock_accounts;

pub const TRIAL_EXPIRED: &str = "trial credit expired";
const ACTOR: &str = "trunkline";

/// A trial grant that expired.
#[derive(Debug, Clone, Copy)]
pub struct ExpiredTrial {
    pub request: RequestId,
    pub account: AccountId,
    pub granted: Money,
}

/// Deducts what is left of an expired trial grant and returns the amount. Spending counts against
/// the oldest grant first, so a later grant is not touched; open holds are not touched either. The
/// caller makes sure that this runs once for each grant.
pub async fn expire_trial(tx: &mut Tx, over: &ExpiredTrial) -> Result<Money, DbError> {
    let locked = lock_accounts(tx, vec![over.account]).await?;
    let Some(balance) = locked.balances.get(&over.account) else {
        return Ok(Money::ZERO);
    };
    let given: i64 = sqlx::query_scalar(
        "SELECT COALESCE(sum(CASE WHEN t.credit = ledger.wallet_party($1, 1::smallint) THEN t.amount
             ELSE -t.amount END), 0)::bigint
         FROM ledger.transfer AS t
         WHERE t.account_id = $1 AND t.kind IN ('trial_grant', 'adjust') AND t.leg = 1",
    )
    .bind(over.account.number())
    .fetch_one(&mut **tx)
    .await?;
    let (posted, granted) = (balance.trial_posted, over.granted.nanos());
    let spent = given.saturating_sub(posted).max(0);
    let free = posted.saturating_sub(balance.trial_held);
    let left = granted.saturating_sub(spent).min(free);
    if left <= 0 {
        return Ok(Money::ZERO);
    }
    let answer = adjust(
        tx,
        &Adjust {
            request: over.request,
            account: over.account,
            wallet: Wallet::Trial,
            amount: Money::from_nanos(left.saturating_neg()),
            reason: TRIAL_EXPIRED.to_owned(),
            actor: ACTOR.to_owned(),
        },
    )
    .await?;
    Ok(match answer {
        AdjustAnswer::Done | AdjustAnswer::Before => Money::from_nanos(left),
        AdjustAnswer::TooLittle(_) | AdjustAnswer::Refused => Money::ZERO,
    })
}
