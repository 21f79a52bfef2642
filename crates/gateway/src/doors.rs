//! Every key in memory. A lookup asks nobody, so an unknown key is truly unknown and a database that
//! is away locks nobody out; changes are followed by their numbers.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;
use trunkline_db::{Database, DbError};
use trunkline_store::accounts::{self, Account};
use trunkline_store::keys::{self, Key, KeyHash, PAGE_MAX_ROWS, Seen};
use trunkline_terms::{AccountId, ApiKey, KeyId};

/// The key table of one node.
#[derive(Debug)]
pub(crate) struct Doors {
    inner: RwLock<Inner>,
}

#[derive(Debug)]
struct Inner {
    keys: HashMap<KeyHash, Arc<Key>>,
    accounts: HashMap<AccountId, Arc<Account>>,
    seen_keys: Seen,
    seen_accounts: (i64, AccountId),
    compared: Option<Instant>,
}

/// What the table says of a key.
#[derive(Debug)]
pub(crate) enum Found {
    /// Both rows.
    Known(Arc<Key>, Arc<Account>),
    /// There is no such key.
    Unknown,
    /// Nobody knows: the table was never read, or is too old to be trusted.
    TooOld,
}

impl Doors {
    pub(crate) fn new() -> Self {
        Self {
            inner: RwLock::new(Inner {
                keys: HashMap::new(),
                accounts: HashMap::new(),
                seen_keys: Seen {
                    revision: 0,
                    key: KeyId::new(0),
                },
                seen_accounts: (0, AccountId::new(0)),
                compared: None,
            }),
        }
    }

    pub(crate) fn find(&self, key: &ApiKey, stale_after: Duration) -> Found {
        self.find_hash(&KeyHash::of(key), stale_after)
    }

    /// What it says now of a key that was found before.
    pub(crate) fn find_hash(&self, hash: &KeyHash, stale_after: Duration) -> Found {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        if inner.compared.is_none_or(|at| at.elapsed() > stale_after) {
            return Found::TooOld;
        }
        let Some(key) = inner.keys.get(hash) else {
            return Found::Unknown;
        };
        match inner.accounts.get(&key.account) {
            Some(account) => Found::Known(Arc::clone(key), Arc::clone(account)),
            None => Found::TooOld,
        }
    }

    /// An account, whoever asks.
    pub(crate) fn account(&self, account: AccountId) -> Option<Arc<Account>> {
        self.read(|inner| inner.accounts.get(&account).map(Arc::clone))
    }

    /// Whether it was read at all, for readiness.
    pub(crate) fn is_read(&self) -> bool {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.compared.is_some()
    }

    /// How long ago it was last compared with the database, and how many keys it holds.
    pub(crate) fn age(&self) -> (Option<Duration>, usize) {
        self.read(|inner| {
            let age = inner.compared.map(|at| at.elapsed());
            (age, inner.keys.len())
        })
    }

    /// Takes over what has changed.
    pub(crate) async fn follow(&self, database: &Database) -> Result<(), DbError> {
        let began = Instant::now();
        let mut session = database.session().await?;
        // Accounts first: a key must never be there without its account.
        loop {
            let seen = self.read(|inner| inner.seen_accounts);
            let rows = accounts::changed_since(&mut session, seen, PAGE_MAX_ROWS).await?;
            let last = rows.len();
            self.write(|inner| {
                for row in rows {
                    inner.seen_accounts = (row.revision, row.id);
                    inner.accounts.insert(row.id, Arc::new(row));
                }
            });
            if last == 0 {
                break;
            }
        }
        loop {
            let seen = self.read(|inner| inner.seen_keys);
            let rows = keys::changed_since(&mut session, seen, PAGE_MAX_ROWS).await?;
            let last = rows.len();
            self.write(|inner| {
                for row in rows {
                    inner.seen_keys = row.seen();
                    inner.keys.insert(row.hash, Arc::new(row));
                }
            });
            if last == 0 {
                break;
            }
        }
        self.write(|inner| inner.compared = Some(began));
        Ok(())
    }

    fn read<T>(&self, look: impl FnOnce(&Inner) -> T) -> T {
        look(&self.inner.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        change(&mut self.inner.write().unwrap_or_else(PoisonError::into_inner))
    }
}
