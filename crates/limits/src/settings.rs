//! Settings of the Redis client.

use std::time::Duration;

use trunkline_types::Secret;

/// Settings of the Redis client. The times are settings so that tests need not wait for minutes.
#[derive(Debug, Clone)]
pub struct RedisSettings {
    /// Where it is, with its login. `rediss://` speaks TLS.
    pub url: Secret,
    /// Certificates (PEM) that the server's must be signed by; none for those of the system.
    pub roots: Option<Vec<u8>>,
    /// What this node is called among its peers.
    pub node: String,
    /// Longest wait of a call for an answer.
    pub timeout: Duration,
    /// How long a window of requests or tokens is.
    pub window: Duration,
    /// Lease of a node's concurrency; a failed node's calls stop counting after it.
    pub lease: Duration,
}

/// How long a window is.
pub(crate) const WINDOW: Duration = Duration::from_secs(60);
/// Parts of a window. What was taken counts for the window and at most one part longer.
pub(crate) const PARTS: u32 = 30;
/// A slice is at most this part of what is left, divided by the nodes.
pub(crate) const SLICES: u64 = 8;
/// A counter that Redis refused is not requested again before this has passed.
pub(crate) const RECHECK: Duration = Duration::from_millis(100);
/// An unused slice is returned after this long.
pub(crate) const IDLE: Duration = Duration::from_secs(2);

impl RedisSettings {
    /// The decided times, for a Redis at an address.
    #[must_use]
    pub fn new(url: Secret, node: impl Into<String>) -> Self {
        Self {
            url,
            roots: None,
            node: node.into(),
            timeout: Duration::from_millis(50),
            window: WINDOW,
            lease: Duration::from_secs(10),
        }
    }
}
