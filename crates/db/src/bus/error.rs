//! Errors of the bus.

/// Why an operation of the bus failed.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// NATS is not connected, or did not answer in time.
    #[error("NATS is unavailable: {0}")]
    Unavailable(String),
    /// The JetStream stream cannot be created or used.
    #[error("JetStream stream unusable: {0}")]
    Stream(String),
    /// A message cannot be decoded as an event.
    #[error("NATS event message could not be decoded: {0}")]
    Unreadable(#[from] serde_json::Error),
}
