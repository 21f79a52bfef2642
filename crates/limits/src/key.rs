//! What is counted: names that cost nothing to make, and become a text only on their way to Redis.

use std::fmt;
use std::sync::Arc;

/// Whose counters these are. All counters of one call have one group, and so one place in a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CounterGroup {
    word: &'static str,
    number: i64,
}

/// What a counter is about, within its group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CounterKey {
    /// The sort of thing: a key, a model.
    pub scope: &'static str,
    /// Which one.
    pub id: ScopeId,
    /// What of it is counted.
    pub kind: CounterKind,
}

/// Which of its scope.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ScopeId {
    /// By number.
    Number(i64),
    /// By name.
    Text(Arc<str>),
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CounterKind {
    /// Requests in a window.
    Requests,
    /// Tokens in a window.
    Tokens,
    /// Things at once.
    Concurrent,
}

/// So much of one counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterCost {
    /// Which counter.
    pub key: CounterKey,
    /// What it may reach.
    pub limit: u64,
    /// How much is wanted.
    pub amount: u64,
}

// === impl CounterGroup ===

impl CounterGroup {
    /// The counters of such a thing with such a number.
    #[must_use]
    pub const fn new(word: &'static str, number: i64) -> Self {
        Self { word, number }
    }

    /// What spreads groups over shards: neighbours are in different ones.
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
    /// The counter's key in Redis. Only what stands in braces decides about its place in a cluster.
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
    /// What is taken at admission. More than the whole limit is never there: such a call takes all of a
    /// fresh window, and the rest is counted when it is known.
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
