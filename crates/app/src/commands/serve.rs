//! `trunkline serve`: a node, until it is told to stop.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use trunkline_console::ConsoleSettings;
use trunkline_db::bus::NatsSettings;
use trunkline_db::{Database, Role as DbRole};
use trunkline_edge::listener::EdgeSettings;
use trunkline_edge::settings::AcceptSettings;
use trunkline_edge::telemetry::TelemetrySettings;
use trunkline_gateway::Settings;
use trunkline_limits::RedisSettings;
use trunkline_upstream::safe_fetch::is_public_url;

use super::{channel, database, keyring};
use crate::cli::ServeArguments;
use crate::config::{Config, Roles};
use crate::handover::Predecessor;
use crate::node::{Node, NodeConfig, PaymentsConfig};
use crate::output::Output;
use crate::service_manager::{State, notify};

/// Why a node stops.
enum End {
    Signal,
    Replaced,
    /// Its successor accepts the connections.
    HandedOver,
}

/// The signals that a node obeys.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

/// Serves until SIGTERM, SIGINT, another process of the same name, or a successor that SIGHUP requests.
pub(super) async fn run(
    config: Config,
    options: &ServeArguments,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    // In a box: it is large, and waits only once.
    Box::pin(serve(config, options, output)).await
}

async fn serve(
    mut config: Config,
    options: &ServeArguments,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let mut predecessor = options.take_over.then(Predecessor::receive).transpose()?;
    if let Some(before) = &predecessor {
        config.node = before.next_name(&config.node)?;
    }
    let sockets = predecessor.as_mut().map(Predecessor::take_sockets);
    let config = &config;
    let roles = if options.roles.is_empty() {
        config.roles
    } else {
        Roles::of(&options.roles)
    };
    let data = database::open(config, DbRole::Data).await?;
    let people = match roles.console {
        true => Some(people(config).await?),
        false => None,
    };
    let payments = payments(config, roles, people.as_ref()).await?;
    let mut plan = plan(config, roles, data, people, payments)?;
    plan.sockets = sockets.unwrap_or_default();
    let node = Box::pin(Node::start(plan)).await?;
    let mut signals = Signals::listen()?;
    let link = node.setup_link().await?;
    greet(config, &node, link.as_deref(), output);
    match predecessor {
        // It tells the service manager who serves now.
        Some(before) => before.release(),
        None => notify(State::Ready),
    }
    let end = signals.wait(&node).await;
    tracing::info!("stopping");
    match end {
        End::Signal => {
            notify(State::Stopping);
            node.stop(config.drain_times).await;
        }
        End::Replaced => {
            node.stop(config.drain_times).await;
            bail!(
                "another process has registered as node {:?}; give each running node its own name (node.name)",
                config.node.as_str()
            );
        }
        End::HandedOver => node.leave(config.drain_times, signals.told_to_stop()).await,
    }
    Ok(ExitCode::SUCCESS)
}

// === impl Signals ===

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the end of a node. An upgrade that fails is none.
    async fn wait(&mut self, node: &Node) -> End {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return End::Signal,
                _ = self.interrupt.recv() => return End::Signal,
                () = node.replaced() => return End::Replaced,
                _ = self.hangup.recv() => {}
            }
            tracing::info!("upgrade: starting the new process");
            notify(State::Upgrading);
            let handed_over = tokio::select! {
                done = node.hand_over() => done,
                _ = self.terminate.recv() => return End::Signal,
                _ = self.interrupt.recv() => return End::Signal,
            };
            match handed_over {
                Ok(pid) => {
                    tracing::info!(
                        pid,
                        "upgrade: the new process serves; letting running calls end"
                    );
                    notify(State::HandedOver { pid });
                    return End::HandedOver;
                }
                Err(error) => {
                    let why = format!("{error:#}");
                    tracing::error!(error = why, "upgrade failed; this process serves on");
                    notify(State::UpgradeFailed(&why));
                }
            }
        }
    }

    async fn told_to_stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
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
            probes: config.probes,
            guardrail: config.guardrail.clone(),
            read_on: config.leaving.read_on,
            read_on_usd: config.leaving.read_on_usd,
            cancelled_input_usd: config.leaving.cancelled_input,
            stream_idle: config.edge.calls.stream_idle,
            whole_wait: config.edge.calls.whole_wait,
            accept: accept(config),
            ..Settings::default()
        },
        retention: config.retention,
        sockets: Vec::new(),
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

/// How calls are accepted.
pub(super) fn accept(config: &Config) -> AcceptSettings {
    AcceptSettings {
        limits: config.limits.clone(),
        max_buffered_bytes: config.edge.half_memory,
        max_body_bytes: config.edge.calls.max_body_bytes,
        account_share: config.edge.calls.account_share,
        ..AcceptSettings::default()
    }
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
        configuration: config.in_view.clone(),
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
        roots: nats.roots.clone(),
        replicas: nats.replicas,
        own_name: config.node.as_str().to_owned(),
    })
}

/// Where traces go, if they go anywhere.
pub(super) fn telemetry(config: &Config) -> Option<TelemetrySettings> {
    let endpoint = config.telemetry.traces.clone()?;
    Some(TelemetrySettings {
        endpoint,
        headers: config.telemetry.headers.clone(),
        sample_per_thousand: config.telemetry.sample_per_thousand,
        node: config.node.as_str().to_owned(),
    })
}

/// Where limits are counted over nodes.
pub(super) fn redis(config: &Config) -> Option<RedisSettings> {
    let redis = config.redis.as_ref()?;
    Some(RedisSettings {
        timeout: redis.timeout,
        roots: redis.roots.clone(),
        ..RedisSettings::new(redis.url.clone(), config.node.as_str())
    })
}
