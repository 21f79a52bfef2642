//! People who come by themselves: sign-ups that wait for their address to be proved, ways to providers and
//! back, and who is who there.

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use trunkline_db::{Database, DbError, Tx};
use trunkline_types::{AccountId, Secret};
use uuid::Uuid;

use crate::people::{PersonId, Role, TokenHash};

/// Rows that one sweep takes from a table at most.
const SWEPT_AT_ONCE: i64 = 1_000;
/// Longest number of a person at a provider.
pub const SUBJECT_MAX_CHARACTERS: usize = 255;
/// Longest page to come back to.
pub const RETURN_TO_MAX_CHARACTERS: usize = 512;

/// A sign-up to write. Its fields were checked as those of people are.
#[derive(Debug, Clone, Copy)]
pub struct NewSignUp<'a> {
    /// Of the link's token.
    pub token: &'a TokenHash,
    /// The address to prove.
    pub email: &'a str,
    /// What people call them.
    pub name: &'a str,
    /// What they call their organisation.
    pub organisation: &'a str,
    /// The text of argon2id.
    pub password: &'a Secret,
    /// Of the cookie of the browser.
    pub browser: &'a TokenHash,
    /// How long the link is good.
    pub life_seconds: i64,
}

/// A sign-up whose link came back.
#[derive(Debug, Clone)]
pub struct SignUp {
    /// The address, proved now.
    pub email: String,
    /// What people call them.
    pub name: String,
    /// What they call their organisation.
    pub organisation: String,
    /// The text of argon2id.
    pub password: Secret,
    /// Of the cookie of the browser that signed up.
    pub browser: Vec<u8>,
}

/// A way to a provider to write.
#[derive(Debug, Clone, Copy)]
pub struct NewVisit<'a> {
    /// Of the state that goes along.
    pub state: &'a TokenHash,
    /// Of the cookie of the browser.
    pub browser: &'a TokenHash,
    /// Which provider.
    pub provider: &'a str,
    /// What its answer must repeat.
    pub nonce: &'a str,
    /// What proves that who asks for the answer is who began.
    pub verifier: &'a Secret,
    /// Which page to show then.
    pub return_to: &'a str,
    /// The sign-in that is to be trusted again; none to sign in.
    pub sign_in: Option<Uuid>,
    /// How long it is good.
    pub life_seconds: i64,
}

/// A way that came back.
#[derive(Debug, Clone)]
pub struct Visit {
    /// Of the cookie of the browser that began.
    pub browser: Vec<u8>,
    /// Which provider.
    pub provider: String,
    /// What its answer must repeat.
    pub nonce: String,
    /// What proves that who asks is who began.
    pub verifier: Secret,
    /// Which page to show then.
    pub return_to: String,
    /// The sign-in that is to be trusted again.
    pub sign_in: Option<Uuid>,
    /// When it began, in seconds since the epoch.
    pub began_at: i64,
}

/// Writes a sign-up.
pub async fn write_sign_up(tx: &mut Tx, new: &NewSignUp<'_>) -> Result<(), DbError> {
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

/// Uses a sign-up's link up, with all others of the same address; of two at once, one gets it. None if it is
/// unknown, used or over.
pub async fn take_sign_up(tx: &mut Tx, token: &TokenHash) -> Result<Option<SignUp>, DbError> {
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

/// Writes a way to a provider.
pub async fn begin_visit(tx: &mut Tx, new: &NewVisit<'_>) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.provider_visit
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

/// Takes a way back; of two at once, one gets it. None if it is unknown, used or over.
pub async fn end_visit(tx: &mut Tx, state: &TokenHash) -> Result<Option<Visit>, DbError> {
    let row = sqlx::query(
        "DELETE FROM app.provider_visit WHERE state_hash = $1 AND expires_at > app.now()
         RETURNING browser_hash, provider, nonce, verifier, return_to, sign_in_id,
             extract(epoch FROM created_at)::bigint AS began_at",
    )
    .bind(&state[..])
    .fetch_optional(&mut **tx)
    .await?;
    row.as_ref().map(Visit::of_row).transpose()
}

/// The person of a number at a provider.
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

/// Notes who a person is at a provider; the first word counts.
pub async fn link_person(
    tx: &mut Tx,
    (issuer, subject): (&str, &str),
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

/// An invitation that an address can use.
#[derive(Debug, Clone, Copy)]
pub struct InvitationFor {
    /// Its number.
    pub id: i64,
    /// Into which organisation.
    pub account: AccountId,
    /// With which role.
    pub role: Role,
}

/// The oldest open invitation of an address; none if there is none.
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
    let unknown = || DbError::from(sqlx::Error::Decode("a role that is not on the list".into()));
    Ok(Some(InvitationFor {
        id: row.try_get("id")?,
        account: AccountId::new(row.try_get("account_id")?),
        role: Role::of(&role).ok_or_else(unknown)?,
    }))
}

/// Takes away sign-ups and ways that are over. Bounded; says how many rows went.
pub async fn sweep(database: &Database) -> Result<u64, DbError> {
    let statements = [
        "DELETE FROM app.sign_up WHERE token_hash IN (
             SELECT token_hash FROM app.sign_up WHERE expires_at <= app.now() LIMIT $1)",
        "DELETE FROM app.provider_visit WHERE state_hash IN (
             SELECT state_hash FROM app.provider_visit WHERE expires_at <= app.now() LIMIT $1)",
    ];
    let mut swept: u64 = 0;
    for statement in statements {
        let mut tx = database.begin().await?;
        let done = sqlx::query(statement).bind(SWEPT_AT_ONCE);
        let done = done.execute(&mut *tx).await.map_err(DbError::from);
        swept = swept.saturating_add(tx.finish(done).await?.rows_affected());
    }
    Ok(swept)
}

// === impl SignUp, Visit ===

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

impl Visit {
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
