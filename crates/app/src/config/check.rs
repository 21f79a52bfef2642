//! From texts to values. All findings are collected, so that one run names everything.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trunkline_edge::listener::TlsFiles;
use trunkline_edge::telemetry::ALL_PER_THOUSAND;
use trunkline_store::Network;
use trunkline_types::{NodeId, Secret};
use trunkline_upstream::Roots;

use super::collector;
use super::explain;
use super::layers::Layers;
use super::raw::{RawDatabase, RawEdge, RawKeyring, RawTelemetry, RawUpstream};
use super::{Config, Console, Database, DrainTimes, Edge, Finding, KeyringPlace, Roles, Telemetry};
use crate::files;

/// Longest database address that is read from a file.
const MAX_URL_BYTES: u64 = 4_096;
/// Longest file of certificates; a bundle of all public roots has a quarter of it.
pub(super) const MAX_ROOTS_BYTES: u64 = 1 << 20;
/// Most connections one process may be told to open.
const MAX_CONNECTIONS: i64 = 1_000;
/// Longest drain that can be set, one day.
const MAX_DRAIN_SECONDS: i64 = 86_400;
/// In units of 1,000,000 bytes: one largest body must fit into the half of calls.
const MIN_MEMORY_MB: i64 = 100;
const MAX_MEMORY_MB: i64 = 1_000_000;
/// Longest notice that can be set, ten minutes.
const MAX_NOTICE_SECONDS: i64 = 600;
/// Longest time that can be set, one hour.
const MAX_TIMEOUT_MS: i64 = 3_600_000;

/// Where a collector takes traces, below its address.
const TRACES_PATH: &str = "/v1/traces";

pub(super) struct Check<'a> {
    layers: &'a Layers,
    findings: Vec<Finding>,
}

/// Checks every value; none is used before all are good.
pub(super) fn config(layers: &Layers) -> Result<Config, Vec<Finding>> {
    let raw = layers.raw().map_err(|finding| vec![finding])?;
    let mut check = Check {
        layers,
        findings: Vec::new(),
    };
    let edge = check.edge(&raw.edge, &raw.upstream);
    let console = check.console(&raw.console, edge.as_ref());
    let admin_listen = check.address("admin.listen", &raw.admin.listen);
    check.admin_apart(admin_listen, edge.as_ref(), console.as_ref());
    let node = check.take("node.name", node_name(&raw.node.name, admin_listen));
    let roles = check.take("node.roles", Roles::of_words(&raw.node.roles));
    let database = check.database(&raw.database);
    let keyring = check.keyring(raw.keyring);
    let folder = raw.providers.folder;
    let extra_roots = check.extra_roots(&raw.upstream.extra_roots);
    let telemetry = check.telemetry(&raw.telemetry);
    let media = check.media(raw.media, &raw.retention);
    let fetch = extra_roots
        .as_ref()
        .and_then(|roots| check.fetch(&raw.fetch, roots));
    let (video, social) = (check.video(&raw.video), check.social(raw.social));
    let studio = check.uploads(raw.uploads);
    let mail = check.mail(&raw.mail, &raw.upstream.extra_roots);
    let stripe = check.payments(&raw.payments);
    let alarms = check.alarms(&raw.alarms, mail.as_ref().is_none_or(Option::is_some));
    let events = check.events(&raw.nats, &raw.events);
    let webhooks = check.webhooks(&raw.webhooks);
    let calls = check.calls(&raw.channels, &raw.guardrail);
    let (redis, limits) = (check.redis(&raw.redis), check.limits(&raw.limits));
    let (leaving, drain_times) = (check.leaving(&raw.limits), check.drain_times(&raw.edge));
    let whole = (|| {
        let ((media, retention), (probes, guardrail)) = (media?, calls?);
        Some(Config {
            media,
            retention,
            fetch: fetch?,
            video: video?,
            social: social?,
            studio: studio?,
            mail: mail?,
            stripe: stripe?,
            events: events?,
            alarms: alarms?,
            in_view: explain::view(layers),
            webhooks: webhooks?,
            probes,
            guardrail,
            redis: redis?,
            limits: limits?,
            leaving: leaving?,
            edge: edge?,
            console: console?,
            admin_listen: admin_listen?,
            node: node?,
            roles: roles?,
            database: database?,
            keyring: keyring?,
            drain_times: drain_times?,
            providers_folder: (!folder.is_empty()).then(|| PathBuf::from(folder)),
            extra_roots: extra_roots?,
            telemetry: telemetry?,
        })
    })();
    match whole {
        Some(config) if check.findings.is_empty() => Ok(config),
        Some(_) | None => Err(check.findings),
    }
}

/// The name that is set; otherwise one of the host and the admin port, which no two processes share.
fn node_name(text: &str, admin: Option<SocketAddr>) -> Result<NodeId, String> {
    let wrong = |_| "must have 1 to 64 letters, digits, - _ .".to_owned();
    if !text.is_empty() {
        return NodeId::new(text).map_err(wrong);
    }
    let host = files::read_bounded(Path::new("/proc/sys/kernel/hostname"), 256).unwrap_or_default();
    let legal = |character: &char| character.is_ascii_alphanumeric() || "-_.".contains(*character);
    let host: String = host.trim().chars().filter(legal).take(50).collect();
    let host = if host.is_empty() { "node" } else { &host };
    let name = match admin.map(|address| address.port()) {
        // Port 0 is a free one, so it says nothing.
        None | Some(0) => format!("{host}-p{}", std::process::id()),
        Some(port) => format!("{host}-{port}"),
    };
    NodeId::new(&name).map_err(wrong)
}

// === impl Check ===

impl Check<'_> {
    pub(super) fn say(&mut self, key: &str, problem: String) {
        let from = self.layers.origin(key).to_owned();
        self.findings.push(Finding {
            key: key.to_owned(),
            from,
            problem,
        });
    }

    pub(super) fn take<T>(&mut self, key: &str, value: Result<T, String>) -> Option<T> {
        value.map_err(|problem| self.say(key, problem)).ok()
    }

    /// Metrics have an address of their own.
    fn admin_apart(
        &mut self,
        admin: Option<SocketAddr>,
        edge: Option<&Edge>,
        console: Option<&Console>,
    ) {
        let others = [
            ("edge.listen", edge.map(|edge| edge.listen)),
            ("console.listen", console.map(|console| console.listen)),
        ];
        // Port 0 is a free one, which no two ever share.
        let fixed = admin.filter(|address| address.port() != 0);
        for (key, other) in others {
            if fixed.is_some() && fixed == other {
                self.say(
                    "admin.listen",
                    format!("must not be the address of {key}: metrics stay private"),
                );
            }
        }
    }

    fn drain_times(&mut self, raw: &RawEdge) -> Option<DrainTimes> {
        let drain = in_range(raw.drain_seconds, 0, MAX_DRAIN_SECONDS);
        let drain = self.take("edge.drain_seconds", drain);
        let notice = in_range(raw.notice_seconds, 0, MAX_NOTICE_SECONDS);
        let notice = self.take("edge.notice_seconds", notice);
        Some(DrainTimes {
            notice: Duration::from_secs(notice?),
            drain: Duration::from_secs(drain?),
        })
    }

    pub(super) fn address(&mut self, key: &str, text: &str) -> Option<SocketAddr> {
        let parsed = text
            .parse()
            .map_err(|_| "must be an address and a port, such as 127.0.0.1:8080".to_owned());
        self.take(key, parsed)
    }

    fn edge(&mut self, raw: &RawEdge, upstream: &RawUpstream) -> Option<Edge> {
        let listen = self.address("edge.listen", &raw.listen);
        let public_url = self.public_url(&raw.public_url, listen);
        let mut trusted_proxies = Vec::new();
        for text in &raw.trusted_proxies {
            let problem = format!("{text:?} is not a network such as 10.0.0.0/8");
            trusted_proxies
                .extend(self.take("edge.trusted_proxies", Network::parse(text).ok_or(problem)));
        }
        let tls = match (raw.tls_certificate.as_str(), raw.tls_key.as_str()) {
            ("", "") => None,
            ("", _) | (_, "") => {
                let problem = "edge.tls_certificate and edge.tls_key come together".to_owned();
                self.say("edge.tls_certificate", problem);
                return None;
            }
            (certificate, key) => Some(TlsFiles {
                certificate: PathBuf::from(certificate),
                key: PathBuf::from(key),
            }),
        };
        let memory = in_range(raw.memory_mb, MIN_MEMORY_MB, MAX_MEMORY_MB);
        let memory = self.take("edge.memory_mb", memory)?;
        let calls = self.call_bounds(raw, upstream)?;
        Some(Edge {
            tls,
            calls,
            half_memory: usize::try_from(memory.saturating_mul(500_000)).ok()?,
            hide_unserved_models: raw.hide_unserved_models,
            listen: listen?,
            public_url: public_url?,
            trusted_proxies,
        })
    }

    fn public_url(&mut self, text: &str, listen: Option<SocketAddr>) -> Option<String> {
        if text.is_empty() {
            let listen = listen?;
            if !listen.ip().is_loopback() {
                self.say(
                    "edge.public_url",
                    format!("must be set because edge.listen {listen} is not a loopback address: links are made of it"),
                );
                return None;
            }
            return Some(format!("http://{listen}"));
        }
        let host = ["https://", "http://"]
            .iter()
            .find_map(|scheme| text.strip_prefix(scheme));
        let plain = |host: &str| {
            !host.is_empty()
                && host
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-._:[]/".contains(c))
        };
        match host {
            Some(host) if plain(host) => Some(text.trim_end_matches('/').to_owned()),
            Some(_) | None => {
                self.say(
                    "edge.public_url",
                    "must be an address such as https://api.example.com".to_owned(),
                );
                None
            }
        }
    }

    fn extra_roots(&mut self, file: &str) -> Option<Roots> {
        if file.is_empty() {
            return Some(Roots::default());
        }
        let read = files::read_bounded(Path::new(file), MAX_ROOTS_BYTES)
            .map_err(|error| format!("cannot read {file:?}: {error}"));
        let pem = self.take("upstream.extra_roots", read)?;
        let roots = Roots::from_pem(pem.as_bytes()).map_err(|error| error.to_string());
        self.take("upstream.extra_roots", roots)
    }

    /// Certificates for an engine; its file is looked at now, not at the first connection. Outer none: a finding was
    /// made. Inner none: those of the system.
    pub(super) fn tls_roots(
        &mut self,
        key: &'static str,
        file: &str,
        is_tls: bool,
    ) -> Option<Option<String>> {
        if file.is_empty() {
            return Some(None);
        }
        if !is_tls {
            self.say(key, "is set, and the address does not speak TLS".to_owned());
            return None;
        }
        let read = files::read_bounded(Path::new(file), MAX_ROOTS_BYTES);
        let read = read.map_err(|error| format!("cannot read {file:?}: {error}"));
        let pem = self.take(key, read)?;
        let roots = Roots::from_pem(pem.as_bytes()).map_err(|error| error.to_string());
        self.take(key, roots)?;
        Some(Some(pem))
    }

    fn telemetry(&mut self, raw: &RawTelemetry) -> Option<Telemetry> {
        let (key, text) = (
            "telemetry.otlp_endpoint",
            raw.otlp_endpoint.trim_end_matches('/'),
        );
        let most = i64::try_from(ALL_PER_THOUSAND).unwrap_or(i64::MAX);
        let sample = in_range(raw.sample_per_thousand, 0, most);
        let sample_per_thousand = self.take("telemetry.sample_per_thousand", sample);
        let traces = if text.is_empty() {
            None
        } else {
            let uri = format!("{text}{TRACES_PATH}").parse().ok();
            let uri = uri.filter(|uri: &http::Uri| {
                let known = matches!(uri.scheme_str(), Some("http" | "https"));
                // A login would be repeated by every error; a query would swallow the path.
                let plain = !text.contains(['@', '?', '#']);
                known && plain && uri.host().is_some_and(|host| !host.is_empty())
            });
            let problem = "must be an address such as http://127.0.0.1:4318".to_owned();
            Some(self.take(key, uri.ok_or(problem))?)
        };
        let headers = self.take(
            "telemetry.otlp_headers",
            collector::headers(&raw.otlp_headers),
        );
        Some(Telemetry {
            traces,
            headers: headers?,
            sample_per_thousand: sample_per_thousand?,
        })
    }

    fn database(&mut self, raw: &RawDatabase) -> Option<Database> {
        let url = self.database_url("database.url", "database.url_file", &raw.url, &raw.url_file);
        let connections = in_range(raw.max_connections, 1, MAX_CONNECTIONS);
        let connections = self.take("database.max_connections", connections);
        let mut timeout = |key: &str, value: i64| {
            self.take(key, in_range(value, 1, MAX_TIMEOUT_MS))
                .map(Duration::from_millis)
        };
        let acquire_timeout = timeout("database.acquire_timeout_ms", raw.acquire_timeout_ms);
        let statement_timeout = timeout("database.statement_timeout_ms", raw.statement_timeout_ms);
        let lock_timeout = timeout("database.lock_timeout_ms", raw.lock_timeout_ms);
        Some(Database {
            url: url?,
            max_connections: u32::try_from(connections?).ok()?,
            acquire_timeout: acquire_timeout?,
            statement_timeout: statement_timeout?,
            lock_timeout: lock_timeout?,
            pgbouncer: raw.pgbouncer,
        })
    }

    /// Outer none: a finding was made. Inner none: not set.
    pub(super) fn database_url(
        &mut self,
        url_key: &'static str,
        file_key: &'static str,
        url: &Secret,
        url_file: &str,
    ) -> Option<Option<Secret>> {
        if !url.reveal().is_empty() && !url_file.is_empty() {
            self.say(file_key, format!("{url_key} is set too: keep one of them"));
            return None;
        }
        let (key, url) = if url_file.is_empty() {
            (url_key, url.clone())
        } else {
            let read = files::read_bounded(Path::new(url_file), MAX_URL_BYTES)
                .map_err(|error| error.to_string());
            let text = self.take(file_key, read)?;
            (file_key, Secret::new(text.trim().to_owned()))
        };
        if url.reveal().is_empty() && key == url_key {
            return Some(None);
        }
        let known = ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| url.reveal().starts_with(scheme));
        if !known {
            // The value may hold a password, so it is not repeated.
            self.say(
                key,
                "must be an address such as postgres://user@host:5432/database".to_owned(),
            );
            return None;
        }
        Some(Some(url))
    }

    fn keyring(&mut self, raw: RawKeyring) -> Option<KeyringPlace> {
        if !raw.text.reveal().is_empty() {
            return Some(KeyringPlace::Text(raw.text));
        }
        if raw.file.is_empty() {
            self.say(
                "keyring.file",
                "must be set (or keyring.text): the keyring seals everything".to_owned(),
            );
            return None;
        }
        Some(KeyringPlace::File(PathBuf::from(raw.file)))
    }
}

pub(super) fn in_range(value: i64, least: i64, most: i64) -> Result<u64, String> {
    let legal = (least..=most).contains(&value);
    let number = u64::try_from(value).ok().filter(|_| legal);
    number.ok_or_else(|| format!("must be from {least} to {most}"))
}
