//! Limits and waits of accepting a request.

mod limits;

use std::time::Duration;

pub use limits::LimitSettings;

#[derive(Debug, Clone)]
pub struct AcceptSettings {
    /// Largest body of a request.
    pub max_body_bytes: usize,
    /// Bodies and answers that may be in memory over all calls.
    pub max_buffered_bytes: usize,
    pub max_in_flight: usize,
    /// One account may have this part of the calls and bytes: one divided by it.
    pub account_share: usize,
    /// From accept to the last byte of the first head.
    pub head_wait: Duration,
    /// From the head to the last byte of the body.
    pub body_wait: Duration,
    /// A client that reads nothing for so long has gone.
    pub reader_wait: Duration,
    /// How long keys may be used without having been compared.
    pub stale_after: Duration,
    /// The page that explains errors; `#` and a code are added to it.
    pub error_pages: String,
    /// Default limits of keys.
    pub limits: LimitSettings,
}

impl Default for AcceptSettings {
    fn default() -> Self {
        Self {
            max_body_bytes: 32_000_000,
            max_buffered_bytes: 1_000_000_000,
            max_in_flight: 10_000,
            account_share: 5,
            head_wait: Duration::from_secs(10),
            body_wait: Duration::from_secs(60),
            reader_wait: Duration::from_secs(60),
            stale_after: Duration::from_secs(120),
            error_pages: "http://127.0.0.1:8081/docs/errors".to_owned(),
            limits: LimitSettings::default(),
        }
    }
}
