//! `trunkline serve`: a node, until it is told to stop.

use std::process::ExitCode;

use anyhow::bail;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use trunkline_db::Role;
use trunkline_gateway::{EdgeSettings, Settings, TelemetrySettings};

use super::{channel, database, keyring};
use crate::config::Config;
use crate::node::{Node, Plan};
use crate::output::Output;

/// Serves until SIGTERM, SIGINT, or another process of the same name.
pub(super) async fn run(config: &Config, output: &Output) -> anyhow::Result<ExitCode> {
    let data = database::open(config, Role::Data).await?;
    let node = Node::start(Plan {
        name: config.node.clone(),
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
    })
    .await?;
    let scheme = config.edge.tls.as_ref().map_or("http", |_| "https");
    let text = format!(
        "Serving on {scheme}://{} (console on http://{}, metrics on http://{}).",
        node.edge, node.console, node.admin
    );
    let object = json!({
        "ok": true,
        "listen": node.edge,
        "console": node.console,
        "admin": node.admin,
    });
    output.success(&text, &object);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let replaced = tokio::select! {
        _ = terminate.recv() => false,
        _ = interrupt.recv() => false,
        () = node.replaced() => true,
    };
    tracing::info!("stopping");
    node.stop(config.drain).await;
    if replaced {
        bail!(
            "another process has registered as node {:?}; give each running node a name of its own (node.name)",
            config.node.as_str()
        );
    }
    Ok(ExitCode::SUCCESS)
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
