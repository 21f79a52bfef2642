//! API keys: made, found, listed, changed_since, rotated, switched off, revoked. A row holds the SHA-256 of a
//! key and what lists show of it; the key itself is handed back to its creator and forgotten.

mod descendants;
mod lifecycle;
mod playground;
mod rows;
mod search;
mod snapshot_rows;

use std::fmt;

use sha2::{Digest as _, Sha256};
use sqlx::PgConnection;
use trunkline_db::{DbError, Tx, database_now, revision};
use trunkline_types::{AccountId, ApiKey, KeyId, Timestamp};

use crate::accounts::{self, Account};
use crate::policy::{KeyGroup, Policy};
use crate::validation::{FieldError, Problem, check_name};

pub use self::descendants::{is_descendant, list_descendants};
pub use self::lifecycle::{
    ChangeKeyError, KeyChange, OPERATOR, OVERLAP_DEFAULT_SECONDS, OVERLAP_MAX_SECONDS,
    RevokeAnswer, Rotated, change, delete, revoke, rotate, set_disabled,
};
pub use self::playground::{end_playground_key, lock_playground_key, set_playground_key};
pub use self::search::{KeysPage, KeysQuery, SEARCH_MAX_ROWS, names, of_account, search};
pub use self::snapshot_rows::{FOLLOW_MAX_ROWS, KeySnapshotRow, changed_since, checksum};

/// The topic whose numbers the rows carry.
pub const TOPIC: &str = "keys";
/// Most rows of one answer.
pub const PAGE_MAX_ROWS: u32 = 1_000;
/// Random bytes a key is made of.
pub const SECRET_BYTES: usize = 32;

/// The SHA-256 of a key's whole text: what a key is found by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash([u8; 32]);

#[derive(Debug, Clone)]
pub struct NewKey<'a> {
    pub account: AccountId,
    /// The key above it, of the same account.
    pub parent: Option<KeyId>,
    pub name: &'a str,
    /// What it may be used for.
    pub policy: Policy,
}

/// A key that was made.
#[derive(Debug)]
pub struct CreatedKey {
    pub key: Key,
    /// The key itself, to be shown once. It is kept nowhere.
    pub plain: ApiKey,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub id: KeyId,
    pub account: AccountId,
    pub parent: Option<KeyId>,
    pub name: String,
    /// The SHA-256 of the key.
    pub hash: KeyHash,
    /// The prefix and the last four characters.
    pub hint: String,
    /// What it may be used for, its parents' narrowings included.
    pub policy: Policy,
    /// When it was made, by the database's clock.
    pub created_at: Timestamp,
    /// When it was revoked, for good.
    pub revoked_at: Option<Timestamp>,
    /// Since when it is switched off.
    pub disabled_at: Option<Timestamp>,
    /// The previous secret, and until when it is accepted.
    pub previous: Option<(KeyHash, Timestamp)>,
    /// When it was deleted; lists omit it.
    pub deleted_at: Option<Timestamp>,
    /// The number of its last change.
    pub revision: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    Live,
    /// Switched off; may be switched on again.
    Disabled,
    Expired,
    Revoked,
}

/// A follower's position in the table. Several rows may share a revision, so the key's id is part
/// of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyCursor {
    /// The number of the last row read.
    pub revision: i64,
    pub key: KeyId,
}

/// Why a key was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CreateKeyError {
    /// No such account.
    #[error("there is no account {0}")]
    UnknownAccount(AccountId),
    /// The account takes no new keys.
    #[error("account {0} is closed")]
    AccountClosed(AccountId),
    /// The account may not use this group.
    #[error("account {account} is not allowed group {group:?}; its keys may name {}", allowed.join(", "))]
    GroupNotAllowed {
        account: AccountId,
        /// The group that was asked for.
        group: String,
        allowed: Vec<String>,
    },
    /// The parent is not a key of this account.
    #[error("account {account} has no key {parent} to be a parent")]
    UnknownParent { account: AccountId, parent: KeyId },
    /// The parent key is not live.
    #[error("key {parent} cannot be a parent: it is {state}")]
    ParentNotLive { parent: KeyId, state: KeyState },
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The database refused, or did not answer.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Creates a key from random bytes. The caller registers it with the ledger in the same
/// transaction.
///
/// The revision is taken first, which serialises this with a revocation of the parent: either the
/// parent is seen as revoked here, or the revocation sees the new key.
pub async fn create(
    tx: &mut Tx,
    new: &NewKey<'_>,
    secret: &[u8; SECRET_BYTES],
) -> Result<CreatedKey, CreateKeyError> {
    check_name("name", new.name)?;
    let number = revision::bump(tx, TOPIC).await?;
    let now = database_now(tx).await?;
    let account = accounts::find(tx, new.account).await?;
    let account = account.ok_or(CreateKeyError::UnknownAccount(new.account))?;
    if account.closed_at.is_some() {
        return Err(CreateKeyError::AccountClosed(account.id));
    }
    let policy = match new.parent {
        Some(parent) => {
            let parent = live_parent(tx, account.id, parent, now).await?;
            new.policy.below(&parent.policy)?
        }
        None => new.policy.clone(),
    };
    check_group(&account, &policy)?;
    if policy.fields().expires_at.is_some_and(|end| end <= now) {
        return Err(FieldError::new("expires_at", Problem::Past).into());
    }
    let plain = ApiKey::new(account.shard, secret);
    let key = rows::insert(tx, new, &policy, &plain, number).await?;
    Ok(CreatedKey { key, plain })
}

async fn live_parent(
    tx: &mut Tx,
    account: AccountId,
    parent: KeyId,
    now: Timestamp,
) -> Result<Key, CreateKeyError> {
    let found = find(tx, parent).await?;
    let key = found
        .filter(|key| key.account == account)
        .ok_or(CreateKeyError::UnknownParent { account, parent })?;
    match key.state(now) {
        KeyState::Live => Ok(key),
        state @ (KeyState::Disabled | KeyState::Expired | KeyState::Revoked) => {
            Err(CreateKeyError::ParentNotLive { parent, state })
        }
    }
}

fn check_group(account: &Account, policy: &Policy) -> Result<(), CreateKeyError> {
    match &policy.fields().group {
        KeyGroup::Named(group) if !account.may_use(group) => {
            let mut allowed = vec![account.group.clone()];
            allowed.extend(account.allowed_groups.iter().cloned());
            Err(CreateKeyError::GroupNotAllowed {
                account: account.id,
                group: group.clone(),
                allowed,
            })
        }
        KeyGroup::Named(_) | KeyGroup::OfAccount | KeyGroup::Auto => Ok(()),
    }
}

/// A key, none if there is no such one.
pub async fn find(connection: &mut PgConnection, id: KeyId) -> Result<Option<Key>, DbError> {
    rows::find(connection, id).await
}

/// The keys of an account that were not deleted, oldest first, from after a given one. At most
/// [`PAGE_MAX_ROWS`].
pub async fn list(
    connection: &mut PgConnection,
    account: AccountId,
    after: Option<KeyId>,
    limit: u32,
) -> Result<Vec<Key>, DbError> {
    rows::list(connection, account, after, limit.min(PAGE_MAX_ROWS)).await
}

// === impl KeyHash ===

impl KeyHash {
    /// The hash of a key.
    #[must_use]
    pub fn of(key: &ApiKey) -> Self {
        Self(Sha256::digest(key.reveal().as_bytes()).into())
    }

    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The hash that was stored or sealed.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for KeyHash {
    /// Without the bytes, by which a key could be recognised in logs.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyHash")
    }
}

// === impl Key ===

impl Key {
    /// Its state at a time.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> KeyState {
        if self.revoked_at.is_some() {
            return KeyState::Revoked;
        }
        if self.disabled_at.is_some() {
            return KeyState::Disabled;
        }
        if self
            .policy
            .fields()
            .expires_at
            .is_some_and(|end| end <= now)
        {
            return KeyState::Expired;
        }
        KeyState::Live
    }

    /// The position after this row.
    #[must_use]
    pub const fn cursor(&self) -> KeyCursor {
        KeyCursor {
            revision: self.revision,
            key: self.id,
        }
    }
}

// === impl KeyState ===

impl KeyState {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Disabled => "disabled",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl fmt::Display for KeyState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

// === impl KeyCursor ===

impl KeyCursor {
    /// Before the first row.
    pub const START: Self = Self {
        revision: 0,
        key: KeyId::new(0),
    };
}
