//! `trunkline serve`: a node, until it is told to stop.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use trunkline_console::ConsoleSettings;
use trunkline_db::bus::NatsSettings;
use trunkline_db::{Database, Role as DbRole};
use trunkline_edge::listener::EdgeSettings;
use trunkline_edge::settings::AcceptSettings;
use trunkline_edge::telemetry::TelemetrySettings;
use trunkline_gateway::Settings;
use trunkline_limits::RedisSettings;
use trunkline_upstream::safe_fetch::is_public_url;
use trunkline_worker::Retention;

use super::{channel, database, keyring};
use crate::config::{Config, Role, Roles};
use crate::node::{Node, NodeConfig, PaymentsConfig};
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
    let people = match roles.console {
        true => Some(people(config).await?),
        false => None,
    };
    let payments = payments(config, roles, people.as_ref()).await?;
    let node = Box::pin(Node::start(plan(config, roles, data, people, payments)?)).await?;
    let link = node.setup_link().await?;
    greet(config, &node, link.as_deref(), output);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let replaced = tokio::select! {
        _ = terminate.recv() => false,
        _ = interrupt.recv() => false,
        () = node.replaced() => true,
    };
    tracing::info!("stopping");
    node.stop(config.drain_times).await;
    if replaced {
        bail!(
            "another process has registered as node {:?}; give each running node its own name (node.name)",
            config.node.as_str()
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn plan(
    config: &Config,
    roles: Roles,
    data: Database,
    people: Option<Database>,
    payments: Option<PaymentsConfig>,
) -> anyhow::Result<NodeConfig> {
    Ok(NodeConfig {
        name: config.node.clone(),
        roles,
        data,
        people,
        keyring: keyring::open(config)?,
        keyring_file: keyring::file(config),
        providers: channel::providers(config)?,
        cells: crate::social::cells(config)?,
        extra_roots: config.extra_roots.clone(),
        media: config.media.clone(),
        fetch: config.fetch.clone(),
        settings: Settings {
            public_url: config.edge.public_url.clone(),
            vendors_reach_links: is_public_url(&config.edge.public_url),
            hide_unserved_models: config.edge.hide_unserved_models,
            video: config.video.clone(),
            social: config.social.clone(),
            generation: config.studio.clone(),
            events: config.events.settings.clone(),
            webhooks: config.webhooks.clone(),
            read_on: config.leaving.read_on,
            read_on_usd: config.leaving.read_on_usd,
            cancelled_input_usd: config.leaving.cancelled_input,
            accept: AcceptSettings {
                limits: config.limits.clone(),
                max_buffered_bytes: config.edge.half_memory,
                ..AcceptSettings::default()
            },
            ..Settings::default()
        },
        retention: Retention {
            media: config.keep_media,
            ..Retention::default()
        },
        edge: config.edge.listen,
        edge_settings: EdgeSettings {
            trusted_proxies: config.edge.trusted_proxies.clone(),
            tls: config.edge.tls.clone(),
            receive_bytes: config.edge.half_memory,
            ..EdgeSettings::default()
        },
        console: config.console.listen,
        console_settings: console(config),
        admin: config.admin_listen,
        payments,
        mail: config.mail.clone(),
        alarms: config.alarms.clone(),
        telemetry: telemetry(config),
        nats: nats(config),
        redis: redis(config),
    })
}

/// The database under the role of the console.
async fn people(config: &Config) -> anyhow::Result<Database> {
    let opened = database::open(config, DbRole::Console).await;
    opened.context(
        "a node with the role console needs the database role trunkline_console too: set \
         console.database_url to a login of that role, or do without the role console (node.roles)",
    )
}

/// Payments of a node that takes them or runs their jobs.
async fn payments(
    config: &Config,
    roles: Roles,
    people: Option<&Database>,
) -> anyhow::Result<Option<PaymentsConfig>> {
    let Some(stripe) = config
        .stripe
        .clone()
        .filter(|_| roles.console || roles.worker)
    else {
        return Ok(None);
    };
    let database = match people {
        Some(people) => people.clone(),
        None => database::open(config, DbRole::Console).await.context(
            "a node with the role worker books payments under the database role trunkline_console: set \
             console.database_url to a login of that role, or leave [payments] out on this node",
        )?,
    };
    Ok(Some(PaymentsConfig { stripe, database }))
}

/// What people find at the console.
pub(super) fn console(config: &Config) -> ConsoleSettings {
    ConsoleSettings {
        name: config.console.name.clone(),
        sign_up: config.console.sign_up,
        docs_model: config.console.docs_model.clone(),
        trial: config.console.trial,
        providers: config.console.providers.clone(),
        sends_mail: config.mail.is_some(),
        ..ConsoleSettings::at(
            &config.console.dash_url,
            &format!("{}/v1", config.edge.public_url),
        )
    }
}

fn greet(config: &Config, node: &Node, link: Option<&str>, output: &Output) {
    let scheme = config.edge.tls.as_ref().map_or("http", |_| "https");
    let edge = node.edge.map(|at| format!(" on {scheme}://{at}"));
    let console = node.console.map(|at| format!("console on http://{at}, "));
    let mut text = format!(
        "Serving{} ({}metrics on http://{}).",
        edge.as_deref().unwrap_or(" no calls"),
        console.as_deref().unwrap_or_default(),
        node.admin
    );
    if let Some(link) = link {
        text.push_str(&format!(
            "\nNo operator account exists yet. Open this link within 24 hours to create one:\n\n  {link}\n"
        ));
    }
    let object = json!({
        "ok": true,
        "operator_link": link,
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
