//! The table finds every key by its secrets and its number, and nothing else.

use trunkline_store::PolicyFields;
use trunkline_types::{ApiKey, Shard};

use super::*;

fn hash(secret: u8) -> KeyHash {
    KeyHash::of(&ApiKey::new(Shard::new(1).unwrap(), &[secret; 32]))
}

fn row(id: i64, secret: u8, revision: i64) -> KeySnapshotRow {
    KeySnapshotRow {
        id: KeyId::new(id),
        account: AccountId::new(1_000),
        parent: None,
        hash: hash(secret),
        previous: None,
        policy: Policy::new(PolicyFields::default()).unwrap(),
        expires_at: None,
        revoked: false,
        disabled: false,
        revision,
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn standing(table: &Table, secret: u8, now: Timestamp) -> Option<KeyStatus> {
    table
        .find(&hash(secret), now)
        .map(|(_, standing, _)| standing)
}

#[test]
fn a_rotated_key_is_found_by_both_secrets_until_the_overlap_ends() {
    let mut table = Table::default();
    table.put(row(7, 1, 1));
    table.put(KeySnapshotRow {
        previous: Some((hash(1), at(100))),
        ..row(7, 2, 2)
    });
    assert_eq!(standing(&table, 1, at(99)), Some(KeyStatus::Live));
    assert_eq!(standing(&table, 1, at(100)), Some(KeyStatus::Replaced));
    assert_eq!(standing(&table, 2, at(100)), Some(KeyStatus::Live));
    table.put(KeySnapshotRow {
        previous: Some((hash(2), at(100))),
        ..row(7, 3, 3)
    });
    assert_eq!(
        standing(&table, 1, at(1)),
        None,
        "the overlap before is over"
    );
    assert_eq!(standing(&table, 2, at(1)), Some(KeyStatus::Live));
    assert_eq!(standing(&table, 3, at(1)), Some(KeyStatus::Live));
    assert_eq!(table.len(), 1);
}

#[test]
fn a_key_stands_as_the_keys_above_it_let_it() {
    let below = |id: i64, parent: i64, secret: u8| KeySnapshotRow {
        parent: Some(KeyId::new(parent)),
        ..row(id, secret, id)
    };
    let mut table = Table::default();
    // A child may be read before its parent: that is not known to be live.
    table.put(below(3, 2, 3));
    assert_eq!(standing(&table, 3, at(1)), Some(KeyStatus::DisabledAbove));
    table.put(below(2, 1, 2));
    table.put(row(1, 1, 4));
    assert_eq!(standing(&table, 3, at(1)), Some(KeyStatus::Live));
    table.put(KeySnapshotRow {
        disabled: true,
        ..row(1, 1, 5)
    });
    assert_eq!(standing(&table, 1, at(1)), Some(KeyStatus::Disabled));
    assert_eq!(standing(&table, 3, at(1)), Some(KeyStatus::DisabledAbove));
    table.put(KeySnapshotRow {
        expires_at: Some(at(50)),
        ..row(1, 1, 6)
    });
    assert_eq!(standing(&table, 3, at(49)), Some(KeyStatus::Live));
    assert_eq!(standing(&table, 3, at(50)), Some(KeyStatus::ExpiredAbove));
    assert_eq!(standing(&table, 1, at(50)), Some(KeyStatus::Expired));
}

#[test]
fn many_keys_share_policies_and_take_about_a_hundred_bytes_each() {
    const KEYS: i64 = 20_000;
    let mut table = Table::default();
    let secret = |id: i64| {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&id.to_be_bytes());
        KeyHash::of(&ApiKey::new(Shard::new(1).unwrap(), &bytes))
    };
    for id in 1..=KEYS {
        let fields = PolicyFields {
            requests_per_minute: Some(id % 200 + 1),
            ..PolicyFields::default()
        };
        table.put(KeySnapshotRow {
            hash: secret(id),
            policy: Policy::new(fields).unwrap(),
            ..row(id, 0, id)
        });
    }
    for id in 1..=KEYS {
        let (known, standing, _) = table.find(&secret(id), at(1)).unwrap();
        assert_eq!((known.id.number(), standing), (id, KeyStatus::Live));
    }
    let sizes = table.sizes();
    assert_eq!((sizes.keys, sizes.policies), (20_000, 200));
    assert!(sizes.bytes / sizes.keys < 150, "{sizes:?}");
    assert_eq!(table.key_tally.count, KEYS);
}

#[test]
fn a_policy_that_no_key_has_any_more_is_forgotten() {
    let mut table = Table::default();
    let limited = |limit| {
        let fields = PolicyFields {
            requests_per_minute: Some(limit),
            ..PolicyFields::default()
        };
        Policy::new(fields).unwrap()
    };
    for (revision, limit) in [(1, 5), (2, 6)] {
        table.put(KeySnapshotRow {
            policy: limited(limit),
            ..row(7, 1, revision)
        });
    }
    assert_eq!(table.sizes().policies, 2);
    table.sweep();
    assert_eq!(table.sizes().policies, 1);
    assert_eq!(table.policy(KeyId::new(7)).unwrap().as_ref(), &limited(6));
}
