//! Operators: the people who run this installation, and their roles. `person.is_operator` says who they are; a
//! trigger keeps their rows.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::Timestamp;

use super::{Changed, PersonId};

/// Operators of one list.
const LIST_MAX: i64 = 500;

/// Role of an operator. The console defines the permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperatorRole {
    Owner,
    /// Money and prices.
    Finance,
    /// Customers.
    Support,
    ReadOnly,
}

#[derive(Debug, Clone)]
pub struct Operator {
    pub person: PersonId,
    pub email: String,
    pub name: String,
    pub role: OperatorRole,
    pub added_at: Timestamp,
    pub added_by: Option<String>,
    pub has_second_factor: bool,
    pub last_seen_at: Option<Timestamp>,
}

const SELECT: &str = "SELECT o.person_id, p.email, p.name, o.role, o.added_at, o.added_by,
         EXISTS (SELECT FROM app.second_factor AS f
             WHERE f.person_id = o.person_id AND f.confirmed_at IS NOT NULL) AS has_second_factor,
         (SELECT max(s.last_seen_at) FROM app.sign_in AS s WHERE s.person_id = o.person_id) AS last_seen_at
     FROM app.operator AS o JOIN app.person AS p ON p.id = o.person_id AND p.disabled_at IS NULL";

/// The operators, first the longest.
pub async fn operators(connection: &mut PgConnection) -> Result<Vec<Operator>, DbError> {
    let text = format!("{SELECT} ORDER BY o.added_at, o.person_id LIMIT $1");
    let rows = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(LIST_MAX)
        .fetch_all(connection)
        .await?;
    rows.iter().map(Operator::of_row).collect()
}

pub async fn operator(
    connection: &mut PgConnection,
    person: PersonId,
) -> Result<Option<Operator>, DbError> {
    let text = format!("{SELECT} WHERE o.person_id = $1");
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(person.number())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(Operator::of_row).transpose()
}

/// Makes a person an operator, or changes the role of one. The last owner keeps it.
pub async fn put_operator(
    tx: &mut Tx,
    person: PersonId,
    role: OperatorRole,
    by: &str,
) -> Result<Changed, DbError> {
    let owners = lock_owners(tx).await?;
    if role != OperatorRole::Owner && owners == [person.number()] {
        return Ok(Changed::LastOwner);
    }
    let known = sqlx::query("UPDATE app.person SET is_operator = true WHERE id = $1")
        .bind(person.number())
        .execute(&mut **tx)
        .await?;
    if known.rows_affected() == 0 {
        return Ok(Changed::Unknown);
    }
    sqlx::query(
        "UPDATE app.operator SET role = $2, added_by = COALESCE(added_by, left($3, 254)) WHERE person_id = $1",
    )
    .bind(person.number())
    .bind(role.as_str())
    .bind(by)
    .execute(&mut **tx)
    .await?;
    stop_viewing(tx, person).await?;
    Ok(Changed::Done)
}

/// Makes an operator an ordinary person. The last owner stays one.
pub async fn remove_operator(tx: &mut Tx, person: PersonId) -> Result<Changed, DbError> {
    let owners = lock_owners(tx).await?;
    if owners == [person.number()] {
        return Ok(Changed::LastOwner);
    }
    let done =
        sqlx::query("UPDATE app.person SET is_operator = false WHERE id = $1 AND is_operator")
            .bind(person.number())
            .execute(&mut **tx)
            .await?;
    if done.rows_affected() == 0 {
        return Ok(Changed::Unknown);
    }
    stop_viewing(tx, person).await?;
    Ok(Changed::Done)
}

/// A role that changed may not see what another did.
async fn stop_viewing(tx: &mut Tx, person: PersonId) -> Result<(), DbError> {
    sqlx::query("UPDATE app.sign_in SET viewing_id = NULL WHERE person_id = $1")
        .bind(person.number())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// The owners who can sign in; locked, so that of two who leave at once one stays.
async fn lock_owners(tx: &mut Tx) -> Result<Vec<i64>, DbError> {
    let owners = sqlx::query_scalar(
        "SELECT o.person_id FROM app.operator AS o
         JOIN app.person AS p ON p.id = o.person_id AND p.disabled_at IS NULL
         WHERE o.role = 'owner' ORDER BY o.person_id FOR UPDATE OF o",
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(owners)
}

// === impl OperatorRole ===

impl OperatorRole {
    /// All roles, most permissions first.
    pub const ALL: [Self; 4] = [Self::Owner, Self::Finance, Self::Support, Self::ReadOnly];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Finance => "finance",
            Self::Support => "support",
            Self::ReadOnly => "read_only",
        }
    }

    /// The role of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }

    pub(super) fn of_column(word: &str) -> Result<Self, sqlx::Error> {
        Self::of(word).ok_or_else(|| sqlx::Error::Decode(format!("no role {word:?}").into()))
    }
}

// === impl Operator ===

impl Operator {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let role: String = row.try_get("role")?;
        let seen: Option<OffsetDateTime> = row.try_get("last_seen_at")?;
        Ok(Self {
            person: PersonId::new(row.try_get("person_id")?),
            email: row.try_get("email")?,
            name: row.try_get("name")?,
            role: OperatorRole::of_column(&role)?,
            added_at: from_sql_time(row.try_get("added_at")?),
            added_by: row.try_get("added_by")?,
            has_second_factor: row.try_get("has_second_factor")?,
            last_seen_at: seen.map(from_sql_time),
        })
    }
}
