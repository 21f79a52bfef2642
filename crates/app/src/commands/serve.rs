//! `trunkline serve`: a node, until it is told to stop.

use std::process::ExitCode;

use anyhow::bail;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use trunkline_bus::NatsSettings;
use trunkline_db::{Database, Role as DbRole};
use trunkline_gateway::{EdgeSettings, Settings, TelemetrySettings};
use trunkline_limits::RedisSettings;

use super::{channel, database, keyring};
use crate::config::{Config, Role, Roles};
use crate::node::{Node, Plan};
use crate::output::Output;

/// Serves until SIGTERM, SIGINT, or another process of the same name.
pub(super) async fn run(
    config: &Config,
    roles: &[Role],
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let roles = if roles.is_empty() {
        config.roles
    } else {
        Roles::of(roles)
    };
    let data = database::open(config, DbRole::Data).await?;
    let node = Box::pin(Node::start(plan(config, roles, data)?)).await?;
    greet(config, &node, output);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let replaced = tokio::select! {
        _ = terminate.recv() => false,
        _ = interrupt.recv() => false,
        () = node.replaced() => true,
    };
    tracing::info!("stopping");
    node.stop(config.leave).await;
    if replaced {
        bail!(
            "another process has registered as node {:?}; give each running node a name of its own (node.name)",
            config.node.as_str()
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn plan(config: &Config, roles: Roles, data: Database) -> anyhow::Result<Plan> {
    Ok(Plan {
        name: config.node.clone(),
        roles,
        data,
        keyring: keyring::open(config)?,
        providers: channel::providers(config)?,
        cells: crate::social::cells(config)?,
        extra_roots: config.extra_roots.clone(),
        media: config.media.clone(),
        fetch: config.fetch.clone(),
        settings: Settings {
            public_url: config.edge.public_url.clone(),
            keep_media: config.keep_media,
            video: config.video.clone(),
            social: config.social.clone(),
            studio: config.studio.clone(),
            events: config.events.settings.clone(),
            webhooks: config.webhooks.clone(),
            limits: config.limits.clone(),
            ..Settings::default()
        },
        edge: config.edge.listen,
        edge_settings: EdgeSettings {
            trusted_proxies: config.edge.trusted_proxies.clone(),
            tls: config.edge.tls.clone(),
            ..EdgeSettings::default()
        },
        console: config.console_listen,
        admin: config.admin_listen,
        telemetry: telemetry(config),
        nats: nats(config),
        redis: redis(config),
    })
}

/// Says where it listens.
fn greet(config: &Config, node: &Node, output: &Output) {
    let scheme = config.edge.tls.as_ref().map_or("http", |_| "https");
    let edge = node.edge.map(|at| format!(" on {scheme}://{at}"));
    let console = node.console.map(|at| format!("console on http://{at}, "));
    let text = format!(
        "Serving{} ({}metrics on http://{}).",
        edge.as_deref().unwrap_or(" no calls"),
        console.as_deref().unwrap_or_default(),
        node.admin
    );
    let object = json!({
        "ok": true,
        "listen": node.edge,
        "console": node.console,
        "admin": node.admin,
    });
    output.success(&text, &object);
}

/// The way of events between nodes, if there is one.
pub(super) fn nats(config: &Config) -> Option<NatsSettings> {
    let nats = config.events.nats.as_ref()?;
    Some(NatsSettings {
        servers: nats.servers.clone(),
        replicas: nats.replicas,
        own_name: config.node.as_str().to_owned(),
    })
}

/// Where traces go, if they go anywhere.
pub(super) fn telemetry(config: &Config) -> Option<TelemetrySettings> {
    let endpoint = config.telemetry.traces.clone()?;
    Some(TelemetrySettings {
        endpoint,
        sample_per_thousand: config.telemetry.sample_per_thousand,
        node: config.node.as_str().to_owned(),
    })
}

/// Where limits are counted over nodes.
pub(super) fn redis(config: &Config) -> Option<RedisSettings> {
    let redis = config.redis.as_ref()?;
    Some(RedisSettings {
        timeout: redis.timeout,
        ..RedisSettings::new(redis.url.clone(), config.node.as_str())
    })
}
