//! The end of credit for trying out: what is left of it goes back, never more.

use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, Money, RequestId};

use super::payments::adjust;
use super::types::{Adjust, AdjustAnswer, Wallet};
use crate::batch::lock_accounts;

/// Why, as the ledger's lines tell it.
pub const TRIAL_EXPIRED: &str = "trial credit expired";
/// Who, as the ledger's lines tell it.
const ACTOR: &str = "trunkline";

/// Credit that is over.
#[derive(Debug, Clone, Copy)]
pub struct ExpiredTrial {
    /// Names the movement.
    pub request: RequestId,
    /// Whose wallet.
    pub account: AccountId,
    /// How much was given.
    pub granted: Money,
}

/// Takes back what is left of credit that is over, and says how much that was. What was spent from the trial
/// wallet since the account began was spent from this credit first, so a later gift is not touched; what
/// running calls hold stays theirs. The caller sees to it that this is done once.
pub async fn expire_trial(tx: &mut Tx, over: &ExpiredTrial) -> Result<Money, DbError> {
    let locked = lock_accounts(tx, vec![over.account]).await?;
    let Some(balance) = locked.balances.get(&over.account) else {
        return Ok(Money::ZERO);
    };
    let given: i64 = sqlx::query_scalar(
        "SELECT COALESCE(sum(CASE WHEN t.credit = ledger.wallet_party($1, 1::smallint) THEN t.amount
             ELSE -t.amount END), 0)::bigint
         FROM ledger.transfer AS t
         WHERE t.account_id = $1 AND t.kind <> 'charge' AND t.kind IN ('trial_grant', 'adjust') AND t.leg = 1",
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
