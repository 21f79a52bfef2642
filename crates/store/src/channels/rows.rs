//! The statements of the channel tables, and their rows as values.

use std::collections::BTreeMap;

use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time, to_sql_time};
use trunkline_types::Timestamp;

use super::check::Checked;
use super::{
    Channel, ChannelId, ChannelState, Credential, CredentialId, MAX_CHANNELS, MAX_CREDENTIALS,
    NewChannel, NewCredential,
};

/// None if the name is taken.
pub(super) async fn insert(
    tx: &mut Tx,
    new: &NewChannel<'_>,
    checked: &Checked,
    number: i64,
) -> Result<Option<ChannelId>, DbError> {
    let id: Option<i64> = sqlx::query_scalar(
        "INSERT INTO app.channel (
             name, provider, base_url, priority, weight, region, models, groups, extra_headers, proxy,
             requests_per_minute, concurrent_calls, cost, revision, residency, zero_retention)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
         ON CONFLICT ON CONSTRAINT channel_name_once DO NOTHING
         RETURNING id",
    )
    .bind(new.name)
    .bind(new.provider)
    .bind(&checked.base_url)
    .bind(new.priority)
    .bind(i32::try_from(new.weight).unwrap_or(i32::MAX)) // the check refuses that
    .bind(new.region)
    .bind(Json(new.models))
    .bind(&checked.groups)
    .bind(Json(&checked.extra_headers))
    .bind(new.proxy)
    .bind(new.requests_per_minute)
    .bind(new.concurrent_calls)
    .bind(new.cost.map(Json))
    .bind(number)
    .bind(new.residency)
    .bind(new.zero_retention)
    .fetch_optional(&mut **tx)
    .await?;
    Ok(id.map(ChannelId::new))
}

pub(super) async fn insert_credential(
    tx: &mut Tx,
    channel: ChannelId,
    new: &NewCredential<'_>,
    number: i64,
) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.channel_credential (channel_id, label, sealed, hint, revision)
         VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(channel.number())
    .bind(new.label)
    .bind(new.sealed)
    .bind(new.hint)
    .bind(number)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Writes every field of a channel that may change.
pub(super) async fn update(
    tx: &mut Tx,
    id: ChannelId,
    new: &NewChannel<'_>,
    checked: &Checked,
    number: i64,
) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.channel SET base_url = $2, priority = $3, weight = $4, region = $5, models = $6,
             groups = $7, extra_headers = $8, proxy = $9, requests_per_minute = $10,
             concurrent_calls = $11, cost = $12, revision = $13, residency = $14, zero_retention = $15
         WHERE id = $1",
    )
    .bind(id.number())
    .bind(&checked.base_url)
    .bind(new.priority)
    .bind(i32::try_from(new.weight).unwrap_or(i32::MAX)) // the check refuses that
    .bind(new.region)
    .bind(Json(new.models))
    .bind(&checked.groups)
    .bind(Json(&checked.extra_headers))
    .bind(new.proxy)
    .bind(new.requests_per_minute)
    .bind(new.concurrent_calls)
    .bind(new.cost.map(Json))
    .bind(number)
    .bind(new.residency)
    .bind(new.zero_retention)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Another secret under a known label, which the upstream has refused or limited nothing of yet.
pub(super) async fn replace_credential(
    tx: &mut Tx,
    credential: CredentialId,
    new: &NewCredential<'_>,
    number: i64,
) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.channel_credential
         SET sealed = $2, hint = $3, cool_until = NULL, paused_reason = NULL, revision = $4
         WHERE id = $1",
    )
    .bind(credential.number())
    .bind(new.sealed)
    .bind(new.hint)
    .bind(number)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub(super) async fn delete_credential(
    tx: &mut Tx,
    channel: ChannelId,
    credential: CredentialId,
    number: i64,
) -> Result<(), DbError> {
    sqlx::query("DELETE FROM app.channel_credential WHERE id = $1")
        .bind(credential.number())
        .execute(&mut **tx)
        .await?;
    // The row that is gone cannot carry the number.
    sqlx::query("UPDATE app.channel SET revision = $2 WHERE id = $1")
        .bind(channel.number())
        .bind(number)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Tasks that were sent with a credential and have no verdict yet.
pub(super) async fn running_tasks(tx: &mut Tx, credential: CredentialId) -> Result<i64, DbError> {
    let tasks = sqlx::query_scalar(
        "SELECT count(*) FROM app.video_task AS t JOIN app.video_schedule AS s ON s.task_id = t.id
         WHERE t.credential_id = $1 AND t.ended_at IS NULL",
    )
    .bind(credential.number())
    .fetch_one(&mut **tx)
    .await?;
    Ok(tasks)
}

pub(super) async fn count(tx: &mut Tx) -> Result<usize, DbError> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM app.channel")
        .fetch_one(&mut **tx)
        .await?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

pub(super) async fn find(
    connection: &mut PgConnection,
    name: &str,
) -> Result<Option<Channel>, DbError> {
    let row = sqlx::query(
        "SELECT id, name, provider, base_url, priority, weight, region, models, groups, extra_headers,
             proxy, requests_per_minute, concurrent_calls, cost, state, revision, residency, zero_retention
         FROM app.channel WHERE name = $1",
    )
    .bind(name)
    .fetch_optional(&mut *connection)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let channel = channel_of(&row)?;
    let credentials = sqlx::query(
        "SELECT id, channel_id, label, sealed, hint, disabled, cool_until, paused_reason, revision
         FROM app.channel_credential WHERE channel_id = $1 ORDER BY id LIMIT $2",
    )
    .bind(channel.id.number())
    .bind(bound(MAX_CREDENTIALS))
    .fetch_all(connection)
    .await?;
    Ok(with_credentials(vec![channel], &credentials)?.pop())
}

/// The name of a channel; none if there is no such one.
pub(super) async fn name_of(
    connection: &mut PgConnection,
    id: ChannelId,
) -> Result<Option<String>, DbError> {
    let name = sqlx::query_scalar("SELECT name FROM app.channel WHERE id = $1")
        .bind(id.number())
        .fetch_optional(connection)
        .await?;
    Ok(name)
}

/// The channels first: every channel that is read has its credentials by then.
pub(super) async fn list(connection: &mut PgConnection) -> Result<Vec<Channel>, DbError> {
    let rows = sqlx::query(
        "SELECT id, name, provider, base_url, priority, weight, region, models, groups, extra_headers,
             proxy, requests_per_minute, concurrent_calls, cost, state, revision, residency, zero_retention
         FROM app.channel ORDER BY priority, id LIMIT $1",
    )
    .bind(bound(MAX_CHANNELS))
    .fetch_all(&mut *connection)
    .await?;
    let channels: Vec<Channel> = rows.iter().map(channel_of).collect::<Result<_, _>>()?;
    let credentials = sqlx::query(
        "SELECT id, channel_id, label, sealed, hint, disabled, cool_until, paused_reason, revision
         FROM app.channel_credential ORDER BY id LIMIT $1",
    )
    .bind(bound(MAX_CHANNELS.saturating_mul(MAX_CREDENTIALS)))
    .fetch_all(connection)
    .await?;
    with_credentials(channels, &credentials)
}

pub(super) async fn set_state(
    tx: &mut Tx,
    channel: ChannelId,
    state: ChannelState,
    number: i64,
) -> Result<bool, DbError> {
    let done = sqlx::query("UPDATE app.channel SET state = $2, revision = $3 WHERE id = $1")
        .bind(channel.number())
        .bind(state.as_str())
        .bind(number)
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn would_cool(
    tx: &mut Tx,
    credential: CredentialId,
    until: Timestamp,
) -> Result<bool, DbError> {
    let would = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM app.channel_credential
             WHERE id = $1 AND (cool_until IS NULL OR cool_until < $2))",
    )
    .bind(credential.number())
    .bind(to_sql_time(until))
    .fetch_one(&mut **tx)
    .await?;
    Ok(would)
}

pub(super) async fn cool(
    tx: &mut Tx,
    credential: CredentialId,
    until: Timestamp,
    number: i64,
) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.channel_credential SET cool_until = $2, revision = $3
         WHERE id = $1 AND (cool_until IS NULL OR cool_until < $2)",
    )
    .bind(credential.number())
    .bind(to_sql_time(until))
    .bind(number)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn would_pause(tx: &mut Tx, credential: CredentialId) -> Result<bool, DbError> {
    let would = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM app.channel_credential
             WHERE id = $1 AND paused_reason IS NULL)",
    )
    .bind(credential.number())
    .fetch_one(&mut **tx)
    .await?;
    Ok(would)
}

pub(super) async fn pause(
    tx: &mut Tx,
    credential: CredentialId,
    reason: &str,
    number: i64,
) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.channel_credential SET paused_reason = $2, revision = $3
         WHERE id = $1 AND paused_reason IS NULL",
    )
    .bind(credential.number())
    .bind(reason)
    .bind(number)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn resume(
    tx: &mut Tx,
    channel: ChannelId,
    number: i64,
) -> Result<Vec<String>, DbError> {
    let labels = sqlx::query_scalar(
        "UPDATE app.channel_credential SET paused_reason = NULL, revision = $2
         WHERE channel_id = $1 AND paused_reason IS NOT NULL RETURNING label",
    )
    .bind(channel.number())
    .bind(number)
    .fetch_all(&mut **tx)
    .await?;
    Ok(labels)
}

pub(super) async fn resume_credential(
    tx: &mut Tx,
    credential: CredentialId,
    number: i64,
) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.channel_credential SET paused_reason = NULL, revision = $2
         WHERE id = $1 AND paused_reason IS NOT NULL",
    )
    .bind(credential.number())
    .bind(number)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Adds the credentials to their channels. A credential whose channel was added after the channels
/// were read is left for the next read.
fn with_credentials(mut channels: Vec<Channel>, rows: &[PgRow]) -> Result<Vec<Channel>, DbError> {
    let places: BTreeMap<ChannelId, usize> = channels
        .iter()
        .enumerate()
        .map(|(place, channel)| (channel.id, place))
        .collect();
    for row in rows {
        let owner = ChannelId::new(row.try_get("channel_id")?);
        let place = places.get(&owner);
        let Some(channel) = place.and_then(|place| channels.get_mut(*place)) else {
            continue;
        };
        channel.revision = channel.revision.max(row.try_get("revision")?);
        channel.credentials.push(credential_of(row)?);
    }
    Ok(channels)
}

fn channel_of(row: &PgRow) -> Result<Channel, DbError> {
    let weight: i32 = row.try_get("weight")?;
    let models: Json<BTreeMap<String, String>> = row.try_get("models")?;
    let extra_headers: Json<BTreeMap<String, String>> = row.try_get("extra_headers")?;
    let cost: Option<Json<serde_json::Value>> = row.try_get("cost")?;
    let state: &str = row.try_get("state")?;
    let wrong = |what: &str| DbError::from(sqlx::Error::Decode(what.into()));
    Ok(Channel {
        id: ChannelId::new(row.try_get("id")?),
        name: row.try_get("name")?,
        provider: row.try_get("provider")?,
        base_url: row.try_get("base_url")?,
        priority: row.try_get("priority")?,
        weight: u32::try_from(weight).map_err(|_| wrong("a channel's weight is below 0"))?,
        region: row.try_get("region")?,
        residency: row.try_get("residency")?,
        zero_retention: row.try_get("zero_retention")?,
        models: models.0,
        groups: row.try_get("groups")?,
        extra_headers: extra_headers.0,
        proxy: row.try_get("proxy")?,
        requests_per_minute: row.try_get("requests_per_minute")?,
        concurrent_calls: row.try_get("concurrent_calls")?,
        cost: cost.map(|cost| cost.0),
        state: ChannelState::of_word(state).ok_or_else(|| wrong("a channel's state is unknown"))?,
        credentials: Vec::new(),
        revision: row.try_get("revision")?,
    })
}

fn credential_of(row: &PgRow) -> Result<Credential, DbError> {
    let cool_until: Option<OffsetDateTime> = row.try_get("cool_until")?;
    Ok(Credential {
        id: CredentialId::new(row.try_get("id")?),
        label: row.try_get("label")?,
        sealed: row.try_get("sealed")?,
        hint: row.try_get("hint")?,
        disabled: row.try_get("disabled")?,
        cool_until: cool_until.map(from_sql_time),
        paused_reason: row.try_get("paused_reason")?,
    })
}

fn bound(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
