//! Outgoing emails and their delivery state. An email is written in the transaction that made it
//! necessary and sent later by the worker that claims it. Its content is sealed: this crate cannot
//! read it.

mod claim;
mod retention;

use serde::{Deserialize, Serialize};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::Timestamp;
use uuid::Uuid;

pub use claim::{Claimed, Failure, claim, failed, sent};
pub use retention::{Cleanup, clean_up, hold_for_operator};

/// Longest address that mail can have.
pub const ADDRESS_MAX_CHARACTERS: usize = 254;
/// Most emails of one list.
pub const LIST_MAX: i64 = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A link that proves an address.
    Verify,
    /// A link to a new password.
    Reset,
    /// A link into an organisation.
    Invitation,
    /// A sign-up used an address that has an account already. It contains no secret.
    Known,
    /// The balance fell below the account's threshold. It contains no secret.
    LowBalance,
}

/// Delivery state of an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Queued, or waiting for a retry.
    Waiting,
    /// Accepted by a mail server.
    Sent,
    Failed,
    /// No mail server is configured: an operator passes its link on.
    Kept,
}

/// The variable content of an email. Sealed in the row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    pub link: String,
    /// The recipient's name; may be empty.
    pub name: String,
    /// Which organisation it is about, for an invitation.
    pub organisation: Option<String>,
    /// The inviting person, for an invitation.
    pub by: Option<String>,
    /// What a low balance is, for an email about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_balance: Option<LowBalanceContent>,
}

/// The facts of a low balance, as texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LowBalanceContent {
    pub balance_usd: String,
    pub threshold_usd: String,
    /// `en` or `zh`.
    pub language: String,
}

#[derive(Debug, Clone, Copy)]
pub struct NewEmail<'a> {
    pub id: Uuid,
    pub kind: Kind,
    pub to: &'a str,
    /// Its [`Content`] as [`Content::bytes`], sealed under [`context`].
    pub sealed: &'a [u8],
    /// When its link expires.
    pub expires_at: Timestamp,
    /// Whether a mail server is configured; without one it is held for the operator.
    pub is_mailed: bool,
}

#[derive(Debug, Clone)]
pub struct Email {
    pub id: Uuid,
    pub kind: Kind,
    pub to: String,
    /// The content, sealed.
    pub sealed: Vec<u8>,
    pub state: State,
    pub last_error: Option<String>,
    pub created_at: Timestamp,
    /// When its link expires.
    pub expires_at: Timestamp,
}

/// Associated data of an email's seal: it opens in this row only.
#[must_use]
pub fn context(id: Uuid) -> Vec<u8> {
    [b"app.email.sealed/".as_slice(), id.as_bytes()].concat()
}

pub async fn write(tx: &mut Tx, email: &NewEmail<'_>) -> Result<(), DbError> {
    let state = if email.is_mailed {
        State::Waiting
    } else {
        State::Kept
    };
    sqlx::query(
        "INSERT INTO app.email (id, kind, to_address, sealed, state, expires_at) VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(email.id)
    .bind(email.kind.as_str())
    .bind(email.to)
    .bind(email.sealed)
    .bind(state.as_str())
    .bind(trunkline_db::to_sql_time(email.expires_at))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Unsent emails with a valid link, newest first.
pub async fn unsent(connection: &mut PgConnection, limit: i64) -> Result<Vec<Email>, DbError> {
    let rows = sqlx::query(
        "SELECT id, kind, to_address, sealed, state, last_error, created_at, expires_at FROM app.email
         WHERE sealed IS NOT NULL AND kind NOT IN ('known', 'low_balance') AND expires_at > app.now()
         ORDER BY created_at DESC, id DESC LIMIT $1",
    )
    .bind(limit.clamp(1, LIST_MAX))
    .fetch_all(connection)
    .await?;
    rows.iter().map(Email::of_row).collect()
}

// === impl Kind ===

impl Kind {
    pub const ALL: [Self; 5] = [
        Self::Verify,
        Self::Reset,
        Self::Invitation,
        Self::Known,
        Self::LowBalance,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Reset => "reset",
            Self::Invitation => "invitation",
            Self::Known => "known",
            Self::LowBalance => "low_balance",
        }
    }

    fn of(word: &str) -> Result<Self, DbError> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        known.ok_or_else(|| strange("kind"))
    }
}

// === impl State ===

impl State {
    const ALL: [Self; 4] = [Self::Waiting, Self::Sent, Self::Failed, Self::Kept];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Kept => "kept",
        }
    }

    fn of(word: &str) -> Result<Self, DbError> {
        let known = Self::ALL.into_iter().find(|state| state.as_str() == word);
        known.ok_or_else(|| strange("state"))
    }
}

// === impl Content ===

impl Content {
    /// As it is sealed.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        // Serialising strings cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// From what was sealed; none if it is not that.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

// === impl Email ===

impl Email {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let moment = |at: OffsetDateTime| from_sql_time(at);
        Ok(Self {
            id: row.try_get("id")?,
            kind: Kind::of(row.try_get("kind")?)?,
            to: row.try_get("to_address")?,
            sealed: row.try_get("sealed")?,
            state: State::of(row.try_get("state")?)?,
            last_error: row.try_get("last_error")?,
            created_at: moment(row.try_get("created_at")?),
            expires_at: moment(row.try_get("expires_at")?),
        })
    }
}

fn strange(column: &str) -> DbError {
    let source = format!("a word in app.email that is not on the list: {column}");
    DbError::from(sqlx::Error::Decode(source.into()))
}
