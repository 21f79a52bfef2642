//! Redemption codes: amount, creator and redemption. The caller books the amount with the ledger in
//! the transaction that marks the code.

mod code;

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time, to_sql_time};
use trunkline_types::{AccountId, Money, Timestamp};
use uuid::Uuid;

use crate::validation::{FieldError, Problem};

pub use code::{CODE_RANDOM_BYTES, RedemptionCode};

/// Most codes that are made at once.
pub const MAKE_MAX: u32 = 1_000;
/// Longest name of a batch.
pub const BATCH_MAX_CHARACTERS: usize = 60;
/// Most codes of one list.
pub const LIST_MAX: i64 = 1_000;

/// Which wallet a code fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wallet {
    /// The paid wallet: it counts as a top-up.
    Paid,
    Trial,
}

#[derive(Debug, Clone)]
pub struct NewCode<'a> {
    pub id: Uuid,
    /// Its text, which is hashed and not kept.
    pub text: &'a RedemptionCode,
    /// The name of the codes that were made with it.
    pub batch: &'a str,
    pub amount: Money,
    pub wallet: Wallet,
    pub made_by: &'a str,
    /// When it is over; none for never.
    pub expires_at: Option<Timestamp>,
}

/// A code that was written.
#[derive(Debug, Clone)]
pub struct Code {
    pub id: Uuid,
    /// What lists show of its text.
    pub hint: String,
    /// The name of the codes that were made with it.
    pub batch: String,
    pub amount: Money,
    pub wallet: Wallet,
    pub made_by: String,
    pub created_at: Timestamp,
    /// When it is over.
    pub expires_at: Option<Timestamp>,
    /// When it was taken back.
    pub revoked_at: Option<Timestamp>,
    /// Who has used it, and when.
    pub redeemed: Option<(AccountId, Timestamp)>,
    /// Whether it is over by now.
    pub is_expired: bool,
}

const COLUMNS: &str = "id, hint, batch, amount_nanos, wallet, made_by, created_at, expires_at, revoked_at, \
    redeemed_by, redeemed_at, COALESCE(expires_at <= app.now(), false) AS is_expired";

/// Checks the name of a batch.
pub fn check_batch(batch: &str) -> Result<(), FieldError> {
    let length = batch.chars().count();
    let visible = batch.chars().all(|c| !c.is_control() && !c.is_whitespace());
    if !(1..=BATCH_MAX_CHARACTERS).contains(&length) || !visible {
        let be = "a word of at most 60 characters, without blanks";
        return Err(FieldError::new("batch", Problem::Must { be }));
    }
    Ok(())
}

pub async fn create(tx: &mut Tx, new: &NewCode<'_>) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.redemption_code
             (id, code_hash, hint, batch, amount_nanos, wallet, made_by, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(new.id)
    .bind(new.text.hash().as_slice())
    .bind(new.text.hint())
    .bind(new.batch)
    .bind(new.amount.nanos())
    .bind(new.wallet.as_str())
    .bind(new.made_by)
    .bind(new.expires_at.map(to_sql_time))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The row of a code, locked for this transaction: concurrent redemptions run one after the other.
pub async fn find_for_update(tx: &mut Tx, text: &RedemptionCode) -> Result<Option<Code>, DbError> {
    let query =
        format!("SELECT {COLUMNS} FROM app.redemption_code WHERE code_hash = $1 FOR UPDATE");
    let row = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(text.hash().as_slice())
        .fetch_optional(&mut **tx)
        .await?;
    row.as_ref().map(Code::of_row).transpose()
}

/// Marks a code as used, in the transaction that booked it.
pub async fn redeem(tx: &mut Tx, id: Uuid, by: AccountId) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.redemption_code SET redeemed_by = $2, redeemed_at = app.now() WHERE id = $1",
    )
    .bind(id)
    .bind(by.number())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Revokes unused codes, one by its id or all of a batch. Returns how many.
pub async fn revoke(tx: &mut Tx, id: Option<Uuid>, batch: Option<&str>) -> Result<u64, DbError> {
    let done = sqlx::query(
        "UPDATE app.redemption_code SET revoked_at = app.now()
         WHERE (id = $1 OR batch = $2) AND revoked_at IS NULL AND redeemed_at IS NULL",
    )
    .bind(id)
    .bind(batch)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

/// Codes, newest first, of one batch or of all.
pub async fn list(
    connection: &mut PgConnection,
    batch: Option<&str>,
    limit: i64,
) -> Result<Vec<Code>, DbError> {
    let query = format!(
        "SELECT {COLUMNS} FROM app.redemption_code WHERE $1::text IS NULL OR batch = $1
         ORDER BY created_at DESC, id DESC LIMIT $2"
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(batch)
        .bind(limit.clamp(1, LIST_MAX))
        .fetch_all(connection)
        .await?;
    rows.iter().map(Code::of_row).collect()
}

// === impl Wallet ===

impl Wallet {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Paid => "paid",
            Self::Trial => "trial",
        }
    }

    fn of(word: &str) -> Result<Self, DbError> {
        let known = [Self::Paid, Self::Trial]
            .into_iter()
            .find(|wallet| wallet.as_str() == word);
        let strange = "a word in app.redemption_code.wallet that is not on the list";
        known.ok_or_else(|| DbError::from(sqlx::Error::Decode(strange.into())))
    }
}

// === impl Code ===

impl Code {
    /// Whether it can be redeemed: not yet redeemed, not expired, not revoked.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.redeemed.is_none() && self.revoked_at.is_none() && !self.is_expired
    }

    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let moment = |at: Option<OffsetDateTime>| at.map(from_sql_time);
        let by: Option<i64> = row.try_get("redeemed_by")?;
        let at = moment(row.try_get("redeemed_at")?);
        Ok(Self {
            id: row.try_get("id")?,
            hint: row.try_get("hint")?,
            batch: row.try_get("batch")?,
            amount: Money::from_nanos(row.try_get("amount_nanos")?),
            wallet: Wallet::of(row.try_get("wallet")?)?,
            made_by: row.try_get("made_by")?,
            created_at: from_sql_time(row.try_get("created_at")?),
            expires_at: moment(row.try_get("expires_at")?),
            revoked_at: moment(row.try_get("revoked_at")?),
            redeemed: by.map(AccountId::new).zip(at),
            is_expired: row.try_get("is_expired")?,
        })
    }
}
