//! How credentials are probed by calls of our own.

use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub struct ProbeSettings {
    /// Between two probes of a credential that is refused or paused, or lacks a model.
    pub every: Duration,
    /// After so long without a call a credential is probed too; zero for never.
    pub idle: Duration,
    /// Calls of one token that may be spent on a credential in a day, where its list of models does not tell.
    pub calls_a_day: u32,
}

impl Default for ProbeSettings {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(30),
            idle: Duration::from_secs(3_600),
            calls_a_day: 100,
        }
    }
}
