//! Sign-ins, one per device. A row expires after thirty days, or after seven without activity. The
//! role is read with it, so a changed role applies at once.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::{AccountId, Timestamp};
use uuid::Uuid;

use super::{OperatorRole, PersonId, Role, TokenHash};

/// A sign-in ends so long after it was made, whatever happens.
pub const ABSOLUTE_LIFE_SECONDS: i64 = 30 * 86_400;
/// A sign-in ends when it is silent for so long.
pub const IDLE_LIFE_SECONDS: i64 = 7 * 86_400;
/// How long a step-up lasts after the password was entered.
pub const STEP_UP_SECONDS: i64 = 600;
/// Sign-ins of one person; the least recently active one is removed.
pub const SIGN_INS_MAX: i64 = 50;
/// Resolution of `last_seen_at`, so that reading a page does not write one.
const SEEN_EVERY_SECONDS: i64 = 60;

/// A sign-in with its person and role, read with one statement.
#[derive(Debug, Clone)]
pub struct SignIn {
    pub id: Uuid,
    pub person: PersonId,
    pub email: String,
    pub name: String,
    /// The role of an operator; none for other people.
    pub operator: Option<OperatorRole>,
    /// Whether they have a second factor.
    pub has_second_factor: bool,
    /// Whether it was given on this device.
    pub second_factor_given: bool,
    /// Whether the active account is one that an operator looks at.
    pub is_viewing: bool,
    /// Whether they have a password here.
    pub has_password: bool,
    /// Whether the address is verified.
    pub is_verified: bool,
    /// The active account and the role in it; none if it is closed or the person is no member.
    pub active_account: Option<(AccountId, Role)>,
    /// Until when the step-up lasts.
    pub stepped_up_until: Option<Timestamp>,
    /// Whether `last_seen_at` should be written.
    pub is_stale: bool,
    /// The database's time of this reading.
    pub now: Timestamp,
}

/// A sign-in to write.
#[derive(Debug, Clone, Copy)]
pub struct NewSignIn<'a> {
    pub id: Uuid,
    /// Of the token that the browser keeps.
    pub token: &'a TokenHash,
    pub person: PersonId,
    /// The active account; none for the person's first one.
    pub account: Option<AccountId>,
    /// Whether a password was entered just now.
    pub is_stepped_up: bool,
    pub address: &'a str,
    /// What the browser calls itself, cut by [`agent_of`](super::agent_of).
    pub agent: &'a str,
}

/// A device, for the list.
#[derive(Debug, Clone)]
pub struct Device {
    pub id: Uuid,
    /// When it signed in.
    pub created_at: Timestamp,
    /// When it was last heard of, to the minute.
    pub last_seen_at: Timestamp,
    pub address: String,
    /// What the browser called itself.
    pub agent: String,
}

/// Writes a sign-in; beyond [`SIGN_INS_MAX`] of a person, the longest silent ones end.
pub async fn sign_in(tx: &mut Tx, new: &NewSignIn<'_>) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.sign_in (id, token_hash, person_id, account_id, expires_at, stepped_up_until, address, agent)
         SELECT $1, $2, $3,
             COALESCE($4, (SELECT m.account_id FROM app.member AS m
                           JOIN app.account AS a ON a.id = m.account_id AND a.closed_at IS NULL
                           WHERE m.person_id = $3 ORDER BY m.joined_at, m.account_id LIMIT 1)),
             app.now() + $5 * interval '1 second',
             CASE WHEN $6 THEN app.now() + $7 * interval '1 second' END, $8, $9",
    )
    .bind(new.id)
    .bind(&new.token[..])
    .bind(new.person.number())
    .bind(new.account.map(AccountId::number))
    .bind(ABSOLUTE_LIFE_SECONDS)
    .bind(new.is_stepped_up)
    .bind(STEP_UP_SECONDS)
    .bind(new.address)
    .bind(new.agent)
    .execute(&mut **tx)
    .await?;
    sqlx::query(
        "DELETE FROM app.sign_in WHERE id IN (
             SELECT s.id FROM app.sign_in AS s WHERE s.person_id = $1 AND s.id <> $2
             ORDER BY s.last_seen_at DESC, s.id OFFSET $3)",
    )
    .bind(new.person.number())
    .bind(new.id)
    .bind(SIGN_INS_MAX.saturating_sub(1))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The sign-in of a token; none if it is unknown, expired, or its person is disabled.
pub async fn find_sign_in(
    connection: &mut PgConnection,
    token: &TokenHash,
) -> Result<Option<SignIn>, DbError> {
    let row = sqlx::query(
        "SELECT s.id, s.person_id, p.email, p.name, o.role AS operator_role,
             p.password_hash IS NOT NULL AS has_password, p.email_verified_at IS NOT NULL AS is_verified,
             EXISTS (SELECT FROM app.second_factor AS f
                 WHERE f.person_id = s.person_id AND f.confirmed_at IS NOT NULL) AS has_second_factor,
             s.second_factor_at IS NOT NULL AS second_factor_given, o.role IS NOT NULL AND s.viewing_id IS NOT NULL
                 AS is_viewing,
             CASE WHEN o.role IS NOT NULL AND s.viewing_id IS NOT NULL THEN s.viewing_id ELSE m.account_id END
                 AS account_id,
             CASE WHEN o.role IS NOT NULL AND s.viewing_id IS NOT NULL THEN 'viewer' ELSE m.role END AS role,
             s.stepped_up_until, s.last_seen_at < clock.now - $3 * interval '1 second' AS is_stale, clock.now AS now
         FROM (SELECT app.now() AS now) AS clock
         JOIN app.sign_in AS s ON s.token_hash = $1 AND s.expires_at > clock.now
             AND s.last_seen_at > clock.now - $2 * interval '1 second'
         JOIN app.person AS p ON p.id = s.person_id AND p.disabled_at IS NULL
         LEFT JOIN app.operator AS o ON o.person_id = s.person_id
         LEFT JOIN (app.member AS m JOIN app.account AS a ON a.id = m.account_id AND a.closed_at IS NULL)
             ON m.account_id = s.account_id AND m.person_id = s.person_id",
    )
    .bind(&token[..])
    .bind(IDLE_LIFE_SECONDS)
    .bind(SEEN_EVERY_SECONDS)
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(SignIn::of_row).transpose()
}

/// Updates the time of last activity.
pub async fn touch(tx: &mut Tx, id: Uuid) -> Result<(), DbError> {
    sqlx::query("UPDATE app.sign_in SET last_seen_at = app.now() WHERE id = $1")
        .bind(id)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Switches the active account, with a new token. False if the person is no member of it, or the
/// sign-in ended.
pub async fn switch_account(
    tx: &mut Tx,
    id: Uuid,
    account: AccountId,
    token: &TokenHash,
) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.sign_in AS s SET account_id = $2, viewing_id = NULL, token_hash = $3
         FROM app.member AS m JOIN app.account AS a ON a.id = m.account_id AND a.closed_at IS NULL
         WHERE s.id = $1 AND m.person_id = s.person_id AND m.account_id = $2",
    )
    .bind(id)
    .bind(account.number())
    .bind(&token[..])
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// What an operator looks at on a device: an account of another, or again their own. False if there is no such
/// open account, or the sign-in ended.
pub async fn set_viewing(
    tx: &mut Tx,
    id: Uuid,
    account: Option<AccountId>,
    token: &TokenHash,
) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.sign_in SET viewing_id = $2, token_hash = $3
         WHERE id = $1 AND ($2::bigint IS NULL OR EXISTS (SELECT FROM app.account WHERE id = $2))",
    )
    .bind(id)
    .bind(account.map(AccountId::number))
    .bind(&token[..])
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Replaces an active account that is gone with the person's first one; the token stays, because a
/// page only reads.
pub async fn switch_to_first_account(tx: &mut Tx, id: Uuid) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.sign_in AS s SET account_id = (
             SELECT m.account_id FROM app.member AS m
             JOIN app.account AS a ON a.id = m.account_id AND a.closed_at IS NULL
             WHERE m.person_id = s.person_id ORDER BY m.joined_at, m.account_id LIMIT 1)
         WHERE s.id = $1",
    )
    .bind(id)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Starts a step-up after the password was entered, with a new token. False if the sign-in ended.
pub async fn renew(tx: &mut Tx, id: Uuid, token: &TokenHash) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.sign_in SET token_hash = $2, stepped_up_until = app.now() + $3 * interval '1 second'
         WHERE id = $1",
    )
    .bind(id)
    .bind(&token[..])
    .bind(STEP_UP_SECONDS)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The signed-in devices of a person, most recently active first; their number is bounded.
pub async fn devices(
    connection: &mut PgConnection,
    person: PersonId,
) -> Result<Vec<Device>, DbError> {
    let rows = sqlx::query(
        "SELECT s.id, s.created_at, s.last_seen_at, s.address, s.agent
         FROM app.sign_in AS s, (SELECT app.now() AS now) AS clock
         WHERE s.person_id = $1 AND s.expires_at > clock.now
             AND s.last_seen_at > clock.now - $2 * interval '1 second'
         ORDER BY s.last_seen_at DESC, s.id LIMIT $3",
    )
    .bind(person.number())
    .bind(IDLE_LIFE_SECONDS)
    .bind(SIGN_INS_MAX)
    .fetch_all(connection)
    .await?;
    rows.iter().map(Device::of_row).collect()
}

/// Signs a device of a person out. False if it is not theirs, or never was.
pub async fn end(tx: &mut Tx, person: PersonId, id: Uuid) -> Result<bool, DbError> {
    let done = sqlx::query("DELETE FROM app.sign_in WHERE id = $1 AND person_id = $2")
        .bind(id)
        .bind(person.number())
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Signs a person out everywhere but on one device; on none: everywhere.
pub async fn end_all_but(
    tx: &mut Tx,
    person: PersonId,
    kept: Option<Uuid>,
) -> Result<u64, DbError> {
    let done =
        sqlx::query("DELETE FROM app.sign_in WHERE person_id = $1 AND id IS DISTINCT FROM $2")
            .bind(person.number())
            .bind(kept)
            .execute(&mut **tx)
            .await?;
    Ok(done.rows_affected())
}

// === impl SignIn, Device ===

impl SignIn {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let account: Option<i64> = row.try_get("account_id")?;
        let role: Option<String> = row.try_get("role")?;
        let role = role.as_deref().map(Role::of_column).transpose()?;
        let stepped_up: Option<OffsetDateTime> = row.try_get("stepped_up_until")?;
        let operator: Option<String> = row.try_get("operator_role")?;
        let operator = operator.as_deref().map(OperatorRole::of_column);
        Ok(Self {
            id: row.try_get("id")?,
            person: PersonId::new(row.try_get("person_id")?),
            email: row.try_get("email")?,
            name: row.try_get("name")?,
            operator: operator.transpose()?,
            has_second_factor: row.try_get("has_second_factor")?,
            second_factor_given: row.try_get("second_factor_given")?,
            is_viewing: row.try_get("is_viewing")?,
            has_password: row.try_get("has_password")?,
            is_verified: row.try_get("is_verified")?,
            active_account: account.map(AccountId::new).zip(role),
            stepped_up_until: stepped_up.map(from_sql_time),
            is_stale: row.try_get("is_stale")?,
            now: from_sql_time(row.try_get("now")?),
        })
    }
}

impl Device {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        Ok(Self {
            id: row.try_get("id")?,
            created_at: from_sql_time(row.try_get("created_at")?),
            last_seen_at: from_sql_time(row.try_get("last_seen_at")?),
            address: row.try_get("address")?,
            agent: row.try_get("agent")?,
        })
    }
}
