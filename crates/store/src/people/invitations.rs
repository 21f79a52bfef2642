//! Invitations: a link for one address, into one organisation, with one role.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::{AccountId, Timestamp};

use super::{PersonId, Role, TokenHash};

/// Invitations of one organisation that a list shows; no more are ever open.
pub const OPEN_INVITATIONS_MAX: i64 = 100;

/// An invitation that is open.
#[derive(Debug, Clone)]
pub struct Invitation {
    pub id: i64,
    pub account: AccountId,
    pub organisation: String,
    pub email: String,
    pub role: Role,
    /// The inviting person; none for the operator's command line.
    pub invited_by: Option<String>,
    /// Whether it went to the address by mail.
    pub is_mailed: bool,
    pub created_at: Timestamp,
    /// When it is over.
    pub expires_at: Timestamp,
}

/// An invitation to write; the address has passed [`check_email`](super::check_email).
#[derive(Debug, Clone, Copy)]
pub struct NewInvitation<'a> {
    pub account: AccountId,
    pub email: &'a str,
    pub role: Role,
    pub token: &'a TokenHash,
    /// Whether it goes to the address by mail and nowhere else.
    pub is_mailed: bool,
    /// The inviting person; none for the operator's command line.
    pub invited_by: Option<PersonId>,
    /// How long it is good.
    pub life_seconds: i64,
}

const SELECT: &str =
    "SELECT i.id, i.account_id, a.name AS organisation, i.email, i.role, p.name AS invited_by,
        i.mailed, i.created_at, i.expires_at
    FROM app.invitation AS i
    JOIN app.account AS a ON a.id = i.account_id AND a.closed_at IS NULL
    LEFT JOIN app.person AS p ON p.id = i.invited_by
    WHERE i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > app.now()";

/// Writes an invitation. One that is open for the same address ends.
pub async fn invite(tx: &mut Tx, new: &NewInvitation<'_>) -> Result<i64, DbError> {
    // Two concurrent invitations of one address would both find none to revoke.
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('app.invitation', $1))")
        .bind(new.account.number())
        .execute(&mut **tx)
        .await?;
    sqlx::query(
        "UPDATE app.invitation SET revoked_at = app.now()
         WHERE account_id = $1 AND email = $2 AND accepted_at IS NULL AND revoked_at IS NULL",
    )
    .bind(new.account.number())
    .bind(new.email)
    .execute(&mut **tx)
    .await?;
    let id = sqlx::query_scalar(
        "INSERT INTO app.invitation (account_id, email, role, token_hash, mailed, invited_by, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, app.now() + $7 * interval '1 second') RETURNING id",
    )
    .bind(new.account.number())
    .bind(new.email)
    .bind(new.role.as_str())
    .bind(&new.token[..])
    .bind(new.is_mailed)
    .bind(new.invited_by.map(PersonId::number))
    .bind(new.life_seconds)
    .fetch_one(&mut **tx)
    .await?;
    Ok(id)
}

/// The open invitations of an organisation, the newest first.
pub async fn open_invitations(
    connection: &mut PgConnection,
    account: AccountId,
) -> Result<Vec<Invitation>, DbError> {
    let text = format!("{SELECT} AND i.account_id = $1 ORDER BY i.id DESC LIMIT $2");
    let rows = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(account.number())
        .bind(OPEN_INVITATIONS_MAX)
        .fetch_all(connection)
        .await?;
    rows.iter().map(Invitation::of_row).collect()
}

/// The invitation of a link; none if it is unknown, used, over or taken back.
pub async fn open_invitation(
    connection: &mut PgConnection,
    token: &TokenHash,
) -> Result<Option<Invitation>, DbError> {
    let text = format!("{SELECT} AND i.token_hash = $1");
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(&token[..])
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(Invitation::of_row).transpose()
}

/// Accepts an invitation; one of two concurrent requests gets it.
pub async fn accept(tx: &mut Tx, id: i64, person: PersonId) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.invitation SET accepted_at = app.now(), accepted_by = $2
         WHERE id = $1 AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > app.now()",
    )
    .bind(id)
    .bind(person.number())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Revokes an open invitation. None if there is no such one in the organisation.
pub async fn revoke_invitation(
    tx: &mut Tx,
    account: AccountId,
    id: i64,
) -> Result<Option<Role>, DbError> {
    let role: Option<String> = sqlx::query_scalar(
        "UPDATE app.invitation SET revoked_at = app.now()
         WHERE id = $2 AND account_id = $1 AND accepted_at IS NULL AND revoked_at IS NULL RETURNING role",
    )
    .bind(account.number())
    .bind(id)
    .fetch_optional(&mut **tx)
    .await?;
    Ok(role.as_deref().map(Role::of_column).transpose()?)
}

// === impl Invitation ===

impl Invitation {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let role: String = row.try_get("role")?;
        Ok(Self {
            id: row.try_get("id")?,
            account: AccountId::new(row.try_get("account_id")?),
            organisation: row.try_get("organisation")?,
            email: row.try_get("email")?,
            role: Role::of_column(&role)?,
            invited_by: row.try_get("invited_by")?,
            is_mailed: row.try_get("mailed")?,
            created_at: from_sql_time(row.try_get("created_at")?),
            expires_at: from_sql_time(row.try_get("expires_at")?),
        })
    }
}
