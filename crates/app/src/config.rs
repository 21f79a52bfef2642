//! Configuration, in two stages: texts from the defaults, the file and the environment become one
//! [`raw::RawConfig`]; checking it yields a [`Config`] in which every value is usable. Only this module
//! reads the environment.

mod alarms;
mod bounds;
mod channels;
mod check;
mod collector;
mod console;
mod events;
mod explain;
mod guardrail;
mod layers;
mod limits;
mod mail;
mod media;
mod payments;
mod providers;
mod raw;
mod roles;
mod social;
mod uploads;
mod webhooks;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trunkline_account_api::{AlarmTarget, EventSettings, WebhookSettings};
use trunkline_blobs::MediaSettings;
use trunkline_edge::settings::LimitSettings;
use trunkline_gateway::{
    AlarmLimits, GenerationSettings, GuardrailSettings, ProbeSettings, SocialSettings,
    VideoSettings,
};
use trunkline_mail::MailSettings;
use trunkline_payments::StripeSettings;
use trunkline_types::{Money, NodeId, Secret};
use trunkline_upstream::Roots;
use trunkline_upstream::safe_fetch::SafeFetchSettings;
use trunkline_worker::Retention;

pub(crate) use console::{Console, is_loopback};
pub(crate) use explain::{Explanation, explain, is_empty};
pub(crate) use layers::{DEFAULTS, environment, variable};
pub(crate) use roles::{Role, Roles};

/// File that is read when none is named, if it is there.
pub(crate) const DEFAULT_FILE: &str = "trunkline.toml";

/// A configuration that passed every check.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) edge: Edge,
    pub(crate) console: Console,
    pub(crate) admin_listen: SocketAddr,
    pub(crate) node: NodeId,
    pub(crate) roles: Roles,
    pub(crate) database: Database,
    pub(crate) keyring: KeyringPlace,
    /// How long the node takes to go when it is told to stop.
    pub(crate) drain_times: DrainTimes,
    pub(crate) providers_folder: Option<PathBuf>,
    /// Trusted beside the public ones.
    pub(crate) extra_roots: Roots,
    pub(crate) telemetry: Telemetry,
    pub(crate) media: MediaSettings,
    pub(crate) retention: Retention,
    pub(crate) fetch: SafeFetchSettings,
    pub(crate) video: VideoSettings,
    pub(crate) social: SocialSettings,
    pub(crate) studio: GenerationSettings,
    pub(crate) webhooks: WebhookSettings,
    /// How credentials of channels are probed.
    pub(crate) probes: ProbeSettings,
    /// The service that checks calls; none for no checks.
    pub(crate) guardrail: Option<GuardrailSettings>,
    /// How emails are sent; none to keep them for the operator.
    pub(crate) mail: Option<MailSettings>,
    /// How Stripe is reached; none to accept no payments.
    pub(crate) stripe: Option<StripeSettings>,
    /// Where requests are counted over nodes; none to count in this process.
    pub(crate) redis: Option<Redis>,
    /// Default limits of keys.
    pub(crate) limits: LimitSettings,
    /// Clients that leave.
    pub(crate) leaving: Leaving,
    pub(crate) events: Events,
    pub(crate) alarms: Alarms,
    /// Every key with its value as operators may see it.
    pub(crate) in_view: Vec<(String, String)>,
}

/// Whom alarms are told, and from when on.
#[derive(Debug, Clone)]
pub(crate) struct Alarms {
    pub(crate) emails: Vec<String>,
    pub(crate) webhook: Option<AlarmTarget>,
    pub(crate) wait: Duration,
    pub(crate) limits: AlarmLimits,
}

/// How large and how long calls may be.
#[derive(Debug)]
pub(crate) struct CallBounds {
    pub(crate) max_body_bytes: usize,
    /// One account may have one part in so many.
    pub(crate) account_share: usize,
    pub(crate) stream_idle: Duration,
    pub(crate) whole_wait: Duration,
}

/// What is done and borne for clients that leave.
#[derive(Debug)]
pub(crate) struct Leaving {
    /// How long a stream is read on for its usage.
    pub(crate) read_on: Duration,
    /// What it may write meanwhile.
    pub(crate) read_on_usd: Money,
    /// What an account may leave unpaid in an hour.
    pub(crate) cancelled_input: Money,
}

#[derive(Debug)]
pub(crate) struct Events {
    /// Their way between nodes; none to read their table alone.
    pub(crate) nats: Option<Nats>,
    pub(crate) settings: EventSettings,
}

/// Where NATS is, and how it keeps copies.
#[derive(Debug, Clone)]
pub(crate) struct Nats {
    pub(crate) servers: trunkline_db::bus::Servers,
    /// Certificates that theirs must be signed by; none for those of the system.
    pub(crate) roots: Option<PathBuf>,
    pub(crate) replicas: usize,
}

#[derive(Debug)]
pub(crate) struct Redis {
    pub(crate) url: Secret,
    /// Certificates that its own must be signed by; none for those of the system.
    pub(crate) roots: Option<Vec<u8>>,
    pub(crate) timeout: Duration,
}

#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) listen: SocketAddr,
    pub(crate) public_url: String,
    pub(crate) trusted_proxies: Vec<trunkline_store::Network>,
    pub(crate) tls: Option<trunkline_edge::listener::TlsFiles>,
    /// Bytes for calls, and as many for connections.
    pub(crate) half_memory: usize,
    pub(crate) calls: CallBounds,
    /// Whether models without a channel are left out of lists.
    pub(crate) hide_unserved_models: bool,
}

/// Times of a node's graceful shutdown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrainTimes {
    /// How long the node reports that it is not ready and still takes new calls.
    pub(crate) notice: Duration,
    /// How long running calls may take after that.
    pub(crate) drain: Duration,
}

#[derive(Debug)]
pub(crate) struct Telemetry {
    /// The collector's address for traces; none to trace nothing.
    pub(crate) traces: Option<http::Uri>,
    /// What it wants to see with them.
    pub(crate) headers: http::HeaderMap,
    pub(crate) sample_per_thousand: u64,
}

#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) url: Option<Secret>,
    pub(crate) max_connections: u32,
    pub(crate) acquire_timeout: Duration,
    pub(crate) statement_timeout: Duration,
    pub(crate) lock_timeout: Duration,
    pub(crate) pgbouncer: bool,
}

/// Where the root keys are.
#[derive(Debug)]
pub(crate) enum KeyringPlace {
    File(PathBuf),
    Text(Secret),
}

/// One thing that is wrong: the key, where its value came from, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Finding {
    pub(crate) key: String,
    pub(crate) from: String,
    pub(crate) problem: String,
}

#[derive(Debug, thiserror::Error)]
#[error("the configuration is not usable:{}", Listed(.0))]
pub(crate) struct ConfigError(pub(crate) Vec<Finding>);

/// Reads and checks the configuration. `file` none means [`DEFAULT_FILE`] if it exists.
pub(crate) fn load(
    file: Option<&Path>,
    environment: &[(String, String)],
) -> Result<Config, ConfigError> {
    let layers = layers::Layers::read(file, environment).map_err(ConfigError)?;
    check::config(&layers).map_err(ConfigError)
}

struct Listed<'a>(&'a [Finding]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|finding| write!(formatter, "\n  {finding}"))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} (from {}): {}",
            self.key, self.from, self.problem
        )
    }
}

#[cfg(test)]
mod tests;
