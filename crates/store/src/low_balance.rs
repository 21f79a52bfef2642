//! Emails about a low balance: which accounts want them, and those that are to be queued. The database writes a
//! notice for each member with the change of the balance.

use sqlx::{PgConnection, Row as _};
use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, Money};
use uuid::Uuid;

/// Languages of emails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    Chinese,
}

/// An email to queue, under this id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LowBalanceNotice {
    pub id: Uuid,
    pub account: AccountId,
    pub to: String,
    /// The recipient's.
    pub name: String,
    pub organisation: String,
    pub language: Language,
    pub balance: Money,
    pub threshold: Money,
}

/// The language of an account's emails; none if it wants none.
pub async fn language(
    connection: &mut PgConnection,
    account: AccountId,
) -> Result<Option<Language>, DbError> {
    let word: Option<String> =
        sqlx::query_scalar("SELECT language FROM app.low_balance_email WHERE account_id = $1")
            .bind(account.number())
            .fetch_optional(connection)
            .await?;
    word.as_deref().map(Language::of_row).transpose()
}

/// Sets in which language an account wants emails; none for no emails.
pub async fn set(
    tx: &mut Tx,
    account: AccountId,
    language: Option<Language>,
) -> Result<(), DbError> {
    let query = match language {
        Some(_) => {
            "INSERT INTO app.low_balance_email (account_id, language) VALUES ($1, $2)
             ON CONFLICT (account_id) DO UPDATE SET language = EXCLUDED.language"
        }
        None => "DELETE FROM app.low_balance_email WHERE account_id = $1 AND $2::text IS NULL",
    };
    sqlx::query(query)
        .bind(account.number())
        .bind(language.map(Language::as_str))
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Takes the oldest notice away. None if there is none, or if another worker is taking it.
pub async fn take(tx: &mut Tx) -> Result<Option<LowBalanceNotice>, DbError> {
    let row = sqlx::query(
        "DELETE FROM app.low_balance_notice WHERE id = (
             SELECT n.id FROM app.low_balance_notice AS n ORDER BY n.created_at, n.id LIMIT 1)
         RETURNING id, account_id, to_address, name, organisation, language, balance_nanos, threshold_nanos",
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let language: String = row.try_get("language")?;
    Ok(Some(LowBalanceNotice {
        id: row.try_get("id")?,
        account: AccountId::new(row.try_get("account_id")?),
        to: row.try_get("to_address")?,
        name: row.try_get("name")?,
        organisation: row.try_get("organisation")?,
        language: Language::of_row(&language)?,
        balance: Money::from_nanos(row.try_get("balance_nanos")?),
        threshold: Money::from_nanos(row.try_get("threshold_nanos")?),
    }))
}

// === impl Language ===

impl Language {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// None if there are no emails in that language.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        let all = [Self::English, Self::Chinese];
        all.into_iter().find(|language| language.as_str() == word)
    }

    fn of_row(word: &str) -> Result<Self, DbError> {
        let text = "a language in app.low_balance_email that is not on the list";
        Self::of(word).ok_or_else(|| DbError::from(sqlx::Error::Decode(text.into())))
    }
}
