//! Sign-ups that wait for their email address to be verified. The link in the email creates person and
//! organisation; see [`crate::oidc`] for sign-in through a provider.

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use trunkline_db::{Database, DbError, Tx};
use trunkline_types::{AccountId, Secret};

use crate::oidc;
use crate::people::{Role, TokenHash};

/// Rows that one sweep deletes from a table at most.
const SWEEP_BATCH: i64 = 1_000;

/// A sign-up to write. Its fields have passed the checks of [`crate::people`].
#[derive(Debug, Clone, Copy)]
pub struct NewSignUp<'a> {
    /// Hash of the link's token.
    pub token: &'a TokenHash,
    /// The email address to verify.
    pub email: &'a str,
    pub name: &'a str,
    /// The name of the organisation to create.
    pub organisation: &'a str,
    /// The argon2id text.
    pub password: &'a Secret,
    /// Hash of the browser's cookie.
    pub browser: &'a TokenHash,
    /// How long the link is valid.
    pub life_seconds: i64,
}

/// A sign-up whose link was opened.
#[derive(Debug, Clone)]
pub struct SignUp {
    /// The email address, verified by the link.
    pub email: String,
    pub name: String,
    /// The name of the organisation to create.
    pub organisation: String,
    /// The argon2id text.
    pub password: Secret,
    /// Hash of the cookie of the browser that signed up.
    pub browser: Vec<u8>,
}

/// An open invitation of an email address.
#[derive(Debug, Clone, Copy)]
pub struct InvitationFor {
    pub id: i64,
    pub account: AccountId,
    pub role: Role,
}

pub async fn create(tx: &mut Tx, new: &NewSignUp<'_>) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.sign_up (token_hash, email, name, organisation, password_hash, browser_hash, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, app.now() + $7 * interval '1 second')",
    )
    .bind(&new.token[..])
    .bind(new.email)
    .bind(new.name)
    .bind(new.organisation)
    .bind(new.password.reveal())
    .bind(&new.browser[..])
    .bind(new.life_seconds)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Consumes a sign-up's link and deletes all other sign-ups of the same address. One of two concurrent
/// requests gets it. None if the token is unknown, used or expired.
pub async fn take(tx: &mut Tx, token: &TokenHash) -> Result<Option<SignUp>, DbError> {
    let row = sqlx::query(
        "DELETE FROM app.sign_up WHERE token_hash = $1 AND expires_at > app.now()
         RETURNING email, name, organisation, password_hash, browser_hash",
    )
    .bind(&token[..])
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let sign_up = SignUp::of_row(&row)?;
    sqlx::query("DELETE FROM app.sign_up WHERE email = $1")
        .bind(&sign_up.email)
        .execute(&mut **tx)
        .await?;
    Ok(Some(sign_up))
}

/// The oldest open invitation of an email address.
pub async fn invitation_for(tx: &mut Tx, email: &str) -> Result<Option<InvitationFor>, DbError> {
    let row = sqlx::query(
        "SELECT i.id, i.account_id, i.role FROM app.invitation AS i
         JOIN app.account AS a ON a.id = i.account_id AND a.closed_at IS NULL
         WHERE i.email = $1 AND i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > app.now()
         ORDER BY i.id LIMIT 1 FOR UPDATE OF i",
    )
    .bind(email)
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let role: String = row.try_get("role")?;
    let unknown = || DbError::from(sqlx::Error::Decode("unknown role of an invitation".into()));
    Ok(Some(InvitationFor {
        id: row.try_get("id")?,
        account: AccountId::new(row.try_get("account_id")?),
        role: Role::of(&role).ok_or_else(unknown)?,
    }))
}

/// Deletes expired sign-ups and OIDC states, a bounded number of each. Returns how many.
pub async fn sweep(database: &Database) -> Result<u64, DbError> {
    let statements = [
        "DELETE FROM app.sign_up WHERE token_hash IN (
             SELECT token_hash FROM app.sign_up WHERE expires_at <= app.now() LIMIT $1)",
        oidc::SWEEP,
    ];
    let mut swept: u64 = 0;
    for statement in statements {
        let mut tx = database.begin().await?;
        let done = sqlx::query(statement).bind(SWEEP_BATCH);
        let done = done.execute(&mut *tx).await.map_err(DbError::from);
        swept = swept.saturating_add(tx.finish(done).await?.rows_affected());
    }
    Ok(swept)
}

// === impl SignUp ===

impl SignUp {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        Ok(Self {
            email: row.try_get("email")?,
            name: row.try_get("name")?,
            organisation: row.try_get("organisation")?,
            password: Secret::new(row.try_get("password_hash")?),
            browser: row.try_get("browser_hash")?,
        })
    }
}
