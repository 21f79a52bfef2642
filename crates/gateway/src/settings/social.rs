//! How much of social data is asked for at once, and in a day.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct SocialSettings {
    /// Calls that are charged in a day (UTC), of all callers together.
    pub daily_capacity: i64,
    /// Calls to one platform that this node has under way.
    pub at_once_per_platform: usize,
    /// Longest wait for the source.
    pub wait: Duration,
    /// Largest answer of the source.
    pub max_answer_bytes: usize,
    /// The operator's own platform files, which add one or replace one.
    pub cells: Option<PathBuf>,
}

impl Default for SocialSettings {
    fn default() -> Self {
        Self {
            daily_capacity: 1_000_000,
            at_once_per_platform: 64,
            wait: Duration::from_secs(60),
            max_answer_bytes: 16_000_000,
            cells: None,
        }
    }
}
