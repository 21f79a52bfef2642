//! Limits and waits of events.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct EventSettings {
    /// Connections of this node that follow events.
    pub max_connections: usize,
    /// The same of one account.
    pub max_per_account: usize,
    /// How often the table is looked at where no copies come.
    pub look: Duration,
    /// How often it is looked at where copies come, in case that one was lost.
    pub look_beside_copies: Duration,
    /// Longest silence of a connection.
    pub heartbeat: Duration,
}

impl Default for EventSettings {
    fn default() -> Self {
        Self {
            max_connections: 20_000,
            max_per_account: 1_000,
            look: Duration::from_secs(1),
            look_beside_copies: Duration::from_secs(10),
            heartbeat: Duration::from_secs(15),
        }
    }
}
