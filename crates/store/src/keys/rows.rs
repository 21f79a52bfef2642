//! The statements of the key table, and its rows as values.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time, to_sql_time};
use trunkline_types::{AccountId, ApiKey, KeyId, Money, Timestamp};

use super::{Key, KeyHash, NewKey};
use crate::policy::{KeyGroup, MaxPrice, OnDisconnect, Policy, PolicyFields, RoutePolicy};

/// Everything of a key's row.
pub(super) const COLUMNS: &str = "id, account_id, parent_id, name, key_hash, hint, group_name, models, endpoints, \
     platforms, addresses::text[] AS addresses, regions, requests_per_minute, tokens_per_minute, \
     concurrent_calls, strict, fit_to_balance, zero_retention, on_disconnect, policy, max_input_nanos, \
     max_output_nanos, max_unit_nanos, residencies, upstream_zero_retention, expires_at, revoked_at, disabled_at, \
     previous_hash, previous_until, deleted_at, created_at, revision";

pub(super) async fn insert(
    tx: &mut Tx,
    new: &NewKey<'_>,
    policy: &Policy,
    plain: &ApiKey,
    number: i64,
) -> Result<Key, DbError> {
    let fields = policy.fields();
    let row = sqlx::query(
        "INSERT INTO app.api_key (
             account_id, parent_id, name, key_hash, hint, group_name, models, endpoints, platforms,
             addresses, regions, requests_per_minute, tokens_per_minute, concurrent_calls, strict,
             fit_to_balance, zero_retention, on_disconnect, policy, max_input_nanos,
             max_output_nanos, max_unit_nanos, residencies, upstream_zero_retention, expires_at, revision)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text[]::cidr[], $11, $12, $13, $14, $15,
             $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)
         RETURNING id, account_id, parent_id, name, key_hash, hint, group_name, models, endpoints,
             platforms, addresses::text[] AS addresses, regions, requests_per_minute,
             tokens_per_minute, concurrent_calls, strict, fit_to_balance, zero_retention, on_disconnect, policy, max_input_nanos,
             max_output_nanos, max_unit_nanos, residencies, upstream_zero_retention, expires_at,
             revoked_at, disabled_at, previous_hash, previous_until, deleted_at, created_at, revision",
    )
    .bind(new.account.number())
    .bind(new.parent.map(KeyId::number))
    .bind(new.name)
    .bind(KeyHash::of(plain).bytes().as_slice())
    .bind(plain.hint())
    .bind(fields.group.name())
    .bind(&fields.models)
    .bind(&fields.endpoints)
    .bind(&fields.platforms)
    .bind(&fields.addresses)
    .bind(&fields.regions)
    .bind(fields.requests_per_minute)
    .bind(fields.tokens_per_minute)
    .bind(fields.concurrent_calls)
    .bind(fields.strict)
    .bind(fields.fit_to_balance)
    .bind(fields.zero_retention)
    .bind(fields.on_disconnect.map(OnDisconnect::as_str))
    .bind(fields.policy.map(RoutePolicy::as_str))
    .bind(fields.max_price.input.map(Money::nanos))
    .bind(fields.max_price.output.map(Money::nanos))
    .bind(fields.max_price.unit.map(Money::nanos))
    .bind(&fields.residencies)
    .bind(fields.upstream_zero_retention)
    .bind(fields.expires_at.map(to_sql_time))
    .bind(number)
    .fetch_one(&mut **tx)
    .await?;
    key_of(&row)
}

pub(super) async fn find(connection: &mut PgConnection, id: KeyId) -> Result<Option<Key>, DbError> {
    let row = sqlx::query(
        "SELECT id, account_id, parent_id, name, key_hash, hint, group_name, models, endpoints,
             platforms, addresses::text[] AS addresses, regions, requests_per_minute,
             tokens_per_minute, concurrent_calls, strict, fit_to_balance, zero_retention, on_disconnect, policy, max_input_nanos,
             max_output_nanos, max_unit_nanos, residencies, upstream_zero_retention, expires_at,
             revoked_at, disabled_at, previous_hash, previous_until, deleted_at, created_at, revision
         FROM app.api_key WHERE id = $1",
    )
    .bind(id.number())
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(key_of).transpose()
}

pub(super) async fn list(
    connection: &mut PgConnection,
    account: AccountId,
    after: Option<KeyId>,
    limit: u32,
) -> Result<Vec<Key>, DbError> {
    let rows = sqlx::query(
        "SELECT id, account_id, parent_id, name, key_hash, hint, group_name, models, endpoints,
             platforms, addresses::text[] AS addresses, regions, requests_per_minute,
             tokens_per_minute, concurrent_calls, strict, fit_to_balance, zero_retention, on_disconnect, policy, max_input_nanos,
             max_output_nanos, max_unit_nanos, residencies, upstream_zero_retention, expires_at,
             revoked_at, disabled_at, previous_hash, previous_until, deleted_at, created_at, revision
         FROM app.api_key WHERE account_id = $1 AND id > $2 AND deleted_at IS NULL ORDER BY id LIMIT $3",
    )
    .bind(account.number())
    .bind(after.map_or(0, KeyId::number))
    .bind(i64::from(limit))
    .fetch_all(connection)
    .await?;
    rows.iter().map(key_of).collect()
}

pub(super) fn key_of(row: &PgRow) -> Result<Key, DbError> {
    let parent: Option<i64> = row.try_get("parent_id")?;
    let previous: Option<Vec<u8>> = row.try_get("previous_hash")?;
    let previous = previous.map(hash_of).transpose()?;
    let until = moment(row, "previous_until")?;
    Ok(Key {
        id: KeyId::new(row.try_get("id")?),
        account: AccountId::new(row.try_get("account_id")?),
        parent: parent.map(KeyId::new),
        name: row.try_get("name")?,
        hash: hash_of(row.try_get("key_hash")?)?,
        hint: row.try_get("hint")?,
        policy: Policy::of_row(PolicyFields {
            expires_at: moment(row, "expires_at")?,
            ..policy_of(row)?
        }),
        created_at: from_sql_time(row.try_get("created_at")?),
        revoked_at: moment(row, "revoked_at")?,
        disabled_at: moment(row, "disabled_at")?,
        previous: previous.zip(until),
        deleted_at: moment(row, "deleted_at")?,
        revision: row.try_get("revision")?,
    })
}

/// The policy of a row, but for its end.
pub(super) fn policy_of(row: &PgRow) -> Result<PolicyFields, DbError> {
    Ok(PolicyFields {
        group: KeyGroup::of_word(row.try_get("group_name")?),
        models: row.try_get("models")?,
        endpoints: row.try_get("endpoints")?,
        platforms: row.try_get("platforms")?,
        addresses: row.try_get("addresses")?,
        regions: row.try_get("regions")?,
        requests_per_minute: row.try_get("requests_per_minute")?,
        tokens_per_minute: row.try_get("tokens_per_minute")?,
        concurrent_calls: row.try_get("concurrent_calls")?,
        strict: row.try_get("strict")?,
        fit_to_balance: row.try_get("fit_to_balance")?,
        zero_retention: row.try_get("zero_retention")?,
        on_disconnect: on_disconnect_of(row.try_get("on_disconnect")?)?,
        policy: route_policy_of(row.try_get("policy")?)?,
        max_price: MaxPrice {
            input: amount(row, "max_input_nanos")?,
            output: amount(row, "max_output_nanos")?,
            unit: amount(row, "max_unit_nanos")?,
        },
        residencies: row.try_get("residencies")?,
        upstream_zero_retention: row.try_get("upstream_zero_retention")?,
        expires_at: None,
    })
}

fn on_disconnect_of(word: Option<String>) -> Result<Option<OnDisconnect>, DbError> {
    let wrong = || DbError::from(sqlx::Error::Decode("on_disconnect is no known word".into()));
    let read = |word: String| OnDisconnect::of_word(&word).ok_or_else(wrong);
    word.map(read).transpose()
}

fn route_policy_of(word: Option<String>) -> Result<Option<RoutePolicy>, DbError> {
    let wrong = || DbError::from(sqlx::Error::Decode("policy is no known word".into()));
    let read = |word: String| RoutePolicy::of_word(&word).ok_or_else(wrong);
    word.map(read).transpose()
}

fn amount(row: &PgRow, name: &str) -> Result<Option<Money>, DbError> {
    let nanos: Option<i64> = row.try_get(name)?;
    Ok(nanos.map(Money::from_nanos))
}

pub(super) fn hash_of(bytes: Vec<u8>) -> Result<KeyHash, DbError> {
    let wrong = |_| DbError::from(sqlx::Error::Decode("a key's hash has not 32 bytes".into()));
    Ok(KeyHash(bytes.try_into().map_err(wrong)?))
}

pub(super) fn moment(row: &PgRow, name: &str) -> Result<Option<Timestamp>, DbError> {
    let at: Option<OffsetDateTime> = row.try_get(name)?;
    Ok(at.map(from_sql_time))
}
