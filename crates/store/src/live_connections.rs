//! Connections that are open now, on every node, and requests of operators to close one. Nodes write theirs in batches;
//! what a node that died has left is not shown, and deleted by another.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use trunkline_db::{Database, DbError, Tx, from_sql_time, to_sql_time};
use trunkline_types::{AccountId, KeyId, RequestId, Timestamp};
use uuid::Uuid;

/// Connections that a list shows at most.
pub const MAX_ROWS: i64 = 500;
/// Minutes without a word of its node after which a connection is not shown.
const SHOWN_MINUTES: i32 = 2;
/// The same after which it is deleted.
const KEPT_MINUTES: i32 = 10;
/// Rows that one statement deletes at most.
const DELETED_AT_ONCE: i64 = 1_000;

/// A connection that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveConnection {
    pub id: RequestId,
    pub node: String,
    pub account: AccountId,
    pub key: KeyId,
    pub endpoint: String,
    /// None where each message names its own.
    pub model: Option<String>,
    pub channel: Option<i64>,
    pub opened_at: Timestamp,
    /// An operator wants it closed.
    pub closes: bool,
}

/// Which are listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct LiveQuery {
    pub account: Option<AccountId>,
    pub limit: i64,
}

/// The same with the names of what it belongs to; none of what was deleted meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedConnection {
    pub connection: LiveConnection,
    pub account_name: Option<String>,
    pub key_name: Option<String>,
    pub channel_name: Option<String>,
}

/// A connection with its names; conditions follow.
const LISTED: &str =
    "SELECT l.id, l.node, l.account_id, l.key_id, l.endpoint, l.model, l.channel_id, l.opened_at,
        l.close_requested_at IS NOT NULL AS closes,
        a.name AS account_name, k.name AS key_name, c.name AS channel_name
    FROM app.live_connection AS l
    LEFT JOIN app.account AS a ON a.id = l.account_id
    LEFT JOIN app.api_key AS k ON k.id = l.key_id
    LEFT JOIN app.channel AS c ON c.id = l.channel_id
    WHERE l.seen_at > app.now() - make_interval(mins => $1)";

// === impl ListedConnection ===

impl ListedConnection {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let id = RequestId::from_uuid(row.try_get("id")?);
        let id = id.map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        let connection = LiveConnection {
            id,
            node: row.try_get("node")?,
            account: AccountId::new(row.try_get("account_id")?),
            key: KeyId::new(row.try_get("key_id")?),
            endpoint: row.try_get("endpoint")?,
            model: row.try_get("model")?,
            channel: row.try_get("channel_id")?,
            opened_at: from_sql_time(row.try_get("opened_at")?),
            closes: row.try_get("closes")?,
        };
        Ok(Self {
            connection,
            account_name: row.try_get("account_name")?,
            key_name: row.try_get("key_name")?,
            channel_name: row.try_get("channel_name")?,
        })
    }
}

/// Writes that these connections of a node are open, new ones and those of before.
pub async fn seen(database: &Database, open: &[LiveConnection]) -> Result<(), DbError> {
    let numbers = |of: fn(&LiveConnection) -> i64| -> Vec<i64> { open.iter().map(of).collect() };
    let ids: Vec<Uuid> = open.iter().map(|one| one.id.uuid()).collect();
    let nodes: Vec<&str> = open.iter().map(|one| one.node.as_str()).collect();
    let endpoints: Vec<&str> = open.iter().map(|one| one.endpoint.as_str()).collect();
    let models: Vec<Option<&str>> = open.iter().map(|one| one.model.as_deref()).collect();
    let channels: Vec<Option<i64>> = open.iter().map(|one| one.channel).collect();
    let opened: Vec<_> = open.iter().map(|one| to_sql_time(one.opened_at)).collect();
    let mut session = database.session().await?;
    sqlx::query(
        "INSERT INTO app.live_connection AS l
             (id, node, account_id, key_id, endpoint, model, channel_id, opened_at)
         SELECT n.id, n.node, n.account_id, n.key_id, n.endpoint, n.model, n.channel_id, n.opened_at
         FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[],
                 $8::timestamptz[])
             AS n (id, node, account_id, key_id, endpoint, model, channel_id, opened_at)
         ORDER BY n.id
         ON CONFLICT (id) DO UPDATE SET seen_at = app.now()",
    )
    .bind(ids)
    .bind(nodes)
    .bind(numbers(|one| one.account.number()))
    .bind(numbers(|one| one.key.number()))
    .bind(endpoints)
    .bind(models)
    .bind(channels)
    .bind(opened)
    .execute(&mut *session)
    .await?;
    Ok(())
}

/// Forgets connections that have ended.
pub async fn ended(database: &Database, ids: &[RequestId]) -> Result<(), DbError> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let mut session = database.session().await?;
    sqlx::query("DELETE FROM app.live_connection WHERE id = ANY($1)")
        .bind(ids)
        .execute(&mut *session)
        .await?;
    Ok(())
}

/// Connections of a node that an operator wants closed.
pub async fn to_close(database: &Database, node: &str) -> Result<Vec<RequestId>, DbError> {
    let mut session = database.session().await?;
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT id FROM app.live_connection WHERE node = $1 AND close_requested_at IS NOT NULL LIMIT $2",
    )
    .bind(node)
    .bind(MAX_ROWS)
    .fetch_all(&mut *session)
    .await?;
    let ids = ids.into_iter();
    Ok(ids.filter_map(|id| RequestId::from_uuid(id).ok()).collect())
}

/// Deletes some of what nodes that died have left; how many.
pub async fn purge(database: &Database) -> Result<u64, DbError> {
    let mut session = database.session().await?;
    let gone = sqlx::query(
        "DELETE FROM app.live_connection WHERE id IN (
             SELECT id FROM app.live_connection WHERE seen_at < app.now() - make_interval(mins => $1) LIMIT $2)",
    )
    .bind(KEPT_MINUTES)
    .bind(DELETED_AT_ONCE)
    .execute(&mut *session)
    .await?;
    Ok(gone.rows_affected())
}

/// Open connections, newest first; of one account or of all.
pub async fn list(
    connection: &mut PgConnection,
    query: LiveQuery,
) -> Result<Vec<ListedConnection>, DbError> {
    let listed = format!(
        "{LISTED} AND ($2::bigint IS NULL OR l.account_id = $2) ORDER BY l.opened_at DESC, l.id DESC LIMIT $3"
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(listed))
        .bind(SHOWN_MINUTES)
        .bind(query.account.map(AccountId::number))
        .bind(query.limit.clamp(1, MAX_ROWS))
        .fetch_all(connection)
        .await?;
    rows.iter().map(ListedConnection::of_row).collect()
}

/// One open connection.
pub async fn find(
    connection: &mut PgConnection,
    id: RequestId,
) -> Result<Option<ListedConnection>, DbError> {
    let row = sqlx::query(sqlx::AssertSqlSafe(format!("{LISTED} AND l.id = $2")))
        .bind(SHOWN_MINUTES)
        .bind(id.uuid())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(ListedConnection::of_row).transpose()
}

/// Requests that a connection is closed. False, and nothing written, if it has ended or that was requested before.
pub async fn request_close(tx: &mut Tx, id: RequestId) -> Result<bool, DbError> {
    let changed = sqlx::query(
        "UPDATE app.live_connection SET close_requested_at = app.now()
         WHERE id = $1 AND close_requested_at IS NULL",
    )
    .bind(id.uuid())
    .execute(&mut **tx)
    .await?;
    Ok(changed.rows_affected() > 0)
}
