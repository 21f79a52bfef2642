//! The key table itself, kept small: a key is one slim entry that is found by the hash of its secret or
//! by its number. Policies are shared, because many keys have the same one; what is only shown, such as a
//! name, is not here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hashbrown::HashTable;
use trunkline_store::Policy;
use trunkline_store::accounts::Account;
use trunkline_store::keys::{KeyCursor, KeyHash, KeySnapshotRow};
use trunkline_store::table_checksum::TableChecksum;
use trunkline_types::{AccountId, Defect, KeyId, OwnKeyMap, Timestamp};

/// Entries of one block. The table grows by blocks and never moves an entry, so it needs no memory for a
/// second copy of itself.
const BLOCK: usize = 4_096;
/// Keys above a key at most, one more than the ledger lets there be.
const MOST_ABOVE: usize = 8;
const NO_PARENT: i64 = 0;
const NO_END: i64 = i64::MAX;
/// What an entry takes in a hash table: its place and a byte of its hash.
const BUCKET_BYTES: usize = 5;

#[derive(Debug)]
struct Entry {
    hash: KeyHash,
    policy: Arc<Policy>,
    id: i64,
    account: i64,
    parent: i64,
    ends_micros: i64,
    revision: i64,
    revoked: bool,
    disabled: bool,
}

/// A key as a caller carries it.
#[derive(Debug, Clone)]
pub struct KeyEntry {
    pub id: KeyId,
    pub parent: Option<KeyId>,
    /// Of the secret that was sent.
    pub hash: KeyHash,
    /// Without its end: that is told by the standing.
    pub policy: Arc<Policy>,
}

/// Whether a key is valid now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStatus {
    Live,
    Disabled,
    Expired,
    Revoked,
    /// The secret was replaced, and its overlap is over.
    Replaced,
    /// A key above it is switched off.
    DisabledAbove,
    /// A key above it is over.
    ExpiredAbove,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyTableStats {
    pub keys: usize,
    pub policies: usize,
    /// Bytes of entries and of what finds them, without policies.
    pub bytes: usize,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    blocks: Vec<Vec<Entry>>,
    by_hash: HashTable<u32>,
    by_id: HashTable<u32>,
    /// Secrets that were replaced: the place of their key, and until when they are good.
    previous: HashMap<KeyHash, (u32, Timestamp)>,
    /// The same by place.
    rotated: HashMap<u32, KeyHash>,
    policies: HashSet<Arc<Policy>>,
    pub(super) accounts: OwnKeyMap<AccountId, Arc<Account>>,
    pub(super) seen_keys: Option<KeyCursor>,
    pub(super) seen_accounts: Option<(i64, AccountId)>,
    pub(super) key_tally: TableChecksum,
    pub(super) account_tally: TableChecksum,
}

// === impl Table ===

impl Table {
    /// A key by the hash of a secret, its standing, and whose it is. One lookup for most, a second for a
    /// replaced secret, and one for each key above.
    pub(super) fn find(
        &self,
        hash: &KeyHash,
        now: Timestamp,
    ) -> Option<(KeyEntry, KeyStatus, AccountId)> {
        let current = self.index_of_hash(hash).map(|index| (index, None));
        let replaced = || {
            let (index, until) = self.previous.get(hash)?;
            Some((*index, Some(*until)))
        };
        let (index, until) = current.or_else(replaced)?;
        let entry = self.at(index)?;
        let standing = match until {
            Some(until) if until <= now && !entry.revoked => KeyStatus::Replaced,
            Some(_) | None => self.standing(entry, now),
        };
        let known = KeyEntry {
            id: KeyId::new(entry.id),
            parent: (entry.parent != NO_PARENT).then(|| KeyId::new(entry.parent)),
            hash: *hash,
            policy: Arc::clone(&entry.policy),
        };
        Some((known, standing, AccountId::new(entry.account)))
    }

    /// The policy of a key, whatever its standing.
    pub(super) fn policy(&self, id: KeyId) -> Option<Arc<Policy>> {
        let entry = self.at(self.index_of_id(id.number())?)?;
        Some(Arc::clone(&entry.policy))
    }

    /// A key and those above it, itself first.
    pub(super) fn family(&self, id: KeyId) -> Vec<(KeyId, Arc<Policy>)> {
        let of = |id: i64| self.at(self.index_of_id(id)?);
        let next = |entry: &&Entry| of(entry.parent);
        let family = std::iter::successors(of(id.number()), next).take(MOST_ABOVE);
        family
            .map(|entry| (KeyId::new(entry.id), Arc::clone(&entry.policy)))
            .collect()
    }

    fn standing(&self, entry: &Entry, now: Timestamp) -> KeyStatus {
        if entry.revoked && !Defect::StaleKeyAccepted.is_on() {
            return KeyStatus::Revoked;
        }
        if entry.disabled {
            return KeyStatus::Disabled;
        }
        if entry.ends_micros <= now.micros() {
            return KeyStatus::Expired;
        }
        let mut parent = entry.parent;
        for _ in 0..MOST_ABOVE {
            if parent == NO_PARENT {
                return KeyStatus::Live;
            }
            // A parent is read before its child is made; one that is not here is not known to be live.
            let Some(above) = self.index_of_id(parent).and_then(|index| self.at(index)) else {
                return KeyStatus::DisabledAbove;
            };
            if above.revoked || above.disabled {
                return KeyStatus::DisabledAbove;
            }
            if above.ends_micros <= now.micros() {
                return KeyStatus::ExpiredAbove;
            }
            parent = above.parent;
        }
        KeyStatus::Live
    }

    pub(super) fn put(&mut self, row: KeySnapshotRow) {
        self.seen_keys = Some(row.cursor());
        let policy = self.shared(row.policy);
        let entry = Entry {
            hash: row.hash,
            policy,
            id: row.id.number(),
            account: row.account.number(),
            parent: row.parent.map_or(NO_PARENT, KeyId::number),
            ends_micros: row.expires_at.map_or(NO_END, Timestamp::micros),
            revision: row.revision,
            revoked: row.revoked,
            disabled: row.disabled,
        };
        let index = match self.index_of_id(entry.id) {
            Some(index) => {
                self.replace(index, entry);
                index
            }
            None => {
                self.key_tally.add(entry.id, None, entry.revision);
                self.push(entry)
            }
        };
        if let Some((hash, until)) = row.previous {
            self.previous.insert(hash, (index, until));
            self.rotated.insert(index, hash);
        }
    }

    pub(super) fn put_account(&mut self, row: Account) {
        self.seen_accounts = Some((row.revision, row.id));
        let before = self.accounts.get(&row.id).map(|known| known.revision);
        self.account_tally
            .add(row.id.number(), before, row.revision);
        self.accounts.insert(row.id, Arc::new(row));
    }

    /// Forgets policies that no key has any more.
    pub(super) fn sweep(&mut self) {
        self.policies.retain(|policy| Arc::strong_count(policy) > 1);
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn sizes(&self) -> KeyTableStats {
        let block = BLOCK.saturating_mul(size_of::<Entry>());
        let buckets = self
            .by_hash
            .capacity()
            .saturating_add(self.by_id.capacity());
        // A bucket in eight stays empty.
        let buckets = buckets.saturating_mul(8).div_euclid(7);
        let entries = self.blocks.len().saturating_mul(block);
        KeyTableStats {
            keys: self.len(),
            policies: self.policies.len(),
            bytes: entries.saturating_add(buckets.saturating_mul(BUCKET_BYTES)),
        }
    }

    fn shared(&mut self, policy: Policy) -> Arc<Policy> {
        if let Some(known) = self.policies.get(&policy) {
            return Arc::clone(known);
        }
        let policy = Arc::new(policy);
        self.policies.insert(Arc::clone(&policy));
        policy
    }

    fn push(&mut self, entry: Entry) -> u32 {
        let index = u32::try_from(self.len()).unwrap_or(u32::MAX);
        let (hash, id) = (mark(&entry.hash), mark_of_id(entry.id));
        match self.blocks.last_mut().filter(|block| block.len() < BLOCK) {
            Some(block) => block.push(entry),
            None => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(entry);
                self.blocks.push(block);
            }
        }
        let blocks = &self.blocks;
        self.by_hash.insert_unique(hash, index, |index| {
            entry_at(blocks, *index).map_or(0, |entry| mark(&entry.hash))
        });
        self.by_id.insert_unique(id, index, |index| {
            entry_at(blocks, *index).map_or(0, |entry| mark_of_id(entry.id))
        });
        index
    }

    fn replace(&mut self, index: u32, entry: Entry) {
        if let Some(old) = self.rotated.remove(&index) {
            self.previous.remove(&old);
        }
        let Some(before) = entry_at(&self.blocks, index) else {
            return;
        };
        self.key_tally
            .add(entry.id, Some(before.revision), entry.revision);
        let (old, new) = (before.hash, entry.hash);
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        let (block, inside) = (at.div_euclid(BLOCK), at.rem_euclid(BLOCK));
        let slot = self
            .blocks
            .get_mut(block)
            .and_then(|block| block.get_mut(inside));
        if let Some(slot) = slot {
            *slot = entry;
        }
        if old != new {
            if let Ok(found) = self.by_hash.find_entry(mark(&old), |other| *other == index) {
                let (_place, _vacant) = found.remove();
            }
            let blocks = &self.blocks;
            self.by_hash.insert_unique(mark(&new), index, |index| {
                entry_at(blocks, *index).map_or(0, |entry| mark(&entry.hash))
            });
        }
    }

    fn at(&self, index: u32) -> Option<&Entry> {
        entry_at(&self.blocks, index)
    }

    fn index_of_hash(&self, hash: &KeyHash) -> Option<u32> {
        let same = |index: &u32| self.at(*index).is_some_and(|entry| entry.hash == *hash);
        self.by_hash.find(mark(hash), same).copied()
    }

    fn index_of_id(&self, id: i64) -> Option<u32> {
        let same = |index: &u32| self.at(*index).is_some_and(|entry| entry.id == id);
        self.by_id.find(mark_of_id(id), same).copied()
    }
}

fn entry_at(blocks: &[Vec<Entry>], index: u32) -> Option<&Entry> {
    let index = usize::try_from(index).ok()?;
    let block = blocks.get(index.div_euclid(BLOCK))?;
    block.get(index.rem_euclid(BLOCK))
}

/// A hash is random already; its beginning is as good as another.
fn mark(hash: &KeyHash) -> u64 {
    let first = hash.bytes().iter().take(8);
    first.fold(0, |mark, byte| (mark << 8) | u64::from(*byte))
}

fn mark_of_id(id: i64) -> u64 {
    crate::splitmix::mix(&mut id.cast_unsigned())
}

#[cfg(test)]
mod tests;
