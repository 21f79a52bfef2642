//! Keys of counters: cheap values that are formatted only for Redis.

use std::fmt;
use std::sync::Arc;

/// Group of counters. All counters of one call are in one group, and so in one slot of a Redis
/// cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CounterGroup {
    word: &'static str,
    number: i64,
}

/// Key of a counter within its group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CounterKey {
    /// What is limited: a key, a model.
    pub scope: &'static str,
    pub id: ScopeId,
    /// What of it is counted.
    pub kind: CounterKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ScopeId {
    Number(i64),
    Text(Arc<str>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CounterKind {
    Requests,
    /// Tokens in a window.
    Tokens,
    Concurrent,
}

/// Cost of a call on one counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterCost {
    pub key: CounterKey,
    pub limit: u64,
    pub amount: u64,
}

// === impl CounterGroup ===

impl CounterGroup {
    /// The counters of such a thing with such a number.
    #[must_use]
    pub const fn new(word: &'static str, number: i64) -> Self {
        Self { word, number }
    }

    /// Hash that spreads groups over shards.
    pub(crate) fn spread(self) -> u64 {
        let word = u64::try_from(self.word.len()).unwrap_or(0);
        self.number
            .unsigned_abs()
            .wrapping_add(word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(23)
    }
}

impl fmt::Display for CounterGroup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{{{}:{}}}", self.word, self.number)
    }
}

// === impl CounterKey ===

impl CounterKey {
    /// The counter's key in Redis. The part in braces decides the cluster slot.
    pub(crate) fn key(&self, group: CounterGroup) -> String {
        let kind = match self.kind {
            CounterKind::Requests => "requests",
            CounterKind::Tokens => "tokens",
            CounterKind::Concurrent => "concurrent",
        };
        match &self.id {
            ScopeId::Number(number) => format!("trunkline:{group}:{}:{number}:{kind}", self.scope),
            ScopeId::Text(text) => format!("trunkline:{group}:{}:{text}:{kind}", self.scope),
        }
    }
}

// === impl CounterCost ===

impl CounterCost {
    /// What is taken at admission. A cost above the limit takes all of a fresh window, and the rest
    /// is counted when the usage is known.
    pub(crate) fn taken(&self) -> u64 {
        self.amount.min(self.limit).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_of_a_tag_has_one_place_in_a_cluster() {
        let group = CounterGroup::new("account", 7);
        let name = |id| CounterKey {
            scope: "model",
            id,
            kind: CounterKind::Tokens,
        };
        let number = name(ScopeId::Number(3)).key(group);
        assert_eq!(number, "trunkline:{account:7}:model:3:tokens");
        let odd = name(ScopeId::Text("a}{b".into())).key(group);
        assert_eq!(odd, "trunkline:{account:7}:model:a}{b:tokens");
        // A cluster reads from the first brace to the first closing one behind it.
        for key in [number, odd] {
            let inner = key.split_once('{').unwrap().1.split_once('}').unwrap().0;
            assert_eq!(inner, "account:7");
        }
    }
}
