//! Every column of these tables that the keyring has sealed, so that all of it can be sealed anew.
//!
//! A value names its generation in its first three bytes. A row is written only if it still holds what was
//! read: what was written meanwhile is sealed by the newest key already, or sealed anew by the next run.

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};
use trunkline_db::{DbError, Role, Tx, revision};
use trunkline_types::AccountId;
use uuid::Uuid;

use crate::people::{PersonId, secret_context};
use crate::{channels, emails, media_keys, webhooks};

/// A column that the keyring has sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedColumn {
    Credential,
    Proxy,
    TaskRequest,
    TaskFile,
    WebhookUrl,
    WebhookSecret,
    WebhookOldSecret,
    TaskWebhookUrl,
    Email,
    SecondFactor,
    MediaKey,
}

/// Where one sealed value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedValue {
    /// Its row, as [`unsealed_by`] named it.
    pub row: String,
    /// Whose it is; none for the operator's.
    pub account: Option<AccountId>,
    /// What it is bound to beside the account.
    pub context: Vec<u8>,
    pub sealed: Vec<u8>,
}

/// How a column is found, read and written.
struct Statements {
    table: &'static str,
    column: &'static str,
    /// The row's name.
    row: &'static str,
    /// What its binding is made of.
    binding: &'static str,
    /// Whether `$1`, an array of names, has the row.
    is_named: &'static str,
}

const BY_ID: &str = "id = ANY($1::text[]::bigint[])";
const BY_UUID: &str = "id = ANY($1::text[]::uuid[])";

// === impl SealedColumn ===

impl SealedColumn {
    pub const ALL: [Self; 11] = [
        Self::Credential,
        Self::Proxy,
        Self::TaskRequest,
        Self::TaskFile,
        Self::WebhookUrl,
        Self::WebhookSecret,
        Self::WebhookOldSecret,
        Self::TaskWebhookUrl,
        Self::Email,
        Self::SecondFactor,
        Self::MediaKey,
    ];

    /// The word in outputs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Credential => "credential",
            Self::Proxy => "proxy",
            Self::TaskRequest => "task_request",
            Self::TaskFile => "task_file",
            Self::WebhookUrl => "webhook_url",
            Self::WebhookSecret => "webhook_secret",
            Self::WebhookOldSecret => "webhook_old_secret",
            Self::TaskWebhookUrl => "task_webhook_url",
            Self::Email => "email",
            Self::SecondFactor => "second_factor",
            Self::MediaKey => "media_key",
        }
    }

    /// The role that may write it.
    #[must_use]
    pub const fn role(self) -> Role {
        match self {
            Self::Credential | Self::Proxy | Self::SecondFactor => Role::Console,
            Self::TaskRequest
            | Self::TaskFile
            | Self::WebhookUrl
            | Self::WebhookSecret
            | Self::WebhookOldSecret
            | Self::TaskWebhookUrl
            | Self::Email
            | Self::MediaKey => Role::Data,
        }
    }

    const fn statements(self) -> Statements {
        let of_account = "account_id, id AS uuid";
        let (table, column, binding, is_named) = match self {
            Self::Credential => (
                "app.channel_credential",
                "sealed",
                "(SELECT h.name FROM app.channel AS h WHERE h.id = channel_id) AS name, label",
                BY_ID,
            ),
            Self::Proxy => ("app.channel", "proxy", "name", BY_ID),
            Self::TaskRequest => ("app.video_task", "sent", of_account, BY_UUID),
            Self::TaskFile => ("app.video_task", "file", of_account, BY_UUID),
            Self::WebhookUrl => ("app.webhook", "url", of_account, BY_UUID),
            Self::WebhookSecret => ("app.webhook", "secret", of_account, BY_UUID),
            Self::WebhookOldSecret => ("app.webhook", "old_secret", of_account, BY_UUID),
            Self::TaskWebhookUrl => (
                "app.task_webhook",
                "url",
                "account_id, task_id AS uuid",
                "task_id = ANY($1::text[]::uuid[])",
            ),
            Self::Email => ("app.email", "sealed", "id AS uuid", BY_UUID),
            Self::SecondFactor => ("app.second_factor", "secret", "person_id", BY_ID),
            Self::MediaKey => ("app.media_key", "sealed", "id", BY_ID),
        };
        let row = match self {
            Self::TaskWebhookUrl => "task_id::text",
            Self::Credential
            | Self::Proxy
            | Self::TaskRequest
            | Self::TaskFile
            | Self::WebhookUrl
            | Self::WebhookSecret
            | Self::WebhookOldSecret
            | Self::Email
            | Self::SecondFactor
            | Self::MediaKey => "id::text",
        };
        Statements {
            table,
            column,
            row,
            binding,
            is_named,
        }
    }

    /// Whether nodes follow its table by the topic of channels.
    const fn is_of_channels(self) -> bool {
        matches!(self, Self::Credential | Self::Proxy)
    }

    fn value(self, row: &PgRow) -> Result<SealedValue, DbError> {
        let uuid = || -> Result<Uuid, DbError> { Ok(row.try_get("uuid")?) };
        let context = match self {
            Self::Credential => {
                channels::credential_context(row.try_get("name")?, row.try_get("label")?)
            }
            Self::Proxy => channels::proxy_context(row.try_get("name")?),
            Self::TaskRequest | Self::TaskFile => uuid()?.as_bytes().to_vec(),
            Self::WebhookUrl => webhooks::url_context(uuid()?),
            Self::WebhookSecret | Self::WebhookOldSecret => webhooks::secret_context(uuid()?),
            Self::TaskWebhookUrl => webhooks::task_url_context(uuid()?),
            Self::Email => emails::context(uuid()?),
            Self::SecondFactor => secret_context(PersonId::new(row.try_get("person_id")?)),
            Self::MediaKey => media_keys::context(row.try_get("id")?),
        };
        let account: Option<i64> = match self {
            Self::Credential | Self::Proxy | Self::Email | Self::SecondFactor | Self::MediaKey => {
                None
            }
            Self::TaskRequest
            | Self::TaskFile
            | Self::WebhookUrl
            | Self::WebhookSecret
            | Self::WebhookOldSecret
            | Self::TaskWebhookUrl => Some(row.try_get("account_id")?),
        };
        Ok(SealedValue {
            row: row.try_get("row_name")?,
            account: account.map(AccountId::new),
            context,
            sealed: row.try_get("sealed_value")?,
        })
    }
}

/// The rows of a column that hold a value of another generation than the one whose tokens begin so.
pub async fn unsealed_by(
    connection: &mut PgConnection,
    column: SealedColumn,
    header: &[u8],
) -> Result<Vec<String>, DbError> {
    let Statements {
        table, column, row, ..
    } = column.statements();
    let statement = format!(
        "SELECT {row} FROM {table} WHERE {column} IS NOT NULL AND substring({column} FOR 3) <> $1"
    );
    let rows = sqlx::query_scalar(AssertSqlSafe(statement))
        .bind(header)
        .fetch_all(connection)
        .await?;
    Ok(rows)
}

/// The sealed values of rows; those that are gone meanwhile are left out.
pub async fn read(
    connection: &mut PgConnection,
    column: SealedColumn,
    rows: &[String],
) -> Result<Vec<SealedValue>, DbError> {
    let of = column.statements();
    let statement = format!(
        "SELECT {} AS row_name, {} AS sealed_value, {} FROM {} WHERE {} AND {} IS NOT NULL",
        of.row, of.column, of.binding, of.table, of.is_named, of.column
    );
    let found = sqlx::query(AssertSqlSafe(statement))
        .bind(rows)
        .fetch_all(connection)
        .await?;
    found.iter().map(|row| column.value(row)).collect()
}

/// Takes the number by which nodes see that channels changed; none where they need not.
pub async fn number(tx: &mut Tx, column: SealedColumn) -> Result<Option<i64>, DbError> {
    match column.is_of_channels() {
        true => Ok(Some(revision::bump(tx, channels::TOPIC).await?)),
        false => Ok(None),
    }
}

/// Replaces a sealed value, if it is the one that was read. False if it is not.
pub async fn replace(
    tx: &mut Tx,
    column: SealedColumn,
    before: &SealedValue,
    sealed: &[u8],
    number: Option<i64>,
) -> Result<bool, DbError> {
    let of = column.statements();
    let numbered = number.map_or("", |_| ", revision = $4");
    let statement = format!(
        "UPDATE {} SET {} = $3{numbered} WHERE {} AND {} = $2",
        of.table, of.column, of.is_named, of.column
    );
    let query = sqlx::query(AssertSqlSafe(statement))
        .bind(vec![before.row.clone()])
        .bind(&before.sealed)
        .bind(sealed);
    let query = match number {
        Some(number) => query.bind(number),
        None => query,
    };
    Ok(query.execute(&mut **tx).await?.rows_affected() == 1)
}
