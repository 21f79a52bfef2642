//! How often somebody tried something within an hour. A try is counted in a transaction of its own, before it
//! is known whether it succeeds, so that a crash or a refusal does not give it back.

use sha2::{Digest as _, Sha256};
use trunkline_db::{Database, DbError};

/// What is counted, and how often it may happen in an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// A code, by an account.
    CodeByAccount,
    /// A code, from a network.
    CodeFromNetwork,
    /// A letter, to an address.
    EmailToAddress,
    /// A letter, asked for from a network.
    EmailFromNetwork,
    /// A sign-in at a provider, begun from a network.
    ProviderFromNetwork,
}

/// Counts a try. False if there were too many in the hour that began with the first of them: then nothing
/// was counted and nothing may be done.
pub async fn take(database: &Database, what: Attempt, who: &[u8]) -> Result<bool, DbError> {
    let mut tx = database.begin().await?;
    let done = sqlx::query(
        "INSERT INTO app.attempt_counter AS t (kind, subject_hash, window_start, count) VALUES ($1, $2, app.now(), 1)
         ON CONFLICT (kind, subject_hash) DO UPDATE SET
             window_start = CASE WHEN t.window_start <= app.now() - interval '1 hour' THEN app.now() ELSE t.window_start END,
             count = CASE WHEN t.window_start <= app.now() - interval '1 hour' THEN 1 ELSE t.count + 1 END
         WHERE t.window_start <= app.now() - interval '1 hour' OR t.count < $3",
    )
    .bind(what.word())
    .bind(hash(who).as_slice())
    .bind(what.most())
    .execute(&mut *tx)
    .await
    .map_err(DbError::from);
    let done = tx.finish(done).await?;
    Ok(done.rows_affected() > 0)
}

fn hash(who: &[u8]) -> [u8; 32] {
    Sha256::digest(who).into()
}

// === impl Attempt ===

impl Attempt {
    /// How often in an hour.
    #[must_use]
    pub const fn most(self) -> i32 {
        match self {
            Self::CodeByAccount => 10,
            Self::CodeFromNetwork => 30,
            Self::EmailToAddress => 3,
            Self::EmailFromNetwork => 20,
            Self::ProviderFromNetwork => 120,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::CodeByAccount => "code_by_account",
            Self::CodeFromNetwork => "code_from_network",
            Self::EmailToAddress => "email_to_address",
            Self::EmailFromNetwork => "email_from_network",
            Self::ProviderFromNetwork => "provider_from_network",
        }
    }
}
