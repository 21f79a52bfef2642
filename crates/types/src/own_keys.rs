//! Maps whose keys are ours: accounts, models that are sold, channels, counters.

use std::collections::HashMap;

/// A map with keys that no caller can add. Its hash is cheaper than the standard one, and does not withstand a
/// caller who may insert keys that collide; looking them up does no harm.
pub type OwnKeyMap<K, V> = HashMap<K, V, OwnKeyHasher>;

/// Its hash.
pub type OwnKeyHasher = foldhash::fast::RandomState;
