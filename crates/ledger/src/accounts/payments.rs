//! Payments and adjustments: the only operations that bring money in or are made by a person.

use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, Money, RequestId};
use uuid::Uuid;

use super::types::{Adjust, AdjustAnswer, TopUp, TopUpAnswer, Wallet};
use crate::batch::lock_accounts;
use crate::batch::notifications::Notifications;

/// Puts money into a wallet, once per payment.
pub async fn top_up(tx: &mut Tx, top_up: &TopUp) -> Result<TopUpAnswer, DbError> {
    let locked = lock_accounts(tx, vec![top_up.account]).await?;
    if locked.balances.is_empty() || top_up.amount <= Money::ZERO {
        return Ok(TopUpAnswer::Refused);
    }
    let inserted = sqlx::query(
        "INSERT INTO ledger.top_up (provider, event_id, request_id, account_id, wallet, amount)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (provider, event_id) DO NOTHING",
    )
    .bind(&top_up.provider)
    .bind(&top_up.event)
    .bind(top_up.request.uuid())
    .bind(top_up.account.number())
    .bind(top_up.wallet.as_str())
    .bind(top_up.amount.nanos())
    .execute(&mut **tx)
    .await?;
    if inserted.rows_affected() == 0 {
        return same_top_up(tx, top_up).await;
    }
    let (kind, from) = match top_up.wallet {
        Wallet::Paid => ("top_up", Party::PAYMENTS),
        Wallet::Trial => ("trial_grant", Party::GRANTS),
    };
    let to = Party::wallet(top_up.account, top_up.wallet);
    let moved = Move {
        request: top_up.request,
        kind,
        account: top_up.account,
        wallet: top_up.wallet,
    };
    moved.send(tx, from, to, top_up.amount).await?;
    sqlx::query(
        "UPDATE ledger.account SET
             paid_posted = paid_posted + CASE WHEN $2 = 'paid' THEN $3 ELSE 0 END,
             trial_posted = trial_posted + CASE WHEN $2 = 'trial' THEN $3 ELSE 0 END,
             topped_up_at = CASE WHEN $2 = 'paid' THEN COALESCE(topped_up_at, app.now()) ELSE topped_up_at END
         WHERE id = $1",
    )
    .bind(top_up.account.number())
    .bind(top_up.wallet.as_str())
    .bind(top_up.amount.nanos())
    .execute(&mut **tx)
    .await?;
    let mut notifications = Notifications::default();
    notifications.posted(top_up.account, top_up.amount.nanos());
    notifications.write(tx, &locked.thresholds).await?;
    Ok(TopUpAnswer::Done)
}

async fn same_top_up(tx: &mut Tx, top_up: &TopUp) -> Result<TopUpAnswer, DbError> {
    let same = sqlx::query(
        "SELECT 1 FROM ledger.top_up
         WHERE provider = $1 AND event_id = $2 AND account_id = $3 AND wallet = $4 AND amount = $5",
    )
    .bind(&top_up.provider)
    .bind(&top_up.event)
    .bind(top_up.account.number())
    .bind(top_up.wallet.as_str())
    .bind(top_up.amount.nanos())
    .fetch_optional(&mut **tx)
    .await?;
    Ok(same.map_or(TopUpAnswer::Different, |_| TopUpAnswer::Before))
}

/// Corrects a balance, never below what is held.
pub async fn adjust(tx: &mut Tx, adjust: &Adjust) -> Result<AdjustAnswer, DbError> {
    let locked = lock_accounts(tx, vec![adjust.account]).await?;
    let Some(balance) = locked
        .balances
        .get(&adjust.account)
        .filter(|_| adjust.amount != Money::ZERO)
    else {
        return Ok(AdjustAnswer::Refused);
    };
    let free = match adjust.wallet {
        Wallet::Paid => balance.paid_posted.saturating_sub(balance.paid_held),
        Wallet::Trial => balance.trial_posted.saturating_sub(balance.trial_held),
    };
    let known = sqlx::query("SELECT 1 FROM ledger.adjustment WHERE request_id = $1")
        .bind(adjust.request.uuid())
        .fetch_optional(&mut **tx)
        .await?;
    if known.is_some() {
        return Ok(AdjustAnswer::Before);
    }
    if adjust.amount.nanos().saturating_add(free) < 0 {
        return Ok(AdjustAnswer::TooLittle(Money::from_nanos(free)));
    }
    sqlx::query(
        "INSERT INTO ledger.adjustment (request_id, account_id, wallet, amount, reason, actor)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(adjust.request.uuid())
    .bind(adjust.account.number())
    .bind(adjust.wallet.as_str())
    .bind(adjust.amount.nanos())
    .bind(&adjust.reason)
    .bind(&adjust.actor)
    .execute(&mut **tx)
    .await?;
    let wallet = Party::wallet(adjust.account, adjust.wallet);
    let (from, to) = if adjust.amount.is_negative() {
        (wallet, Party::ADJUSTMENTS)
    } else {
        (Party::ADJUSTMENTS, wallet)
    };
    let size = Money::from_nanos(adjust.amount.nanos().saturating_abs());
    let moved = Move {
        request: adjust.request,
        kind: "adjust",
        account: adjust.account,
        wallet: adjust.wallet,
    };
    moved.send(tx, from, to, size).await?;
    sqlx::query(
        "UPDATE ledger.account SET
             paid_posted = paid_posted + CASE WHEN $2 = 'paid' THEN $3 ELSE 0 END,
             trial_posted = trial_posted + CASE WHEN $2 = 'trial' THEN $3 ELSE 0 END
         WHERE id = $1",
    )
    .bind(adjust.account.number())
    .bind(adjust.wallet.as_str())
    .bind(adjust.amount.nanos())
    .execute(&mut **tx)
    .await?;
    let mut notifications = Notifications::default();
    notifications.posted(adjust.account, adjust.amount.nanos());
    notifications.write(tx, &locked.thresholds).await?;
    Ok(AdjustAnswer::Done)
}

/// Takes as much of an amount as is free, and returns how much that was. The amount is a size, not negative.
pub async fn take_free(tx: &mut Tx, take: &Adjust) -> Result<Money, DbError> {
    let locked = lock_accounts(tx, vec![take.account]).await?;
    let Some(balance) = locked.balances.get(&take.account) else {
        return Ok(Money::ZERO);
    };
    let free = match take.wallet {
        Wallet::Paid => balance.paid_posted.saturating_sub(balance.paid_held),
        Wallet::Trial => balance.trial_posted.saturating_sub(balance.trial_held),
    };
    let size = take.amount.nanos().min(free);
    if size <= 0 {
        return Ok(Money::ZERO);
    }
    let taken = Adjust {
        amount: Money::from_nanos(size.saturating_neg()),
        ..take.clone()
    };
    Ok(match adjust(tx, &taken).await? {
        AdjustAnswer::Done => Money::from_nanos(size),
        // The account is locked, so there is as much as was seen.
        AdjustAnswer::Before | AdjustAnswer::TooLittle(_) | AdjustAnswer::Refused => Money::ZERO,
    })
}

/// A party of a transfer: a wallet or a system party, as `ledger.transfer` numbers them.
#[derive(Debug, Clone, Copy)]
struct Party(i64);

struct Move {
    request: RequestId,
    kind: &'static str,
    account: AccountId,
    wallet: Wallet,
}

// === impl Party ===

impl Party {
    const PAYMENTS: Self = Self(-2);
    const GRANTS: Self = Self(-3);
    const ADJUSTMENTS: Self = Self(-4);

    fn wallet(account: AccountId, wallet: Wallet) -> Self {
        let twice = account.number().saturating_mul(2);
        Self(twice.saturating_add(i64::from(wallet.leg())))
    }
}

// === impl Move ===

impl Move {
    async fn send(
        &self,
        tx: &mut Tx,
        from: Party,
        to: Party,
        amount: Money,
    ) -> Result<(), DbError> {
        let request: Uuid = self.request.uuid();
        sqlx::query(
            "INSERT INTO ledger.transfer (request_id, kind, leg, account_id, debit, credit, amount, at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, app.now())",
        )
        .bind(request)
        .bind(self.kind)
        .bind(self.wallet.leg())
        .bind(self.account.number())
        .bind(from.0)
        .bind(to.0)
        .bind(amount.nanos())
        .execute(&mut **tx)
        .await?;
        Ok(())
    }
}
