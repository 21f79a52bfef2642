//! Rows of the key snapshot that nodes keep in memory: what authentication needs, and nothing for
//! display.

use sqlx::{PgConnection, Row as _};
use trunkline_db::DbError;
use trunkline_types::{AccountId, KeyId, Timestamp};

use super::{KeyCursor, KeyHash, rows};
use crate::policy::Policy;
use crate::table_checksum::TableChecksum;

/// Most rows of one page for a follower. Larger than a list's page: a starting node reads the whole
/// table, and each page costs a round trip.
pub const FOLLOW_MAX_ROWS: u32 = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySnapshotRow {
    pub id: KeyId,
    pub account: AccountId,
    pub parent: Option<KeyId>,
    /// The SHA-256 of the key.
    pub hash: KeyHash,
    /// The previous secret, and until when it is accepted.
    pub previous: Option<(KeyHash, Timestamp)>,
    /// Its policy without the expiry: many keys share a policy, few share an expiry.
    pub policy: Policy,
    pub expires_at: Option<Timestamp>,
    pub revoked: bool,
    /// Whether it is switched off.
    pub disabled: bool,
    /// The number of its last change.
    pub revision: i64,
}

/// Keys that changed after a cursor, in the order in which they became visible. At most
/// [`FOLLOW_MAX_ROWS`]: continue from the last row until the page is empty.
pub async fn changed_since(
    connection: &mut PgConnection,
    cursor: KeyCursor,
    limit: u32,
) -> Result<Vec<KeySnapshotRow>, DbError> {
    let found = sqlx::query(
        "SELECT id, account_id, parent_id, key_hash, group_name, models, endpoints, platforms,
             addresses::text[] AS addresses, regions, requests_per_minute, tokens_per_minute,
             concurrent_calls, strict, fit_to_balance, zero_retention, on_disconnect, policy, max_input_nanos,
             max_output_nanos, max_unit_nanos, residencies, upstream_zero_retention, expires_at,
             revoked_at IS NOT NULL AS revoked, disabled_at IS NOT NULL AS disabled, previous_hash,
             previous_until, revision
         FROM app.api_key WHERE (revision, id) > ($1, $2) ORDER BY revision, id LIMIT $3",
    )
    .bind(cursor.revision)
    .bind(cursor.key.number())
    .bind(i64::from(limit.min(FOLLOW_MAX_ROWS)))
    .fetch_all(connection)
    .await?;
    let mut keys = Vec::with_capacity(found.len());
    for row in &found {
        let parent: Option<i64> = row.try_get("parent_id")?;
        let previous: Option<Vec<u8>> = row.try_get("previous_hash")?;
        let previous = previous.map(rows::hash_of).transpose()?;
        keys.push(KeySnapshotRow {
            id: KeyId::new(row.try_get("id")?),
            account: AccountId::new(row.try_get("account_id")?),
            parent: parent.map(KeyId::new),
            hash: rows::hash_of(row.try_get("key_hash")?)?,
            previous: previous.zip(rows::moment(row, "previous_until")?),
            policy: Policy::of_row(rows::policy_of(row)?),
            expires_at: rows::moment(row, "expires_at")?,
            revoked: row.try_get("revoked")?,
            disabled: row.try_get("disabled")?,
            revision: row.try_get("revision")?,
        });
    }
    Ok(keys)
}

/// Count of keys, and the checksum over their ids and revisions.
pub async fn checksum(connection: &mut PgConnection) -> Result<TableChecksum, DbError> {
    TableChecksum::of_table(
        connection,
        "SELECT count(*) AS count, COALESCE(max(revision), 0) AS newest,
             COALESCE(sum((id % 2147483647 + 1) * (revision % 2147483647 + 7) % 2147483647), 0)::bigint AS sum
         FROM app.api_key",
    )
    .await
}

// === impl KeySnapshotRow ===

impl KeySnapshotRow {
    /// The position after this row.
    #[must_use]
    pub const fn cursor(&self) -> KeyCursor {
        KeyCursor {
            revision: self.revision,
            key: self.id,
        }
    }
}
