//! What a node opens before it serves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::sync::watch;
use tokio::task::JoinSet;
use trunkline_account_api::AlarmReceiver;
use trunkline_blobs::{Media, MediaSettings};
use trunkline_console::ConsoleSettings;
use trunkline_db::Database;
use trunkline_db::bus::{Bus, NatsSettings};
use trunkline_edge::telemetry::{Telemetry, TelemetrySettings};
use trunkline_gateway::{MediaSealError, Services, Settings, media_seal};
use trunkline_keyring::{Keyring, SystemRandom};
use trunkline_ledger::{Ledger, LedgerSettings, LedgerTasks, NodeEpoch, partitions, recovery};
use trunkline_limits::{Limits, RedisSettings, SyncTask};
use trunkline_mail::{Instance, MailSettings, MailWorker, Mailer};
use trunkline_payments::{Payments, Stripe};
use trunkline_types::NodeId;
use trunkline_upstream::Client;
use trunkline_worker::{AlarmSettings, Alarms, PaymentJobs};

use super::{PaymentsConfig, keyring};
use crate::config;

/// A node without a heartbeat for so long does not run.
const LIVE_WITHIN: Duration = Duration::from_secs(15);

/// The exporter of traces, where there is one.
pub(super) struct Traces {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

// === impl Traces ===

impl Traces {
    /// Sends what is left.
    pub(super) async fn finish(mut self) {
        self.stop.send_replace(true);
        while self.tasks.join_next().await.is_some() {}
    }
}

/// The ledger, with its partitions, in this node's name.
pub(super) async fn ledger(
    data: &Database,
    name: &NodeId,
) -> anyhow::Result<(Ledger, LedgerTasks)> {
    let made = partitions::ensure(data).await;
    made.context("cannot create the ledger's partitions")?;
    let opened = Ledger::open(data.clone(), name, LedgerSettings::default());
    opened.await.context("cannot register this node")
}

/// What a gateway must know before its first call, and the others of it.
pub(super) async fn refresh(gateway: &Services, name: &NodeId) -> anyhow::Result<()> {
    keyring::register(gateway, name).await?;
    let read = gateway.refresh().await;
    read.context("cannot read keys, channels and the catalog")?;
    Ok(())
}

/// The media store, whose files are sealed.
pub(super) async fn media(
    settings: &MediaSettings,
    data: &Database,
    keyring: &Keyring,
    name: &NodeId,
) -> anyhow::Result<Media> {
    let media = Media::open(settings).await;
    let media = media.context("cannot open the media store")?;
    match media_seal(data, keyring).await {
        Ok(seal) => Ok(media.sealed(seal)),
        Err(MediaSealError::Lags(lags)) => {
            bail!("node {:?} does not start: {lags}", name.as_str())
        }
        Err(error) => Err(error).context("cannot seal files of the media store"),
    }
}

/// The counters, and who keeps them together with Redis where there is one.
pub(super) fn limits(redis: Option<RedisSettings>) -> anyhow::Result<(Limits, Option<SyncTask>)> {
    let Some(settings) = redis else {
        return Ok((Limits::local(), None));
    };
    let (limits, keeper) = Limits::redis(settings)?;
    Ok((limits, Some(keeper)))
}

pub(super) fn mail_worker(
    mail: Option<&MailSettings>,
    data: &Database,
    keyring: &Keyring,
    console: &ConsoleSettings,
) -> anyhow::Result<MailWorker> {
    let mailer = mail.map(Mailer::new).transpose()?;
    let keyring = Arc::new(keyring.clone());
    let instance = Instance {
        name: console.name.clone(),
        console_url: console.dash_url.clone(),
    };
    Ok(MailWorker::new(data.clone(), keyring, instance, mailer))
}

/// Payments, for the console and for jobs.
pub(super) fn payments(config: Option<PaymentsConfig>, client: &Client) -> Option<PaymentJobs> {
    let config = config?;
    let stripe = Stripe::new(config.stripe, client.clone());
    Some(PaymentJobs {
        payments: Payments::new(Arc::new(stripe), Arc::new(SystemRandom)),
        database: config.database,
    })
}

/// What tells the operator of alarms.
pub(super) fn alarms(name: &NodeId, reported: config::Alarms, client: &Client) -> Alarms {
    let webhook = reported.webhook;
    let settings = AlarmSettings {
        emails: reported.emails,
        webhook: webhook.map(|target| AlarmReceiver::new(target, client.clone())),
        wait: reported.wait,
        limits: reported.limits,
    };
    Alarms::new(name.as_str(), settings)
}

/// The way to the collector of traces, and what walks it.
pub(super) fn traces(
    settings: Option<TelemetrySettings>,
    client: &Client,
) -> (Option<Telemetry>, Traces) {
    let (stop, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let telemetry = settings.map(|settings| {
        let (telemetry, exporter) = Telemetry::open(settings, client.clone());
        tasks.spawn(exporter.run(stopped));
        telemetry
    });
    (telemetry, Traces { stop, tasks })
}

/// Refuses to start with NATS beside nodes without it, and the other way round: a node without it takes away
/// the copies of events that others wait for.
async fn agree_on_nats(data: &Database, node: &NodeEpoch, uses_nats: bool) -> anyhow::Result<()> {
    let others = recovery::agree_on_nats(data, node, uses_nats, LIVE_WITHIN);
    let others = others.await.context("cannot read which nodes use NATS")?;
    if others.is_empty() {
        return Ok(());
    }
    let (own, theirs) = match uses_nats {
        true => ("uses NATS", "without it"),
        false => ("has no [nats]", "with it"),
    };
    let (node, others) = (node.node.as_str(), others.join(", "));
    let within = LIVE_WITHIN.as_secs();
    bail!(
        "node {node:?} {own} and runs beside {others} {theirs}; set nats on every node or on none, and \
         start again {within} seconds after the last other one stopped"
    )
}

/// The way of events to other nodes.
pub(super) async fn bus(
    nats: Option<NatsSettings>,
    data: &Database,
    node: &NodeEpoch,
) -> anyhow::Result<Bus> {
    agree_on_nats(data, node, nats.is_some()).await?;
    match nats {
        None => Ok(Bus::local()),
        Some(settings) => Bus::nats(settings).await.context("cannot use NATS"),
    }
}

/// Links are made of the address that is really listened on.
pub(super) fn with_port(
    mut settings: Settings,
    configured: SocketAddr,
    is: Option<SocketAddr>,
) -> Settings {
    if let Some(is) = is.filter(|_| configured.port() == 0) {
        settings.public_url = format!("http://{is}");
    }
    settings
}

/// The same for the console, which tells of the edge's address too, as the edge does of the console's:
/// its errors are explained there.
pub(super) fn with_ports(
    mut settings: ConsoleSettings,
    configured: SocketAddr,
    is: Option<SocketAddr>,
    edge: &mut Settings,
) -> ConsoleSettings {
    if let Some(is) = is.filter(|_| configured.port() == 0) {
        settings.dash_url = format!("http://{is}");
    }
    settings.base_url = format!("{}/v1", edge.public_url);
    edge.accept.error_pages = settings.error_pages();
    settings
}
