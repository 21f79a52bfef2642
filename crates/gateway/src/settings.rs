//! Limits and waits of the gateway. Every one can be set; the defaults are the decided ones.

mod events;
mod generation;
mod idempotency;
mod limits;
mod social;
mod video;
mod webhooks;

use std::time::Duration;

pub use events::EventSettings;
pub use generation::GenerationSettings;
pub use idempotency::IdempotencySettings;
pub use limits::LimitSettings;
pub use social::SocialSettings;
pub use video::VideoSettings;
pub use webhooks::WebhookSettings;

#[derive(Debug, Clone)]
pub struct Settings {
    /// Largest body of a request.
    pub max_body_bytes: usize,
    /// Largest whole answer of an upstream.
    pub max_answer_bytes: usize,
    /// Bodies that may be in memory over all calls.
    pub max_buffered_bytes: usize,
    pub max_in_flight: usize,
    /// One account may have this part of the calls and bytes: one divided by it.
    pub account_share: usize,
    /// From the first byte of a head to its last.
    pub head_wait: Duration,
    /// From the head to the last byte of the body.
    pub body_wait: Duration,
    /// Output tokens that a stream holds money for ahead.
    pub tranche_tokens: u64,
    /// Longest silence of an upstream's stream.
    pub stream_idle: Duration,
    /// Longest call that does not stream.
    pub whole_wait: Duration,
    /// A client that reads nothing for so long has gone.
    pub reader_wait: Duration,
    /// Attempts at upstreams for one call.
    pub max_attempts: usize,
    /// After this long an open hold has expired.
    pub hold_lifetime: Duration,
    /// How often keys and channels are compared with the database.
    pub refresh: Duration,
    /// How often what was seen of routes is exchanged with other nodes.
    pub health: Duration,
    /// How long keys may be used without having been compared.
    pub stale_after: Duration,
    /// What links are made of: scheme and host, without a slash at the end.
    pub public_url: String,
    /// The page that explains errors; `#` and a code are added to it.
    pub error_pages: String,
    /// How long files are kept.
    pub keep_media: Duration,
    /// Largest file of a finished task.
    pub max_file_bytes: u64,
    /// Default limits of keys.
    pub limits: LimitSettings,
    pub video: VideoSettings,
    pub generation: GenerationSettings,
    pub social: SocialSettings,
    pub idempotency: IdempotencySettings,
    pub events: EventSettings,
    /// Messages to addresses of customers.
    pub webhooks: WebhookSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_body_bytes: 32_000_000,
            max_answer_bytes: 64_000_000,
            max_buffered_bytes: 1_000_000_000,
            max_in_flight: 10_000,
            account_share: 5,
            head_wait: Duration::from_secs(10),
            body_wait: Duration::from_secs(60),
            tranche_tokens: 4_096,
            stream_idle: Duration::from_secs(300),
            whole_wait: Duration::from_secs(600),
            reader_wait: Duration::from_secs(60),
            max_attempts: 3,
            hold_lifetime: Duration::from_secs(3_600),
            refresh: Duration::from_secs(1),
            health: Duration::from_secs(30),
            stale_after: Duration::from_secs(120),
            public_url: "http://127.0.0.1:8080".to_owned(),
            error_pages: "http://127.0.0.1:8081/docs/errors".to_owned(),
            keep_media: Duration::from_secs(7 * 86_400),
            max_file_bytes: 4_000_000_000,
            limits: LimitSettings::default(),
            video: VideoSettings::default(),
            generation: GenerationSettings::default(),
            social: SocialSettings::default(),
            idempotency: IdempotencySettings::default(),
            events: EventSettings::default(),
            webhooks: WebhookSettings::default(),
        }
    }
}
