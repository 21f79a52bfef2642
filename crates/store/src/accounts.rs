//! Accounts, apart from their money. The id is the ledger's.

use std::collections::BTreeMap;

use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time, revision};
use trunkline_types::{AccountId, Money, Shard, Timestamp};

use crate::account_routes::AccountRoutes;
use crate::limits::Rates;
use crate::policy::{AUTO_GROUP, RoutePolicy};
use crate::table_checksum::TableChecksum;
use crate::validation::{FieldError, Problem, check_name, check_word, check_words};

/// The topic whose numbers the rows carry.
pub const TOPIC: &str = "accounts";
/// The group of an account that was given no other.
pub const DEFAULT_GROUP: &str = "default";

/// Most aliases of an account: every node keeps them all.
pub const ALIASES_MAX: usize = 200;
/// Characters with a meaning in URLs, which no alias may contain.
const NOT_IN_ALIASES: [char; 6] = ['/', ':', '?', '#', '%', '&'];

#[derive(Debug, Clone, Copy)]
pub struct NewAccount<'a> {
    /// The id that the ledger assigned in the same transaction.
    pub id: AccountId,
    pub name: &'a str,
    /// The group whose prices apply.
    pub group: &'a str,
    /// Other groups that its keys may name.
    pub allowed_groups: &'a [String],
    /// The shard of the account.
    pub shard: Shard,
}

/// An account that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its number, the same as in the ledger.
    pub id: AccountId,
    pub name: String,
    /// The group whose prices apply.
    pub group: String,
    /// Other groups that its keys may name.
    pub allowed_groups: Vec<String>,
    /// The shard of the account.
    pub shard: Shard,
    /// When it was made, by the database's clock.
    pub created_at: Timestamp,
    /// When it first paid in; none if it never did.
    pub topped_up_at: Option<Timestamp>,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// Since when an operator has its keys refused.
    pub suspended_at: Option<Timestamp>,
    pub aliases: BTreeMap<String, String>,
    /// What it may use in a minute and at once, over all its keys.
    pub rates: Rates,
    /// Which routes it is served by.
    pub routes: AccountRoutes,
    /// The number of its last change.
    pub revision: i64,
}

/// What may become of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountState {
    Active,
    /// Its keys are refused until an operator resumes it.
    Suspended,
    Closed,
}

/// Why an account was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CreateAccountError {
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The database refused, or did not answer.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Why an alias was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AliasError {
    /// No such account.
    #[error("there is no account {0}")]
    UnknownAccount(AccountId),
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The database refused, or did not answer.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Writes an account that the ledger made in the same transaction.
pub async fn create(tx: &mut Tx, new: &NewAccount<'_>) -> Result<(), CreateAccountError> {
    check_name("name", new.name)?;
    let allowed = check_groups(new.group, new.allowed_groups)?;
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
        "SELECT id, name, group_name, allowed_groups, shard, created_at, topped_up_at, closed_at, suspended_at,
             aliases, requests_per_minute, tokens_per_minute, concurrent_calls, policy, max_input_nanos,
             max_output_nanos, max_unit_nanos, residencies, upstream_zero_retention, revision
         FROM app.account WHERE id = $1",
    )
    .bind(id.number())
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(Account::of_row).transpose()
}

/// Renames an account. False if there is no such account.
pub async fn rename(tx: &mut Tx, id: AccountId, name: &str) -> Result<bool, CreateAccountError> {
    check_name("name", name)?;
    let number = revision::bump(tx, TOPIC).await?;
    let done = sqlx::query("UPDATE app.account SET name = $2, revision = $3 WHERE id = $1")
        .bind(id.number())
        .bind(name)
        .bind(number)
        .execute(&mut **tx)
        .await
        .map_err(DbError::from)?;
    Ok(done.rows_affected() == 1)
}

/// Puts an account into another group, and says which others its keys may name; none leaves those. False if
/// there is no such account.
pub async fn set_group(
    tx: &mut Tx,
    id: AccountId,
    group: &str,
    allowed_groups: Option<&[String]>,
) -> Result<bool, CreateAccountError> {
    let allowed = check_groups(group, allowed_groups.unwrap_or_default())?;
    let number = revision::bump(tx, TOPIC).await?;
    let done = sqlx::query(
        "UPDATE app.account SET group_name = $2, allowed_groups = COALESCE($3, allowed_groups), revision = $4
         WHERE id = $1",
    )
    .bind(id.number())
    .bind(group)
    .bind(allowed_groups.map(|_| allowed))
    .bind(number)
    .execute(&mut **tx)
    .await
    .map_err(DbError::from)?;
    Ok(done.rows_affected() == 1)
}

/// Sets which routes an account is served by, all of it. False if there is no such account.
pub async fn set_routes(
    tx: &mut Tx,
    id: AccountId,
    routes: &AccountRoutes,
) -> Result<bool, CreateAccountError> {
    let routes = routes.checked()?;
    let number = revision::bump(tx, TOPIC).await?;
    let done = sqlx::query(
        "UPDATE app.account SET policy = $2, max_input_nanos = $3, max_output_nanos = $4, max_unit_nanos = $5,
             residencies = $6, upstream_zero_retention = $7, revision = $8
         WHERE id = $1",
    )
    .bind(id.number())
    .bind(routes.policy.map(RoutePolicy::as_str))
    .bind(routes.max_price.input.map(Money::nanos))
    .bind(routes.max_price.output.map(Money::nanos))
    .bind(routes.max_price.unit.map(Money::nanos))
    .bind(routes.residencies)
    .bind(routes.upstream_zero_retention)
    .bind(number)
    .execute(&mut **tx)
    .await
    .map_err(DbError::from)?;
    Ok(done.rows_affected() == 1)
}

/// Has an account's keys refused, or accepted again. False, if it is so already or there is no such account.
pub async fn set_suspended(tx: &mut Tx, id: AccountId, suspended: bool) -> Result<bool, DbError> {
    let number = revision::bump(tx, TOPIC).await?;
    let done = sqlx::query(
        "UPDATE app.account SET suspended_at = CASE WHEN $2 THEN app.now() END, revision = $3
         WHERE id = $1 AND (suspended_at IS NOT NULL) <> $2",
    )
    .bind(id.number())
    .bind(suspended)
    .bind(number)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Accounts above a number, in their order, of which a text is a part: of the name, the number, a member's email
/// address, the hint of a key, or the id of a payment. An empty text is part of all.
pub async fn search(
    connection: &mut PgConnection,
    text: &str,
    state: Option<AccountState>,
    after: AccountId,
    limit: u32,
) -> Result<Vec<Account>, DbError> {
    let rows = sqlx::query(
        "SELECT id, name, group_name, allowed_groups, shard, created_at, topped_up_at, closed_at, suspended_at,
             aliases, requests_per_minute, tokens_per_minute, concurrent_calls, policy, max_input_nanos,
             max_output_nanos, max_unit_nanos, residencies, upstream_zero_retention, revision
         FROM app.account AS a
         WHERE a.id > $2
             AND ($4::text IS NULL OR $4 = CASE WHEN a.closed_at IS NOT NULL THEN 'closed'
                 WHEN a.suspended_at IS NOT NULL THEN 'suspended' ELSE 'active' END)
             AND ($1 = '' OR strpos(lower(a.name), lower($1)) > 0 OR strpos(a.id::text, $1) > 0
                 OR EXISTS (
                     SELECT FROM app.member AS m JOIN app.person AS p ON p.id = m.person_id
                     WHERE m.account_id = a.id AND strpos(lower(p.email), lower($1)) > 0)
                 OR char_length($1) >= 4 AND EXISTS (
                     SELECT FROM app.api_key AS k WHERE k.account_id = a.id AND strpos(k.hint, $1) > 0)
                 OR char_length($1) >= 4 AND EXISTS (
                     SELECT FROM app.payment AS y WHERE y.account_id = a.id
                         AND (strpos(y.id::text, lower($1)) > 0 OR strpos(y.provider_payment, $1) > 0)))
         ORDER BY a.id LIMIT $3",
    )
    .bind(text)
    .bind(after.number())
    .bind(i64::from(limit))
    .bind(state.map(AccountState::as_str))
    .fetch_all(connection)
    .await?;
    rows.iter().map(Account::of_row).collect()
}

/// The email address of the first owner of each account; accounts without one are left out.
pub async fn owners(
    connection: &mut PgConnection,
    accounts: &[AccountId],
) -> Result<BTreeMap<AccountId, String>, DbError> {
    let numbers: Vec<i64> = accounts.iter().map(|account| account.number()).collect();
    let rows = sqlx::query(
        "SELECT DISTINCT ON (m.account_id) m.account_id, p.email
         FROM app.member AS m JOIN app.person AS p ON p.id = m.person_id
         WHERE m.account_id = ANY ($1) AND m.role = 'owner' ORDER BY m.account_id, m.joined_at, p.id",
    )
    .bind(numbers)
    .fetch_all(connection)
    .await?;
    let pair = |row: &PgRow| {
        let account = AccountId::new(row.try_get("account_id")?);
        Ok((account, row.try_get("email")?))
    };
    rows.iter().map(pair).collect()
}

/// Names of some accounts; unknown ones are left out.
pub async fn names(
    connection: &mut PgConnection,
    accounts: &[AccountId],
) -> Result<BTreeMap<AccountId, String>, DbError> {
    let numbers: Vec<i64> = accounts.iter().map(|account| account.number()).collect();
    let rows = sqlx::query("SELECT id, name FROM app.account WHERE id = ANY ($1)")
        .bind(numbers)
        .fetch_all(connection)
        .await?;
    let pair = |row: &PgRow| {
        let account = AccountId::new(row.try_get("id")?);
        Ok((account, row.try_get("name")?))
    };
    rows.iter().map(pair).collect()
}

/// Accounts that changed after this revision and account. Continue from the last row until the page
/// is empty.
pub async fn changed_since(
    connection: &mut PgConnection,
    revision: i64,
    account: AccountId,
    limit: u32,
) -> Result<Vec<Account>, DbError> {
    let rows = sqlx::query(
        "SELECT id, name, group_name, allowed_groups, shard, created_at, topped_up_at, closed_at, suspended_at,
             aliases, requests_per_minute, tokens_per_minute, concurrent_calls, policy, max_input_nanos,
             max_output_nanos, max_unit_nanos, residencies, upstream_zero_retention, revision
         FROM app.account WHERE (revision, id) > ($1, $2) ORDER BY revision, id LIMIT $3",
    )
    .bind(revision)
    .bind(account.number())
    .bind(i64::from(limit))
    .fetch_all(connection)
    .await?;
    rows.iter().map(Account::of_row).collect()
}

/// Sets or removes an account's alias for a model. The caller checks that the model exists. True if
/// the aliases changed.
pub async fn set_alias(
    tx: &mut Tx,
    id: AccountId,
    name: &str,
    model: Option<&str>,
) -> Result<bool, AliasError> {
    check_alias(name)?;
    if let Some(model) = model {
        check_word("model", model)?;
    }
    // The revision first: of two concurrent changes, neither overwrites the other.
    let number = revision::bump(tx, TOPIC).await?;
    let account = find(tx, id).await?.ok_or(AliasError::UnknownAccount(id))?;
    let mut aliases = account.aliases.clone();
    match model {
        Some(model) => drop(aliases.insert(name.to_owned(), model.to_owned())),
        None => drop(aliases.remove(name)),
    }
    if aliases.len() > ALIASES_MAX {
        let most = ALIASES_MAX;
        return Err(FieldError::new("aliases", Problem::TooMany { most }).into());
    }
    sqlx::query("UPDATE app.account SET aliases = $2, revision = $3 WHERE id = $1")
        .bind(id.number())
        .bind(Json(&aliases))
        .bind(number)
        .execute(&mut **tx)
        .await
        .map_err(DbError::from)?;
    Ok(aliases != account.aliases)
}

/// The other groups in the form in which they are kept.
fn check_groups(group: &str, allowed_groups: &[String]) -> Result<Vec<String>, FieldError> {
    check_word("group", group)?;
    let allowed = check_words("allowed_groups", allowed_groups.to_vec())?;
    if group == AUTO_GROUP {
        return Err(FieldError::new("group", Problem::Auto));
    }
    if allowed.iter().any(|group| group == AUTO_GROUP) {
        return Err(FieldError::new("allowed_groups", Problem::Auto));
    }
    Ok(allowed)
}

fn check_alias(name: &str) -> Result<(), FieldError> {
    check_word("alias", name)?;
    if name.contains(NOT_IN_ALIASES) {
        let be = "a word without / : ? # % and &, which mean something in addresses";
        return Err(FieldError::new("alias", Problem::Must { be }));
    }
    Ok(())
}

/// Count of accounts, and the checksum over their ids and revisions.
pub async fn checksum(connection: &mut PgConnection) -> Result<TableChecksum, DbError> {
    TableChecksum::of_table(
        connection,
        "SELECT count(*) AS count, COALESCE(max(revision), 0) AS newest,
             COALESCE(sum((id % 2147483647 + 1) * (revision % 2147483647 + 7) % 2147483647), 0)::bigint AS sum
         FROM app.account",
    )
    .await
}

// === impl AccountState ===

impl AccountState {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Closed => "closed",
        }
    }
}

// === impl Account ===

impl Account {
    #[must_use]
    pub const fn state(&self) -> AccountState {
        match (self.closed_at, self.suspended_at) {
            (Some(_), _) => AccountState::Closed,
            (None, Some(_)) => AccountState::Suspended,
            (None, None) => AccountState::Active,
        }
    }

    /// True for its own group and the groups its keys may name.
    #[must_use]
    pub fn may_use(&self, group: &str) -> bool {
        self.group == group || self.allowed_groups.iter().any(|allowed| allowed == group)
    }

    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let closed_at: Option<OffsetDateTime> = row.try_get("closed_at")?;
        let suspended_at: Option<OffsetDateTime> = row.try_get("suspended_at")?;
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
            suspended_at: suspended_at.map(from_sql_time),
            aliases: row.try_get::<Json<_>, _>("aliases")?.0,
            rates: Rates::of_row(row)?,
            routes: AccountRoutes::of_row(row)?,
            revision: row.try_get("revision")?,
        })
    }
}

fn shard_of(number: i16) -> Result<Shard, DbError> {
    let wrong = |error| DbError::from(sqlx::Error::Decode(error));
    let number = u16::try_from(number).map_err(|error| wrong(Box::new(error)))?;
    Shard::new(number).map_err(|error| wrong(Box::new(error)))
}
