//! The shape of the configuration, before its values are looked at. One struct per section, one
//! field per key of `config.default.toml`.

use serde::Deserialize;
use trunkline_types::Secret;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConfig {
    pub(super) edge: RawEdge,
    pub(super) console: RawConsole,
    pub(super) admin: RawListen,
    pub(super) node: RawNode,
    pub(super) database: RawDatabase,
    pub(super) keyring: RawKeyring,
    pub(super) providers: RawProviders,
    pub(super) upstream: RawUpstream,
    pub(super) telemetry: RawTelemetry,
    pub(super) media: RawMedia,
    pub(super) retention: RawRetention,
    pub(super) fetch: RawFetch,
    pub(super) video: RawVideo,
    pub(super) social: RawSocial,
    pub(super) uploads: RawUploads,
    pub(super) mail: RawMail,
    pub(super) payments: RawPayments,
    pub(super) alarms: RawAlarms,
    pub(super) nats: RawNats,
    pub(super) events: RawEvents,
    pub(super) webhooks: RawWebhooks,
    pub(super) channels: RawChannels,
    pub(super) guardrail: RawGuardrail,
    pub(super) redis: RawRedis,
    pub(super) limits: RawLimits,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEdge {
    pub(super) listen: String,
    pub(super) public_url: String,
    pub(super) trusted_proxies: Vec<String>,
    pub(super) memory_mb: i64,
    pub(super) account_share: i64,
    pub(super) max_body_bytes: i64,
    pub(super) hide_unserved_models: bool,
    pub(super) drain_seconds: i64,
    pub(super) notice_seconds: i64,
    pub(super) tls_certificate: String,
    pub(super) tls_key: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawListen {
    pub(super) listen: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConsole {
    pub(super) listen: String,
    pub(super) public_url: String,
    pub(super) name: String,
    pub(super) sign_up: String,
    pub(super) docs_model: String,
    pub(super) trial_amount_usd: String,
    pub(super) trial_days: i64,
    pub(super) trial_per_day: i64,
    pub(super) database_url: Secret,
    pub(super) database_url_file: String,
    pub(super) provider: Vec<RawProvider>,
}

/// A provider of OpenID Connect. Only the file can hold one: it is more than a value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProvider {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) issuer: String,
    pub(super) client_id: String,
    #[serde(default)]
    pub(super) client_secret: Option<Secret>,
    #[serde(default)]
    pub(super) client_secret_file: String,
    #[serde(default)]
    pub(super) client_secret_variable: String,
    #[serde(default)]
    pub(super) scopes: Option<Vec<String>>,
    #[serde(default)]
    pub(super) allowed_domains: Vec<String>,
    #[serde(default)]
    pub(super) makes_people: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNode {
    pub(super) name: String,
    pub(super) roles: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDatabase {
    pub(super) url: Secret,
    pub(super) url_file: String,
    pub(super) max_connections: i64,
    pub(super) acquire_timeout_ms: i64,
    pub(super) statement_timeout_ms: i64,
    pub(super) lock_timeout_ms: i64,
    pub(super) pgbouncer: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawKeyring {
    pub(super) file: String,
    pub(super) text: Secret,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProviders {
    pub(super) folder: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawUpstream {
    pub(super) extra_roots: String,
    pub(super) stream_idle_seconds: i64,
    pub(super) whole_call_seconds: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRetention {
    pub(super) usage_days: i64,
    pub(super) prompt_days: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTelemetry {
    pub(super) otlp_endpoint: String,
    pub(super) otlp_headers: Secret,
    pub(super) sample_per_thousand: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMedia {
    pub(super) directory: String,
    pub(super) budget_gb: i64,
    pub(super) keep_days: i64,
    pub(super) s3_bucket: String,
    pub(super) s3_endpoint: String,
    pub(super) s3_region: String,
    pub(super) s3_path_style: bool,
    pub(super) s3_access_key: Secret,
    pub(super) s3_secret_key: Secret,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFetch {
    pub(super) allowed_networks: Vec<String>,
    pub(super) high_ports: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVideo {
    pub(super) poll_first_ms: i64,
    pub(super) poll_most_ms: i64,
    pub(super) deadline_seconds: i64,
    pub(super) queue_seconds: i64,
    pub(super) call_ms: i64,
    pub(super) lease_ms: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSocial {
    pub(super) daily_capacity: i64,
    pub(super) at_once_per_platform: i64,
    pub(super) cells: String,
    pub(super) wait_seconds: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawUploads {
    pub(super) folder: String,
    pub(super) max_bytes: i64,
    pub(super) max_on_disk_bytes: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMail {
    pub(super) smtp: Secret,
    pub(super) from: String,
    pub(super) timeout_seconds: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPayments {
    pub(super) stripe_key_file: String,
    pub(super) stripe_webhook_secret_file: String,
    pub(super) stripe_api: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAlarms {
    pub(super) emails: Vec<String>,
    pub(super) webhook_url: String,
    pub(super) webhook_secret: Secret,
    pub(super) wait_seconds: i64,
    pub(super) account_usd: String,
    pub(super) account_calls: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNats {
    pub(super) url: Secret,
    pub(super) tls_roots: String,
    pub(super) replicas: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEvents {
    pub(super) max_connections: i64,
    pub(super) max_connections_per_account: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWebhooks {
    pub(super) at_once: i64,
    pub(super) at_once_per_webhook: i64,
    pub(super) at_once_per_account: i64,
    pub(super) wait_seconds: i64,
    pub(super) per_account: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawChannels {
    pub(super) probe_seconds: i64,
    pub(super) idle_probe_seconds: i64,
    pub(super) probe_calls_per_day: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGuardrail {
    pub(super) url: String,
    pub(super) secret: Secret,
    pub(super) timeout_ms: i64,
    pub(super) fail: String,
    pub(super) max_bytes: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRedis {
    pub(super) url: Secret,
    pub(super) tls_roots: String,
    pub(super) timeout_ms: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimits {
    pub(super) requests_per_minute: i64,
    pub(super) concurrent_calls: i64,
    pub(super) polls_per_minute: i64,
    pub(super) reads_per_minute: i64,
    pub(super) cancelled_input_cents: i64,
    pub(super) read_on_seconds: i64,
    pub(super) read_on_cents: i64,
}
