//! A person: an address, a name, perhaps a password.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::{Secret, Timestamp};

use super::PersonId;

#[derive(Debug, Clone)]
pub struct Person {
    pub id: PersonId,
    /// Their address, lower-case.
    pub email: String,
    pub name: String,
    /// The argon2id text; none for people who sign in through a provider.
    pub password: Option<Secret>,
    /// When the address was verified.
    pub email_verified_at: Option<Timestamp>,
    /// Whether the person is an operator.
    pub is_operator: bool,
    /// When the person was created.
    pub created_at: Timestamp,
    /// When the person was disabled.
    pub disabled_at: Option<Timestamp>,
}

/// A person to write. Address and name have passed [`check_email`](super::check_email) and
/// [`check_person_name`](super::check_person_name).
#[derive(Debug, Clone, Copy)]
pub struct NewPerson<'a> {
    pub email: &'a str,
    pub name: &'a str,
    /// The text of argon2id, if they have a password.
    pub password: Option<&'a Secret>,
    /// Whether the address is verified.
    pub is_verified: bool,
    /// Whether the person is an operator.
    pub is_operator: bool,
}

const COLUMNS: &str =
    "id, email, name, password_hash, email_verified_at, is_operator, created_at, disabled_at";

/// Creates a person; none if the address is taken.
pub async fn create_person(tx: &mut Tx, new: &NewPerson<'_>) -> Result<Option<PersonId>, DbError> {
    let id: Option<i64> = sqlx::query_scalar(
        "INSERT INTO app.person (email, name, password_hash, email_verified_at, is_operator)
         VALUES ($1, $2, $3, CASE WHEN $4 THEN app.now() END, $5)
         ON CONFLICT (email) DO NOTHING RETURNING id",
    )
    .bind(new.email)
    .bind(new.name)
    .bind(new.password.map(Secret::reveal))
    .bind(new.is_verified)
    .bind(new.is_operator)
    .fetch_optional(&mut **tx)
    .await?;
    Ok(id.map(PersonId::new))
}

/// The person of an address.
pub async fn by_email(
    connection: &mut PgConnection,
    email: &str,
) -> Result<Option<Person>, DbError> {
    let text = format!("SELECT {COLUMNS} FROM app.person WHERE email = $1");
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(email)
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(Person::of_row).transpose()
}

pub async fn find_person(
    connection: &mut PgConnection,
    id: PersonId,
) -> Result<Option<Person>, DbError> {
    let text = format!("SELECT {COLUMNS} FROM app.person WHERE id = $1");
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(id.number())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(Person::of_row).transpose()
}

pub async fn has_operator(connection: &mut PgConnection) -> Result<bool, DbError> {
    let text = "SELECT EXISTS (SELECT FROM app.person WHERE is_operator AND disabled_at IS NULL)";
    Ok(sqlx::query_scalar(text).fetch_one(connection).await?)
}

pub async fn rename_person(tx: &mut Tx, id: PersonId, name: &str) -> Result<(), DbError> {
    sqlx::query("UPDATE app.person SET name = $2 WHERE id = $1")
        .bind(id.number())
        .bind(name)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Another password, as the text of argon2id.
pub async fn set_password(tx: &mut Tx, id: PersonId, password: &Secret) -> Result<(), DbError> {
    sqlx::query("UPDATE app.person SET password_hash = $2 WHERE id = $1")
        .bind(id.number())
        .bind(password.reveal())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Marks the address verified; the first time counts.
pub async fn verify_email(tx: &mut Tx, id: PersonId) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.person SET email_verified_at = COALESCE(email_verified_at, app.now()) WHERE id = $1",
    )
    .bind(id.number())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Makes a person an operator and enables them.
pub async fn set_operator(tx: &mut Tx, id: PersonId) -> Result<(), DbError> {
    sqlx::query("UPDATE app.person SET is_operator = true, disabled_at = NULL WHERE id = $1")
        .bind(id.number())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

// === impl Person ===

impl Person {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let password: Option<String> = row.try_get("password_hash")?;
        let verified: Option<OffsetDateTime> = row.try_get("email_verified_at")?;
        let disabled: Option<OffsetDateTime> = row.try_get("disabled_at")?;
        Ok(Self {
            id: PersonId::new(row.try_get("id")?),
            email: row.try_get("email")?,
            name: row.try_get("name")?,
            password: password.map(Secret::new),
            email_verified_at: verified.map(from_sql_time),
            is_operator: row.try_get("is_operator")?,
            created_at: from_sql_time(row.try_get("created_at")?),
            disabled_at: disabled.map(from_sql_time),
        })
    }
}
