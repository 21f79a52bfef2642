//! Attempts per hour, by account, address or network. An attempt is counted in a transaction of its
//! own, before its result is known, so that a crash or an error does not undo it.

use sha2::{Digest as _, Sha256};
use trunkline_db::{Database, DbError};

/// What is counted; each kind has a limit per hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// Redeeming a code, per account.
    CodeByAccount,
    /// Redeeming a code, per network.
    CodeFromNetwork,
    /// An email, per address.
    EmailToAddress,
    /// Requesting an email, per network.
    EmailFromNetwork,
    /// Starting an OIDC sign-in, per network.
    ProviderFromNetwork,
    /// Signing in, per network of an IPv6 site.
    SignInFromSite,
    /// Inviting a person, per inviting account.
    InvitationByAccount,
    /// An invitation, per invited address, over all inviting accounts.
    InvitationToAddress,
    /// Inviting a person, per network.
    InvitationFromNetwork,
    /// Starting a payment, per account.
    CheckoutByAccount,
    /// A code of the second factor, per person and known device.
    SecondFactor,
}

/// Counts an attempt. False if the limit of the current hour is reached: then nothing was counted
/// and the caller must refuse.
pub async fn take(database: &Database, what: Attempt, who: &[u8]) -> Result<bool, DbError> {
    take_of(database, what, who, what.most()).await
}

/// The same for a larger network, which may have this many times as many.
pub async fn take_wide(
    database: &Database,
    what: Attempt,
    who: &[u8],
    times: i32,
) -> Result<bool, DbError> {
    take_of(database, what, who, what.most().saturating_mul(times)).await
}

async fn take_of(
    database: &Database,
    what: Attempt,
    who: &[u8],
    most: i32,
) -> Result<bool, DbError> {
    let mut tx = database.begin().await?;
    let done = sqlx::query(
        "INSERT INTO app.attempt_counter AS t (kind, subject_hash, window_start, count) VALUES ($1, $2, app.now(), 1)
         ON CONFLICT (kind, subject_hash) DO UPDATE SET
             window_start = CASE WHEN t.window_start <= app.now() - interval '1 hour' THEN app.now() ELSE t.window_start END,
             count = CASE WHEN t.window_start <= app.now() - interval '1 hour' THEN 1 ELSE t.count + 1 END
         WHERE t.window_start <= app.now() - interval '1 hour' OR t.count < $3",
    )
    .bind(what.as_str())
    .bind(hash(who).as_slice())
    .bind(most)
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
            Self::CodeByAccount | Self::SecondFactor => 10,
            Self::CodeFromNetwork => 30,
            Self::EmailToAddress | Self::InvitationToAddress => 3,
            Self::EmailFromNetwork => 20,
            Self::CheckoutByAccount => 60,
            Self::ProviderFromNetwork | Self::InvitationByAccount => 120,
            Self::SignInFromSite | Self::InvitationFromNetwork => 240,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::CodeByAccount => "code_by_account",
            Self::CodeFromNetwork => "code_from_network",
            Self::EmailToAddress => "email_to_address",
            Self::EmailFromNetwork => "email_from_network",
            Self::ProviderFromNetwork => "provider_from_network",
            Self::SignInFromSite => "sign_in_from_site",
            Self::InvitationByAccount => "invitation_by_account",
            Self::InvitationToAddress => "invitation_to_address",
            Self::InvitationFromNetwork => "invitation_from_network",
            Self::CheckoutByAccount => "checkout_by_account",
            Self::SecondFactor => "second_factor",
        }
    }
}
