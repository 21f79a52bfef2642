//! The desk: what people and payment providers do with money and accounts, one transaction each.

use std::time::Duration;

use sqlx::Row as _;
use trunkline_db::{Database, DbError, Tx};
use trunkline_terms::{AccountId, KeyId, Money, RequestId};
use uuid::Uuid;

use crate::batch::lock_accounts;
use crate::rows::column;

/// Live money, or play money that never meets a live upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountKind {
    /// A customer.
    Live,
    /// For trying things out.
    Test,
}

/// One of an account's wallets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wallet {
    /// Money that was paid.
    Paid,
    /// Money that was given.
    Trial,
}

/// Money from outside: a payment, or credit for trying out.
#[derive(Debug, Clone)]
pub struct TopUp {
    /// Names the movement.
    pub request: RequestId,
    /// Who gets it.
    pub account: AccountId,
    /// Into which wallet.
    pub wallet: Wallet,
    /// How much.
    pub amount: Money,
    /// Who says so.
    pub provider: String,
    /// Its name for the payment: told twice, applied once.
    pub event: String,
}

/// What a top-up was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopUpAnswer {
    /// Applied now.
    Done,
    /// This payment was applied before, with the same facts.
    Before,
    /// This payment was applied before, to another account, wallet or amount. Nothing was done.
    Different,
    /// No such account, or nothing to move.
    Refused,
}

/// A correction by a person.
#[derive(Debug, Clone)]
pub struct Adjust {
    /// Names the movement.
    pub request: RequestId,
    /// Whose balance.
    pub account: AccountId,
    /// Which wallet.
    pub wallet: Wallet,
    /// More, or less if negative.
    pub amount: Money,
    /// Why.
    pub reason: String,
    /// Who.
    pub actor: String,
}

/// What a correction was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdjustAnswer {
    /// Done now.
    Done,
    /// Done before.
    Before,
    /// There is less than that to take: this much.
    TooLittle(Money),
    /// No such account, or nothing to move.
    Refused,
}

/// A stretch of time that repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// For ever.
    Total,
    /// A calendar day.
    Daily,
    /// Monday to Sunday.
    Weekly,
    /// A calendar month.
    Monthly,
}

/// A balance as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    /// In the paid wallet.
    pub paid: Money,
    /// Of it, held by running calls.
    pub paid_held: Money,
    /// In the trial wallet.
    pub trial: Money,
    /// Of it, held by running calls.
    pub trial_held: Money,
    /// Live or test.
    pub kind: AccountKind,
    /// Topped up at least once.
    pub topped_up: bool,
}

/// Makes an account without money.
pub async fn create_account(tx: &mut Tx, kind: AccountKind) -> Result<AccountId, DbError> {
    let row = sqlx::query("INSERT INTO ledger.account (kind) VALUES ($1) RETURNING id")
        .bind(kind.word())
        .fetch_one(&mut **tx)
        .await?;
    column(&row, "id").map(AccountId::new)
}

/// An account's balance, none if there is no such account.
pub async fn balance(database: &Database, account: AccountId) -> Result<Option<Balance>, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query(
        "SELECT kind, paid_posted, paid_held, trial_posted, trial_held, topped_up_at IS NOT NULL AS topped_up
         FROM ledger.account WHERE id = $1",
    )
    .bind(account.number())
    .fetch_optional(&mut *session)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let nanos = |name: &str| column(&row, name).map(Money::from_nanos);
    Ok(Some(Balance {
        paid: nanos("paid_posted")?,
        paid_held: nanos("paid_held")?,
        trial: nanos("trial_posted")?,
        trial_held: nanos("trial_held")?,
        kind: AccountKind::of(column(&row, "kind")?),
        topped_up: column(&row, "topped_up")?,
    }))
}

/// How long the day of the daily numbers still is, by the database's clock.
pub async fn until_midnight(database: &Database) -> Result<Duration, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query(
        "SELECT ceil(extract(epoch FROM date_trunc('day', now) + interval '1 day' - now))::bigint AS seconds
         FROM (SELECT app.now() AT TIME ZONE 'UTC' AS now) AS clock",
    )
    .fetch_one(&mut *session)
    .await?;
    let seconds: i64 = column(&row, "seconds")?;
    Ok(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// Tells the ledger of a key, under its parent where it has one. The parent must be of the same
/// account. False if it is not.
pub async fn register_key(
    tx: &mut Tx,
    account: AccountId,
    key: KeyId,
    parent: Option<KeyId>,
) -> Result<bool, DbError> {
    let done = sqlx::query(
        "INSERT INTO ledger.spender (key_id, account_id, chain)
         SELECT $1, $2, ARRAY[$1::bigint] || COALESCE(
             (SELECT p.chain FROM ledger.spender AS p WHERE p.key_id = $3 AND p.account_id = $2), '{}')
         WHERE $3::bigint IS NULL
             OR EXISTS (SELECT FROM ledger.spender AS p WHERE p.key_id = $3 AND p.account_id = $2)",
    )
    .bind(key.number())
    .bind(account.number())
    .bind(parent.map(KeyId::number))
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Sets what an account (no key) or a key may spend in a period. None takes the limit away. The time
/// zone counts from the next budget on: a running one keeps its own. False if there is no such
/// account or key.
pub async fn set_budget(
    tx: &mut Tx,
    account: AccountId,
    key: Option<KeyId>,
    period: Period,
    timezone: &str,
    limit: Option<Money>,
) -> Result<bool, DbError> {
    let purses = lock_accounts(tx, vec![account]).await?;
    let key_number = key.map(KeyId::number);
    let known = sqlx::query(
        "SELECT 1 WHERE $2::bigint IS NULL
         OR EXISTS (SELECT FROM ledger.spender WHERE key_id = $2 AND account_id = $1)",
    )
    .bind(account.number())
    .bind(key_number)
    .fetch_optional(&mut **tx)
    .await?;
    if purses.is_empty() || known.is_none() {
        return Ok(false);
    }
    let Some(limit) = limit else {
        sqlx::query(
            "UPDATE ledger.budget SET removed_at = app.now()
             WHERE account_id = $1 AND key_id IS NOT DISTINCT FROM $2 AND period = $3 AND removed_at IS NULL",
        )
        .bind(account.number())
        .bind(key_number)
        .bind(period.word())
        .execute(&mut **tx)
        .await?;
        return Ok(true);
    };
    let row = sqlx::query(
        "INSERT INTO ledger.budget (account_id, key_id, period, timezone, limit_nanos)
         VALUES ($1, $2, $3, CASE WHEN $3 = 'total' THEN 'UTC' ELSE $4 END, $5)
         ON CONFLICT (account_id, key_id, period) WHERE removed_at IS NULL
         DO UPDATE SET limit_nanos = excluded.limit_nanos
         RETURNING id, ledger.period_start(period, timezone, app.now()) IS NULL AS unknown_zone",
    )
    .bind(account.number())
    .bind(key_number)
    .bind(period.word())
    .bind(timezone)
    .bind(limit.nanos())
    .fetch_one(&mut **tx)
    .await?;
    let id: i64 = row.try_get("id")?;
    // Stretches that exist follow the new limit; what is used already is not taken away.
    sqlx::query("UPDATE ledger.budget_period SET cap = greatest($2, used) WHERE budget_id = $1")
        .bind(id)
        .bind(limit.nanos())
        .execute(&mut **tx)
        .await?;
    Ok(true)
}

/// Puts money into a wallet, once per payment.
pub async fn top_up(tx: &mut Tx, top_up: &TopUp) -> Result<TopUpAnswer, DbError> {
    let purses = lock_accounts(tx, vec![top_up.account]).await?;
    if purses.is_empty() || top_up.amount <= Money::ZERO {
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
    .bind(top_up.wallet.word())
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
    .bind(top_up.wallet.word())
    .bind(top_up.amount.nanos())
    .execute(&mut **tx)
    .await?;
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
    .bind(top_up.wallet.word())
    .bind(top_up.amount.nanos())
    .fetch_optional(&mut **tx)
    .await?;
    Ok(same.map_or(TopUpAnswer::Different, |_| TopUpAnswer::Before))
}

/// Corrects a balance, never below what is held.
pub async fn adjust(tx: &mut Tx, adjust: &Adjust) -> Result<AdjustAnswer, DbError> {
    let purses = lock_accounts(tx, vec![adjust.account]).await?;
    let Some(purse) = purses
        .get(&adjust.account)
        .filter(|_| adjust.amount != Money::ZERO)
    else {
        return Ok(AdjustAnswer::Refused);
    };
    let free = match adjust.wallet {
        Wallet::Paid => purse.paid_posted.saturating_sub(purse.paid_held),
        Wallet::Trial => purse.trial_posted.saturating_sub(purse.trial_held),
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
    .bind(adjust.wallet.word())
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
    .bind(adjust.wallet.word())
    .bind(adjust.amount.nanos())
    .execute(&mut **tx)
    .await?;
    Ok(AdjustAnswer::Done)
}

/// Who a transfer is from or to, as the table numbers them.
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

// === impl AccountKind ===

impl AccountKind {
    /// The word in the table.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }

    /// The table holds one of two words.
    fn of(word: &str) -> Self {
        if word == "test" {
            Self::Test
        } else {
            Self::Live
        }
    }
}

// === impl Wallet ===

impl Wallet {
    /// The word in the table.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Paid => "paid",
            Self::Trial => "trial",
        }
    }

    /// The leg of a transfer that moves it.
    #[must_use]
    pub const fn leg(self) -> i16 {
        match self {
            Self::Paid => 0,
            Self::Trial => 1,
        }
    }
}

// === impl Period ===

impl Period {
    /// The word in the table.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
        }
    }
}
