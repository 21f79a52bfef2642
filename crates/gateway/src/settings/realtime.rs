//! Limits and waits of realtime connections.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct RealtimeSettings {
    /// Longest connection.
    pub longest: Duration,
    /// Longest time without an event of either side.
    pub idle: Duration,
    /// Between two pings. A client that sends nothing for three of them has gone.
    pub ping: Duration,
    /// How long a response that was cancelled may take to end.
    pub ending: Duration,
    /// Output tokens of a response whose client names no number.
    pub max_output_tokens: u64,
    /// Time of a connection that is held ahead and charged at once, where its model is billed by time.
    pub charged_time: Duration,
    /// Tokens of input that money is held for ahead of it.
    pub ahead_tokens: u64,
}

impl Default for RealtimeSettings {
    fn default() -> Self {
        Self {
            longest: Duration::from_secs(3_600),
            idle: Duration::from_secs(900),
            ping: Duration::from_secs(20),
            ending: Duration::from_secs(3),
            max_output_tokens: 4_096,
            charged_time: Duration::from_secs(60),
            ahead_tokens: 300,
        }
    }
}
