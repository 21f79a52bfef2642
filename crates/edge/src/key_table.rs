//! Every key in memory. A lookup does no I/O, so an unknown key is truly unknown and a database outage
//! locks no caller out; changes are followed by their numbers, and now and then the whole is
//! compared with the tables, by count and sum.

mod table;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use trunkline_db::{Database, DbError, Session};
use trunkline_store::Policy;
use trunkline_store::accounts::{self, Account};
use trunkline_store::keys::{self, FOLLOW_MAX_ROWS, KeyCursor, KeyHash};
use trunkline_store::table_checksum::TableChecksum;
use trunkline_types::{AccountId, KeyId, Timestamp};

use self::table::Table;

pub use self::table::KeyTableStats;
pub use self::table::{KeyEntry, KeyStatus};

/// How often memory is compared with the tables.
const RECOUNT_EVERY: Duration = Duration::from_secs(60);
/// How often a comparison is begun again because the tables changed meanwhile.
const RECOUNT_TRIES: usize = 5;

/// The key table of one node.
#[derive(Debug)]
pub struct KeyTable {
    inner: RwLock<Inner>,
    /// Held by the task that follows changes, so that what is seen is always whole.
    following: Mutex<Recounted>,
    recounts: AtomicU64,
    mended: AtomicU64,
}

#[derive(Debug, Default)]
struct Inner {
    table: Table,
    compared: Option<Instant>,
}

/// When memory was last compared with the tables.
#[derive(Debug, Default)]
struct Recounted(Option<Instant>);

/// What the table says of a key.
#[derive(Debug)]
pub enum Found {
    /// The key, how it stands, and whose it is.
    Known(KeyEntry, KeyStatus, Arc<Account>),
    /// There is no such key.
    Unknown,
    /// Unknown: the table was never read, or is too old to be trusted.
    TooOld,
}

/// What a comparison with the tables came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconcile {
    /// Memory holds what the tables hold.
    Same,
    /// It did not; everything was read anew.
    Mended,
    /// The tables changed too often to be compared.
    Busy,
}

impl KeyTable {
    pub(crate) fn new() -> Self {
        Self {
            inner: RwLock::default(),
            following: Mutex::default(),
            recounts: AtomicU64::new(0),
            mended: AtomicU64::new(0),
        }
    }

    /// What it says now of a key.
    pub(crate) fn find_hash(&self, hash: &KeyHash, stale_after: Duration, now: Timestamp) -> Found {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        if inner.compared.is_none_or(|at| at.elapsed() > stale_after) {
            return Found::TooOld;
        }
        let Some((key, standing, account)) = inner.table.find(hash, now) else {
            return Found::Unknown;
        };
        match inner.table.accounts.get(&account) {
            Some(account) => Found::Known(key, standing, Arc::clone(account)),
            None => Found::TooOld,
        }
    }

    /// The keys above a key and their policies, the nearest first.
    pub(crate) fn above(&self, key: &KeyEntry) -> Vec<(KeyId, Arc<Policy>)> {
        match key.parent {
            None => Vec::new(),
            Some(parent) => self.read(|inner| inner.table.family(parent)),
        }
    }

    pub fn account(&self, account: AccountId) -> Option<Arc<Account>> {
        self.read(|inner| inner.table.accounts.get(&account).map(Arc::clone))
    }

    /// What a key may be used for, whatever its state.
    pub fn policy(&self, key: KeyId) -> Option<Arc<Policy>> {
        self.read(|inner| inner.table.policy(key))
    }

    /// Whether it was read at all, for readiness.
    pub(crate) fn is_read(&self) -> bool {
        self.read(|inner| inner.compared.is_some())
    }

    /// How long ago it was last compared with the database, and how many keys it holds.
    pub fn age(&self) -> (Option<Duration>, usize) {
        self.read(|inner| {
            let age = inner.compared.map(|at| at.elapsed());
            (age, inner.table.len())
        })
    }

    pub fn sizes(&self) -> KeyTableStats {
        self.read(|inner| inner.table.sizes())
    }

    /// How often it was compared with the tables, and how often it had to be read anew.
    pub fn recounts(&self) -> (u64, u64) {
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        (count(&self.recounts), count(&self.mended))
    }

    /// Takes over what has changed.
    pub async fn follow(&self, database: &Database) -> Result<(), DbError> {
        let turn = self.following.lock().await;
        let mut session = database.session().await?;
        self.follow_in(&mut session).await?;
        drop(turn);
        Ok(())
    }

    /// Nothing was written between the last comparison and this moment.
    pub fn are_as_compared(&self, at: Instant) {
        self.write(|inner| inner.compared = inner.compared.max(Some(at)));
    }

    /// Compares memory with the tables, if that was not done for a while.
    pub async fn recount_in_time(&self, database: &Database) -> Result<(), DbError> {
        let last = self.following.lock().await.0;
        if last.is_some_and(|at| at.elapsed() < RECOUNT_EVERY) {
            return Ok(());
        }
        self.recount(database).await.map(drop)
    }

    /// Compares memory with the tables by count and sum; where they differ, reads everything anew.
    pub async fn recount(&self, database: &Database) -> Result<Reconcile, DbError> {
        let mut turn = self.following.lock().await;
        let mut session = database.session().await?;
        for _ in 0..RECOUNT_TRIES {
            self.follow_in(&mut session).await?;
            let held = self.read(|inner| (inner.table.account_tally, inner.table.key_tally));
            let accounts = accounts::checksum(&mut session).await?;
            let there = (accounts, keys::checksum(&mut session).await?);
            // Something was written since: what is held cannot be compared with it.
            if is_newer(there.0, held.0) || is_newer(there.1, held.1) {
                continue;
            }
            turn.0 = Some(Instant::now());
            self.recounts.fetch_add(1, Ordering::Relaxed);
            if held == there {
                return Ok(Reconcile::Same);
            }
            self.mended.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                ?held,
                ?there,
                "key table check: memory and database differ; reloading all keys and accounts"
            );
            self.read_anew(&mut session).await?;
            return Ok(Reconcile::Mended);
        }
        Ok(Reconcile::Busy)
    }

    async fn follow_in(&self, session: &mut Session) -> Result<(), DbError> {
        let began = Instant::now();
        // Accounts first: a key must never be there without its account.
        loop {
            let rows = next_accounts(session, self.read(|inner| inner.table.seen_accounts)).await?;
            if rows.is_empty() {
                break;
            }
            self.write(|inner| {
                rows.into_iter()
                    .for_each(|row| inner.table.put_account(row))
            });
        }
        let mut changed = false;
        loop {
            let rows = next_keys(session, self.read(|inner| inner.table.seen_keys)).await?;
            if rows.is_empty() {
                break;
            }
            changed = true;
            self.write(|inner| rows.into_iter().for_each(|row| inner.table.put(row)));
        }
        self.write(|inner| {
            if changed {
                inner.table.sweep();
            }
            inner.compared = Some(began);
        });
        Ok(())
    }

    /// Into a table of its own, which takes the old one's place when it is whole.
    async fn read_anew(&self, session: &mut Session) -> Result<(), DbError> {
        let began = Instant::now();
        let mut table = Table::default();
        loop {
            let rows = next_accounts(session, table.seen_accounts).await?;
            if rows.is_empty() {
                break;
            }
            rows.into_iter().for_each(|row| table.put_account(row));
        }
        loop {
            let rows = next_keys(session, table.seen_keys).await?;
            if rows.is_empty() {
                break;
            }
            rows.into_iter().for_each(|row| table.put(row));
        }
        let before = self.write(|inner| {
            inner.compared = Some(began);
            std::mem::replace(&mut inner.table, table)
        });
        drop(before);
        Ok(())
    }

    fn read<T>(&self, look: impl FnOnce(&Inner) -> T) -> T {
        look(&self.inner.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        change(&mut self.inner.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether a table has a number that the copy has not seen. One that is older is a difference.
const fn is_newer(there: TableChecksum, held: TableChecksum) -> bool {
    there.newest > held.newest
}

async fn next_accounts(
    session: &mut Session,
    seen: Option<(i64, AccountId)>,
) -> Result<Vec<Account>, DbError> {
    let (revision, account) = seen.unwrap_or((0, AccountId::new(0)));
    accounts::changed_since(session, revision, account, FOLLOW_MAX_ROWS).await
}

async fn next_keys(
    session: &mut Session,
    seen: Option<KeyCursor>,
) -> Result<Vec<keys::KeySnapshotRow>, DbError> {
    keys::changed_since(session, seen.unwrap_or(KeyCursor::START), FOLLOW_MAX_ROWS).await
}
