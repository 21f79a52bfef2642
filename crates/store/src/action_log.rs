//! The log of actions: what operators, members and commands changed. Rows are only added, in the transaction of
//! the change, so that neither is there without the other.

use std::net::IpAddr;

use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time, to_sql_time};
use trunkline_types::{AccountId, Timestamp};

use crate::people::PersonId;

/// Most rows of one page.
pub const PAGE_MAX: i64 = 1_000;
pub const REASON_MAX_CHARACTERS: usize = 500;
const SUBJECT_MAX_CHARACTERS: usize = 300;
const ACTOR_MAX_CHARACTERS: usize = 254;
/// Largest value that is kept of before and after; a larger one is replaced by a note of its size.
const VALUE_MAX_BYTES: usize = 60_000;

/// In which capacity someone acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorKind {
    Operator,
    /// A member of an organisation.
    Member,
    /// A person with a shell on the machine.
    Command,
    /// The program itself.
    System,
}

/// Who acts, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub kind: ActorKind,
    pub person: Option<PersonId>,
    /// The person's address, the login at the command line, or a part of the program.
    pub name: String,
    pub address: Option<IpAddr>,
    /// What the browser calls itself.
    pub agent: Option<String>,
}

/// An action to write.
#[derive(Debug, Clone, Default)]
pub struct NewAction<'a> {
    /// What was done, as the API names the operation.
    pub action: &'a str,
    /// The organisation that it concerns.
    pub account: Option<AccountId>,
    /// What was changed, such as `channel openai`.
    pub subject: &'a str,
    pub before: Option<Value>,
    pub after: Option<Value>,
    pub reason: Option<&'a str>,
}

/// An action that was written.
#[derive(Debug, Clone)]
pub struct Action {
    pub id: i64,
    pub at: Timestamp,
    pub kind: String,
    pub person: Option<PersonId>,
    pub actor: String,
    pub address: Option<String>,
    pub agent: Option<String>,
    pub action: String,
    pub account: Option<AccountId>,
    pub subject: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
    pub reason: Option<String>,
}

/// Which actions are listed. None does not filter.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Contained in the actor's name.
    pub actor: Option<String>,
    pub action: Option<String>,
    pub account: Option<AccountId>,
    /// Contained in the subject.
    pub subject: Option<String>,
    pub kind: Option<ActorKind>,
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

const COLUMNS: &str = "id, at, kind, person_id, actor, address, agent, action, account_id, subject, before, after, reason";
const FILTERED: &str = "($1::text IS NULL OR strpos(lower(actor), lower($1)) > 0)
         AND ($2::text IS NULL OR action = $2) AND ($3::bigint IS NULL OR account_id = $3)
         AND ($4::text IS NULL OR strpos(lower(subject), lower($4)) > 0) AND ($5::text IS NULL OR kind = $5)
         AND ($6::timestamptz IS NULL OR at >= $6) AND ($7::timestamptz IS NULL OR at < $7)";

/// Writes an action. Texts that are too long are cut.
pub async fn write(tx: &mut Tx, actor: &Actor, new: &NewAction<'_>) -> Result<(), DbError> {
    let cut = |text: &str, most| text.chars().take(most).collect::<String>();
    sqlx::query(
        "INSERT INTO app.action_log (kind, person_id, actor, address, agent, action, account_id, subject,
             before, after, reason)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    )
    .bind(actor.kind.as_str())
    .bind(actor.person.map(PersonId::number))
    .bind(cut(&actor.name, ACTOR_MAX_CHARACTERS))
    .bind(actor.address.map(|address| address.to_string()))
    .bind(actor.agent.as_deref())
    .bind(new.action)
    .bind(new.account.map(AccountId::number))
    .bind(cut(new.subject, SUBJECT_MAX_CHARACTERS))
    .bind(new.before.as_ref().map(bounded).map(Json))
    .bind(new.after.as_ref().map(bounded).map(Json))
    .bind(new.reason.map(|reason| cut(reason, REASON_MAX_CHARACTERS)))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Actions before one, newest first.
pub async fn list(
    connection: &mut PgConnection,
    filter: &Filter,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<Action>, DbError> {
    let text = format!(
        "SELECT {COLUMNS} FROM app.action_log WHERE {FILTERED} AND ($8::bigint IS NULL OR id < $8)
         ORDER BY id DESC LIMIT $9"
    );
    page(connection, text, filter, before, limit).await
}

/// Actions after one, oldest first: for a copy of them all.
pub async fn list_after(
    connection: &mut PgConnection,
    filter: &Filter,
    after: Option<i64>,
    limit: i64,
) -> Result<Vec<Action>, DbError> {
    let text = format!(
        "SELECT {COLUMNS} FROM app.action_log WHERE {FILTERED} AND ($8::bigint IS NULL OR id > $8)
         ORDER BY id LIMIT $9"
    );
    page(connection, text, filter, after, limit).await
}

/// The newest action of some kinds about an account.
pub async fn newest_of(
    connection: &mut PgConnection,
    account: AccountId,
    actions: &[&str],
) -> Result<Option<Action>, DbError> {
    let text = format!(
        "SELECT {COLUMNS} FROM app.action_log WHERE account_id = $1 AND action = ANY ($2)
         ORDER BY id DESC LIMIT 1"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(account.number())
        .bind(actions)
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(Action::of_row).transpose()
}

async fn page(
    connection: &mut PgConnection,
    text: String,
    filter: &Filter,
    from: Option<i64>,
    limit: i64,
) -> Result<Vec<Action>, DbError> {
    let rows = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(filter.actor.as_deref())
        .bind(filter.action.as_deref())
        .bind(filter.account.map(AccountId::number))
        .bind(filter.subject.as_deref())
        .bind(filter.kind.map(ActorKind::as_str))
        .bind(filter.from.map(to_sql_time))
        .bind(filter.until.map(to_sql_time))
        .bind(from)
        .bind(limit.clamp(1, PAGE_MAX))
        .fetch_all(connection)
        .await?;
    rows.iter().map(Action::of_row).collect()
}

fn bounded(value: &Value) -> Value {
    let bytes = value.to_string().len();
    if bytes <= VALUE_MAX_BYTES {
        return value.clone();
    }
    serde_json::json!({ "too_large_bytes": bytes })
}

// === impl ActorKind ===

impl ActorKind {
    pub const ALL: [Self; 4] = [Self::Operator, Self::Member, Self::Command, Self::System];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Member => "member",
            Self::Command => "command",
            Self::System => "system",
        }
    }
}

// === impl Actor ===

impl Actor {
    /// A person with a shell on the machine.
    #[must_use]
    pub fn command(login: &str) -> Self {
        Self::nameless(ActorKind::Command, login)
    }

    /// A part of the program.
    #[must_use]
    pub fn system(part: &str) -> Self {
        Self::nameless(ActorKind::System, part)
    }

    fn nameless(kind: ActorKind, name: &str) -> Self {
        Self {
            kind,
            person: None,
            name: name.to_owned(),
            address: None,
            agent: None,
        }
    }
}

// === impl Action ===

impl Action {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let at: OffsetDateTime = row.try_get("at")?;
        let value = |name| -> Result<Option<Value>, DbError> {
            let value: Option<Json<Value>> = row.try_get(name)?;
            Ok(value.map(|Json(value)| value))
        };
        Ok(Self {
            id: row.try_get("id")?,
            at: from_sql_time(at),
            kind: row.try_get("kind")?,
            person: row
                .try_get::<Option<i64>, _>("person_id")?
                .map(PersonId::new),
            actor: row.try_get("actor")?,
            address: row.try_get("address")?,
            agent: row.try_get("agent")?,
            action: row.try_get("action")?,
            account: row
                .try_get::<Option<i64>, _>("account_id")?
                .map(AccountId::new),
            subject: row.try_get("subject")?,
            before: value("before")?,
            after: value("after")?,
            reason: row.try_get("reason")?,
        })
    }
}
