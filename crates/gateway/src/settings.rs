//! Limits and waits of the gateway. Every one can be set; the defaults are the decided ones.

mod generation;
mod guardrail;
mod idempotency;
mod probes;
mod realtime;
mod social;
mod video;

use std::time::Duration;

pub use generation::GenerationSettings;
pub use guardrail::{FailMode, GuardrailSettings};
pub use idempotency::IdempotencySettings;
pub use probes::ProbeSettings;
pub use realtime::RealtimeSettings;
pub use social::SocialSettings;
use trunkline_account_api::{EventSettings, WebhookSettings};
use trunkline_edge::settings::AcceptSettings;
use trunkline_types::Money;
pub use video::VideoSettings;

#[derive(Debug, Clone)]
pub struct Settings {
    /// How requests are accepted.
    pub accept: AcceptSettings,
    /// Largest whole answer of an upstream.
    pub max_answer_bytes: usize,
    /// Output tokens that a stream holds money for ahead.
    pub tranche_tokens: u64,
    /// Longest silence of an upstream's stream.
    pub stream_idle: Duration,
    /// Longest call that does not stream.
    pub whole_wait: Duration,
    /// How long a model that thinks unseen is read on for its usage when its client has left.
    pub read_on: Duration,
    /// What it may write meanwhile, at the customer's prices.
    pub read_on_usd: Money,
    /// What an account may cost the operator in an hour by leaving before its input is known; above it the
    /// input is charged, or the stream is read to its end.
    pub cancelled_input_usd: Money,
    /// Attempts at upstreams for one call.
    pub max_attempts: usize,
    /// After this long an open hold has expired.
    pub hold_lifetime: Duration,
    /// How often keys and channels are compared with the database.
    pub refresh: Duration,
    /// How often what was seen of routes is exchanged with other nodes.
    pub health: Duration,
    /// What links are made of: scheme and host, without a slash at the end.
    pub public_url: String,
    /// Whether vendors can follow such links.
    pub vendors_reach_links: bool,
    /// Whether models that no channel serves are left out of lists.
    pub hide_unserved_models: bool,
    /// Largest file of a finished task.
    pub max_file_bytes: u64,
    pub video: VideoSettings,
    pub generation: GenerationSettings,
    pub realtime: RealtimeSettings,
    pub social: SocialSettings,
    pub idempotency: IdempotencySettings,
    /// The service that checks calls; none for no checks.
    pub guardrail: Option<GuardrailSettings>,
    /// How credentials are probed.
    pub probes: ProbeSettings,
    pub events: EventSettings,
    /// Messages to addresses of customers.
    pub webhooks: WebhookSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            accept: AcceptSettings::default(),
            max_answer_bytes: 64_000_000,
            tranche_tokens: 4_096,
            stream_idle: Duration::from_secs(300),
            whole_wait: Duration::from_secs(600),
            read_on: Duration::from_secs(10),
            read_on_usd: Money::from_nanos(50_000_000),
            cancelled_input_usd: Money::from_nanos(1_000_000_000),
            max_attempts: 3,
            hold_lifetime: Duration::from_secs(3_600),
            refresh: Duration::from_secs(1),
            health: Duration::from_secs(30),
            public_url: "http://127.0.0.1:8080".to_owned(),
            vendors_reach_links: true,
            hide_unserved_models: false,
            max_file_bytes: 4_000_000_000,
            video: VideoSettings::default(),
            generation: GenerationSettings::default(),
            realtime: RealtimeSettings::default(),
            social: SocialSettings::default(),
            idempotency: IdempotencySettings::default(),
            guardrail: None,
            probes: ProbeSettings::default(),
            events: EventSettings::default(),
            webhooks: WebhookSettings::default(),
        }
    }
}
