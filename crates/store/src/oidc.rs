//! Sign-in through `OpenID` Connect providers: the state of a running authorization request, and which
//! person a provider's subject is.

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use trunkline_db::{DbError, Tx};
use trunkline_types::Secret;
use uuid::Uuid;

use crate::people::{PersonId, TokenHash};

/// Longest subject of a person at a provider.
pub const SUBJECT_MAX_CHARACTERS: usize = 255;
/// Longest path to return to after sign-in.
pub const RETURN_TO_MAX_CHARACTERS: usize = 512;

/// Deletes expired states; `$1` rows at most.
pub(crate) const SWEEP: &str = "DELETE FROM app.oidc_state WHERE state_hash IN (
     SELECT state_hash FROM app.oidc_state WHERE expires_at <= app.now() LIMIT $1)";

/// The state of an authorization request to write.
#[derive(Debug, Clone, Copy)]
pub struct NewOidcState<'a> {
    /// Hash of the `state` parameter.
    pub state: &'a TokenHash,
    /// Hash of the browser's cookie.
    pub browser: &'a TokenHash,
    /// The provider's name in the configuration.
    pub provider: &'a str,
    /// The nonce that the ID token must repeat.
    pub nonce: &'a str,
    pub verifier: &'a Secret,
    /// The page to show after sign-in.
    pub return_to: &'a str,
    /// The sign-in to step up; none to sign in.
    pub sign_in: Option<Uuid>,
    /// How long it is valid.
    pub life_seconds: i64,
}

/// The state of an authorization request whose callback came.
#[derive(Debug, Clone)]
pub struct OidcState {
    /// Hash of the cookie of the browser that began it.
    pub browser: Vec<u8>,
    /// The provider's name in the configuration.
    pub provider: String,
    /// The nonce that the ID token must repeat.
    pub nonce: String,
    pub verifier: Secret,
    /// The page to show after sign-in.
    pub return_to: String,
    /// The sign-in to step up; none to sign in.
    pub sign_in: Option<Uuid>,
    /// When it began, in seconds since the epoch.
    pub began_at: i64,
}

/// Writes the state of an authorization request.
pub async fn create_state(tx: &mut Tx, new: &NewOidcState<'_>) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.oidc_state
             (state_hash, browser_hash, provider, nonce, verifier, return_to, sign_in_id, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, app.now() + $8 * interval '1 second')",
    )
    .bind(&new.state[..])
    .bind(&new.browser[..])
    .bind(new.provider)
    .bind(new.nonce)
    .bind(new.verifier.reveal())
    .bind(new.return_to)
    .bind(new.sign_in)
    .bind(new.life_seconds)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Consumes the state of an authorization request. One of two concurrent callbacks gets it. None if it is
/// unknown, used or expired.
pub async fn take_state(tx: &mut Tx, state: &TokenHash) -> Result<Option<OidcState>, DbError> {
    let row = sqlx::query(
        "DELETE FROM app.oidc_state WHERE state_hash = $1 AND expires_at > app.now()
         RETURNING browser_hash, provider, nonce, verifier, return_to, sign_in_id,
             extract(epoch FROM created_at)::bigint AS began_at",
    )
    .bind(&state[..])
    .fetch_optional(&mut **tx)
    .await?;
    row.as_ref().map(OidcState::of_row).transpose()
}

/// The person of a provider's subject.
pub async fn person_at(
    tx: &mut Tx,
    issuer: &str,
    subject: &str,
) -> Result<Option<PersonId>, DbError> {
    let id: Option<i64> = sqlx::query_scalar(
        "SELECT person_id FROM app.person_identity WHERE issuer = $1 AND subject = $2",
    )
    .bind(issuer)
    .bind(subject)
    .fetch_optional(&mut **tx)
    .await?;
    Ok(id.map(PersonId::new))
}

/// Links a provider's subject to a person; an existing link stays.
pub async fn link_person(
    tx: &mut Tx,
    issuer: &str,
    subject: &str,
    person: PersonId,
) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.person_identity (issuer, subject, person_id) VALUES ($1, $2, $3)
         ON CONFLICT (issuer, subject) DO NOTHING",
    )
    .bind(issuer)
    .bind(subject)
    .bind(person.number())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

// === impl OidcState ===

impl OidcState {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        Ok(Self {
            browser: row.try_get("browser_hash")?,
            provider: row.try_get("provider")?,
            nonce: row.try_get("nonce")?,
            verifier: Secret::new(row.try_get("verifier")?),
            return_to: row.try_get("return_to")?,
            sign_in: row.try_get("sign_in_id")?,
            began_at: row.try_get("began_at")?,
        })
    }
}
