//! Members of organisations. The last owner stays: removing an owner locks all owners of the
//! account first, so that two concurrent removals cannot both succeed.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::{AccountId, Timestamp};

use super::{PersonId, Role};

/// Members of one organisation, those who are invited included.
pub const MEMBERS_MAX: i64 = 200;
/// Organisations that one person's list shows.
const MEMBERSHIPS_SHOWN: i64 = 200;

/// A member, for the list.
#[derive(Debug, Clone)]
pub struct Member {
    pub person: PersonId,
    pub email: String,
    pub name: String,
    pub role: Role,
    pub joined_at: Timestamp,
    /// When a device of theirs was last active.
    pub last_seen_at: Option<Timestamp>,
}

/// An organisation of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    pub account: AccountId,
    pub name: String,
    /// What the person may do.
    pub role: Role,
}

/// Result of a membership change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    Done,
    /// No such member.
    Unknown,
    /// The member is the last owner.
    LastOwner,
}

/// Adds a member; false if the person is one already.
pub async fn add_member(
    tx: &mut Tx,
    account: AccountId,
    person: PersonId,
    role: Role,
) -> Result<bool, DbError> {
    let done = sqlx::query(
        "INSERT INTO app.member (account_id, person_id, role) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    )
    .bind(account.number())
    .bind(person.number())
    .bind(role.as_str())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The organisations of a person that are open, the first one joined first.
pub async fn memberships(
    connection: &mut PgConnection,
    person: PersonId,
) -> Result<Vec<Membership>, DbError> {
    let rows = sqlx::query(
        "SELECT m.account_id, a.name, m.role
         FROM app.member AS m JOIN app.account AS a ON a.id = m.account_id AND a.closed_at IS NULL
         WHERE m.person_id = $1 ORDER BY m.joined_at, m.account_id LIMIT $2",
    )
    .bind(person.number())
    .bind(MEMBERSHIPS_SHOWN)
    .fetch_all(connection)
    .await?;
    let membership = |row: &PgRow| {
        let role: String = row.try_get("role")?;
        Ok(Membership {
            account: AccountId::new(row.try_get("account_id")?),
            name: row.try_get("name")?,
            role: Role::of_column(&role)?,
        })
    };
    rows.iter().map(membership).collect()
}

/// The first organisation of the first operator.
pub async fn operators_account(
    connection: &mut PgConnection,
) -> Result<Option<AccountId>, DbError> {
    let id: Option<i64> = sqlx::query_scalar(
        "SELECT m.account_id
         FROM app.person AS p
         JOIN app.member AS m ON m.person_id = p.id
         JOIN app.account AS a ON a.id = m.account_id AND a.closed_at IS NULL
         WHERE p.is_operator AND p.disabled_at IS NULL
         ORDER BY p.id, m.joined_at, m.account_id LIMIT 1",
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(AccountId::new))
}

/// The first operator who is a member of this organisation.
pub async fn operator_of(
    connection: &mut PgConnection,
    account: AccountId,
) -> Result<Option<PersonId>, DbError> {
    let id: Option<i64> = sqlx::query_scalar(
        "SELECT p.id
         FROM app.member AS m
         JOIN app.person AS p ON p.id = m.person_id AND p.is_operator AND p.disabled_at IS NULL
         WHERE m.account_id = $1
         ORDER BY p.id LIMIT 1",
    )
    .bind(account.number())
    .fetch_optional(connection)
    .await?;
    Ok(id.map(PersonId::new))
}

/// The members of an organisation, owners first, then by name; their number is bounded.
pub async fn members(
    connection: &mut PgConnection,
    account: AccountId,
) -> Result<Vec<Member>, DbError> {
    let rows = sqlx::query(
        "SELECT m.person_id, p.email, p.name, m.role, m.joined_at,
             (SELECT max(s.last_seen_at) FROM app.sign_in AS s WHERE s.person_id = m.person_id) AS last_seen_at
         FROM app.member AS m JOIN app.person AS p ON p.id = m.person_id
         WHERE m.account_id = $1 ORDER BY m.role <> 'owner', p.name, m.person_id LIMIT $2",
    )
    .bind(account.number())
    .bind(MEMBERS_MAX)
    .fetch_all(connection)
    .await?;
    rows.iter().map(Member::of_row).collect()
}

/// One member; a member of another organisation is treated as unknown.
pub async fn member(
    connection: &mut PgConnection,
    account: AccountId,
    person: PersonId,
) -> Result<Option<Member>, DbError> {
    let row = sqlx::query(
        "SELECT m.person_id, p.email, p.name, m.role, m.joined_at,
             (SELECT max(s.last_seen_at) FROM app.sign_in AS s WHERE s.person_id = m.person_id) AS last_seen_at
         FROM app.member AS m JOIN app.person AS p ON p.id = m.person_id
         WHERE m.account_id = $1 AND m.person_id = $2",
    )
    .bind(account.number())
    .bind(person.number())
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(Member::of_row).transpose()
}

/// Gives a member another role.
pub async fn change_role(
    tx: &mut Tx,
    account: AccountId,
    person: PersonId,
    role: Role,
) -> Result<Changed, DbError> {
    match may_stop_owning(tx, account, person).await? {
        Changed::LastOwner if role == Role::Owner => return Ok(Changed::Done),
        Changed::Done => {}
        other @ (Changed::Unknown | Changed::LastOwner) => return Ok(other),
    }
    sqlx::query("UPDATE app.member SET role = $3 WHERE account_id = $1 AND person_id = $2")
        .bind(account.number())
        .bind(person.number())
        .bind(role.as_str())
        .execute(&mut **tx)
        .await?;
    Ok(Changed::Done)
}

/// Removes a member. Sign-ins with this active account lose it.
pub async fn remove_member(
    tx: &mut Tx,
    account: AccountId,
    person: PersonId,
) -> Result<Changed, DbError> {
    match may_stop_owning(tx, account, person).await? {
        Changed::Done => {}
        other @ (Changed::Unknown | Changed::LastOwner) => return Ok(other),
    }
    sqlx::query("DELETE FROM app.member WHERE account_id = $1 AND person_id = $2")
        .bind(account.number())
        .bind(person.number())
        .execute(&mut **tx)
        .await?;
    sqlx::query(
        "UPDATE app.sign_in SET account_id = NULL WHERE person_id = $2 AND account_id = $1",
    )
    .bind(account.number())
    .bind(person.number())
    .execute(&mut **tx)
    .await?;
    Ok(Changed::Done)
}

/// Members of an organisation and those who are invited.
pub async fn count_members(
    connection: &mut PgConnection,
    account: AccountId,
) -> Result<i64, DbError> {
    let count = sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM app.member WHERE account_id = $1)
              + (SELECT count(*) FROM app.invitation WHERE account_id = $1
                 AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > app.now())",
    )
    .bind(account.number())
    .fetch_one(connection)
    .await?;
    Ok(count)
}

async fn may_stop_owning(
    tx: &mut Tx,
    account: AccountId,
    person: PersonId,
) -> Result<Changed, DbError> {
    let rows = sqlx::query(
        "SELECT person_id, role FROM app.member WHERE account_id = $1 AND (role = 'owner' OR person_id = $2)
         ORDER BY person_id FOR UPDATE",
    )
    .bind(account.number())
    .bind(person.number())
    .fetch_all(&mut **tx)
    .await?;
    let mut owners = Vec::new();
    let mut is_member = false;
    for row in &rows {
        let id: i64 = row.try_get("person_id")?;
        let role: String = row.try_get("role")?;
        is_member |= id == person.number();
        if role == Role::Owner.as_str() {
            owners.push(id);
        }
    }
    Ok(match owners.as_slice() {
        _ if !is_member => Changed::Unknown,
        [one] if *one == person.number() => Changed::LastOwner,
        _ => Changed::Done,
    })
}

// === impl Member ===

impl Member {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let role: String = row.try_get("role")?;
        let seen: Option<OffsetDateTime> = row.try_get("last_seen_at")?;
        Ok(Self {
            person: PersonId::new(row.try_get("person_id")?),
            email: row.try_get("email")?,
            name: row.try_get("name")?,
            role: Role::of_column(&role)?,
            joined_at: from_sql_time(row.try_get("joined_at")?),
            last_seen_at: seen.map(from_sql_time),
        })
    }
}
