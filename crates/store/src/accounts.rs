//! Customers: what is known of an account beside its money. Its number is the ledger's.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time, revision};
use trunkline_terms::{AccountId, Moment, Shard};

use crate::bounds::{FieldError, Problem, check_name, check_word, check_words};
use crate::policy::AUTO_GROUP;

/// The topic whose numbers the rows carry.
pub const TOPIC: &str = "accounts";
/// The group of an account that was given no other.
pub const DEFAULT_GROUP: &str = "default";

/// An account to write.
#[derive(Debug, Clone, Copy)]
pub struct NewAccount<'a> {
    /// The number that the ledger gave it, in the same transaction.
    pub id: AccountId,
    /// What people call it.
    pub name: &'a str,
    /// The group whose prices apply.
    pub group: &'a str,
    /// Other groups that its keys may name.
    pub allowed_groups: &'a [String],
    /// Where it lives.
    pub shard: Shard,
}

/// An account that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its number, the same as in the ledger.
    pub id: AccountId,
    /// What people call it.
    pub name: String,
    /// The group whose prices apply.
    pub group: String,
    /// Other groups that its keys may name.
    pub allowed_groups: Vec<String>,
    /// Where it lives.
    pub shard: Shard,
    /// When it was made, by the database's clock.
    pub created_at: Moment,
    /// When it first paid in; none if it never did.
    pub topped_up_at: Option<Moment>,
    /// When it was closed.
    pub closed_at: Option<Moment>,
    /// The number of its last change.
    pub revision: i64,
}

/// Why an account was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CreateAccountError {
    /// A field is not as it should be.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The database said no, or nothing.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Writes an account that the ledger made in the same transaction.
pub async fn create(tx: &mut Tx, new: &NewAccount<'_>) -> Result<(), CreateAccountError> {
    check_name("name", new.name)?;
    check_word("group", new.group)?;
    let allowed = check_words("allowed_groups", new.allowed_groups.to_vec())?;
    if new.group == AUTO_GROUP {
        return Err(FieldError::new("group", Problem::Auto).into());
    }
    if allowed.iter().any(|group| group == AUTO_GROUP) {
        return Err(FieldError::new("allowed_groups", Problem::Auto).into());
    }
    let number = revision::bump(tx, TOPIC).await?;
    sqlx::query(
        "INSERT INTO app.account (id, name, group_name, allowed_groups, shard, revision)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(new.id.number())
    .bind(new.name)
    .bind(new.group)
    .bind(allowed)
    .bind(i16::try_from(new.shard.number()).unwrap_or(i16::MAX)) // the check refuses that
    .bind(number)
    .execute(&mut **tx)
    .await
    .map_err(DbError::from)?;
    Ok(())
}

/// An account, none if there is no such one.
pub async fn find(
    connection: &mut PgConnection,
    id: AccountId,
) -> Result<Option<Account>, DbError> {
    let row = sqlx::query(
        "SELECT id, name, group_name, allowed_groups, shard, created_at, topped_up_at, closed_at, revision
         FROM app.account WHERE id = $1",
    )
    .bind(id.number())
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(Account::of_row).transpose()
}

/// What has changed since a reader last looked: after this number and this account. Ask again from
/// the last row until nothing comes.
pub async fn changed_since(
    connection: &mut PgConnection,
    seen: (i64, AccountId),
    limit: u32,
) -> Result<Vec<Account>, DbError> {
    let (revision, account) = seen;
    let rows = sqlx::query(
        "SELECT id, name, group_name, allowed_groups, shard, created_at, topped_up_at, closed_at, revision
         FROM app.account WHERE (revision, id) > ($1, $2) ORDER BY revision, id LIMIT $3",
    )
    .bind(revision)
    .bind(account.number())
    .bind(i64::from(limit))
    .fetch_all(connection)
    .await?;
    rows.iter().map(Account::of_row).collect()
}

// === impl Account ===

impl Account {
    /// True for its own group and those its keys may name.
    #[must_use]
    pub fn may_use(&self, group: &str) -> bool {
        self.group == group || self.allowed_groups.iter().any(|allowed| allowed == group)
    }

    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let closed_at: Option<OffsetDateTime> = row.try_get("closed_at")?;
        let topped_up_at: Option<OffsetDateTime> = row.try_get("topped_up_at")?;
        Ok(Self {
            id: AccountId::new(row.try_get("id")?),
            name: row.try_get("name")?,
            group: row.try_get("group_name")?,
            allowed_groups: row.try_get("allowed_groups")?,
            shard: shard_of(row.try_get("shard")?)?,
            created_at: from_sql_time(row.try_get("created_at")?),
            topped_up_at: topped_up_at.map(from_sql_time),
            closed_at: closed_at.map(from_sql_time),
            revision: row.try_get("revision")?,
        })
    }
}

fn shard_of(number: i16) -> Result<Shard, DbError> {
    let wrong = |error| DbError::from(sqlx::Error::Decode(error));
    let number = u16::try_from(number).map_err(|error| wrong(Box::new(error)))?;
    Shard::new(number).map_err(|error| wrong(Box::new(error)))
}
