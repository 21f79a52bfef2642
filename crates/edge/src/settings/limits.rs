//! What keys may do where no one has set their limits.

/// Limits of a key that has none of its own. The operator can set each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// Calls of a key in a minute.
    pub requests_per_minute: u64,
    /// Calls of a key at once.
    pub concurrent_calls: u64,
    /// Questions of a key about its tasks in a minute, counted apart.
    pub polls_per_minute: u64,
    /// Everything else that a key may ask in a minute: models, usage, quotes, keys. Counted apart too.
    pub reads_per_minute: u64,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            requests_per_minute: 600,
            concurrent_calls: 64,
            polls_per_minute: 3_000,
            reads_per_minute: 3_000,
        }
    }
}
