//! A running node: the gateway with its listeners and the jobs that keep it, started and stopped as
//! one.

mod background;
mod keyring;
mod listeners;
mod open;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use trunkline_blobs::MediaSettings;
use trunkline_console::ConsoleSettings;
use trunkline_db::bus::NatsSettings;
use trunkline_db::{Database, SystemClock};
use trunkline_edge::listener::EdgeSettings;
use trunkline_edge::telemetry::TelemetrySettings;
use trunkline_gateway::{Services, ServicesConfig, Settings};
use trunkline_keyring::{Keyring, SystemRandom};
use trunkline_ledger::LedgerTasks;
use trunkline_limits::RedisSettings;
use trunkline_mail::MailSettings;
use trunkline_payments::StripeSettings;
use trunkline_social::Cells;
use trunkline_types::NodeId;
use trunkline_upstream::safe_fetch::{SafeFetchSettings, SafeFetcher};
use trunkline_upstream::{Client, Providers, Roots};
use trunkline_worker::{JobContext, Retention};

use self::background::Background;
use self::listeners::{Addresses, ConsoleDeps, Listeners};
use self::open::Traces;
use crate::config::{self, DrainTimes, Roles};
use crate::handover::{self, ListenerAt};
use crate::setup_link::first_link;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// After a handover no caller waits for the end of this process, so its calls may take as long as any call may.
const HANDOVER_DRAIN: Duration = Duration::from_secs(3_600);
/// A request that was on its way when its connection was told to end has come by then.
const LAST_REQUESTS: Duration = Duration::from_secs(1);

/// What a node is made of.
pub(crate) struct NodeConfig {
    pub(crate) name: NodeId,
    pub(crate) roles: Roles,
    pub(crate) data: Database,
    /// The same under the role console; none for a process that serves no console.
    pub(crate) people: Option<Database>,
    pub(crate) keyring: Keyring,
    /// Where the keyring is read anew after a rotation; none for one that is kept as text.
    pub(crate) keyring_file: Option<PathBuf>,
    pub(crate) providers: Providers,
    pub(crate) cells: Cells,
    pub(crate) extra_roots: Roots,
    pub(crate) media: MediaSettings,
    pub(crate) fetch: SafeFetchSettings,
    pub(crate) settings: Settings,
    pub(crate) retention: Retention,
    /// Listening sockets of the process before, where this one takes over.
    pub(crate) sockets: Vec<(ListenerAt, std::net::TcpListener)>,
    pub(crate) edge: SocketAddr,
    pub(crate) edge_settings: EdgeSettings,
    pub(crate) console: SocketAddr,
    pub(crate) console_settings: ConsoleSettings,
    pub(crate) admin: SocketAddr,
    /// Payments; none where no provider is configured, or no role of this node has to do with them.
    pub(crate) payments: Option<PaymentsConfig>,
    /// Mail server; none to keep emails for the operator.
    pub(crate) mail: Option<MailSettings>,
    pub(crate) alarms: config::Alarms,
    pub(crate) telemetry: Option<TelemetrySettings>,
    /// The way of events between nodes; none to read their table alone.
    pub(crate) nats: Option<NatsSettings>,
    /// Where limits are counted over nodes; none to count them here.
    pub(crate) redis: Option<RedisSettings>,
}

/// How payments are made, and the database under the role console.
pub(crate) struct PaymentsConfig {
    pub(crate) stripe: StripeSettings,
    pub(crate) database: Database,
}

/// A node that is running.
pub(crate) struct Node {
    pub(crate) gateway: Arc<Services>,
    /// None if it answers no calls.
    pub(crate) edge: Option<SocketAddr>,
    /// None if it serves no console.
    pub(crate) console: Option<SocketAddr>,
    pub(crate) admin: SocketAddr,
    data: Database,
    people: Option<Database>,
    at_console: ConsoleSettings,
    ledger_tasks: LedgerTasks,
    background: Background,
    traces: Traces,
}

impl NodeConfig {
    /// Where it listens, by what it does.
    fn addresses(&self) -> Addresses {
        Addresses {
            edge: self.roles.edge.then_some(self.edge),
            console: self.roles.console.then_some(self.console),
            admin: self.admin,
        }
    }
}

impl Node {
    /// Takes its addresses, registers, reads what it needs to know, and serves. In this order: to
    /// register ends the life of a process of the same name, which must not happen to one that runs
    /// because a second one was started by mistake.
    pub(crate) async fn start(plan: NodeConfig) -> anyhow::Result<Self> {
        let proxies = plan.edge_settings.trusted_proxies.clone();
        let listeners = Listeners::bind(plan.addresses(), plan.edge_settings, plan.sockets).await?;
        let addresses = listeners.addresses()?;
        let mut settings = open::with_port(plan.settings, plan.edge, addresses.edge);
        let (data, configured, bound) = (plan.data, plan.console, addresses.console);
        let at_console = open::with_ports(plan.console_settings, configured, bound, &mut settings);
        let (ledger, ledger_tasks) = open::ledger(&data, &plan.name).await?;
        let author = ledger.node_epoch().clone();
        let client = Client::with_roots(CONNECT_TIMEOUT, &plan.extra_roots)?;
        let (telemetry, traces) = open::traces(plan.telemetry, &client);
        let (limits, keeper) = open::limits(plan.redis)?;
        let media = open::media(&plan.media, &data, &plan.keyring, &plan.name).await?;
        let gateway = Services::new(ServicesConfig {
            fetcher: SafeFetcher::new(plan.fetch)?,
            media: media.clone(),
            limits,
            bus: open::bus(plan.nats, &data, &author).await?,
            cells: plan.cells,
            settings,
            ledger,
            data: data.clone(),
            providers: plan.providers.clone(),
            keyring: plan.keyring.clone(),
            client: client.clone(),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            telemetry,
        });
        open::refresh(&gateway, &plan.name).await?;
        let reload = keyring::Reload::of(&plan.keyring, plan.keyring_file);
        let mail = open::mail_worker(plan.mail.as_ref(), &data, &plan.keyring, &at_console)?;
        let payments = open::payments(plan.payments, &client);
        let alarms = open::alarms(&plan.name, plan.alarms, &client);
        let console = plan.people.clone().map(|people| ConsoleDeps {
            data: data.clone(),
            people,
            keyring: plan.keyring,
            settings: at_console.clone(),
            client,
            proxies,
            payments: payments.as_ref().map(|jobs| jobs.payments.clone()),
            upstreams: Arc::new(plan.providers),
        });
        let worker = plan.roles.worker.then(|| JobContext {
            gateway: gateway.clone(),
            data: data.clone(),
            mail,
            media,
            retention: plan.retention,
            payments,
            alarms,
        });
        let mut background =
            Background::start(&gateway, &data, listeners, console, worker, keeper, author);
        background.keep(|stop| keyring::run_reload(gateway.clone(), reload, stop));
        Ok(Self {
            gateway,
            edge: addresses.edge,
            console: addresses.console,
            admin: addresses.admin,
            data,
            people: plan.people,
            at_console,
            ledger_tasks,
            background,
            traces,
        })
    }

    /// The link that makes the first operator; none if there is one, or if no console is served here.
    pub(crate) async fn setup_link(&self) -> anyhow::Result<Option<String>> {
        match &self.people {
            Some(people) => first_link(people, &self.at_console).await,
            None => Ok(None),
        }
    }

    /// Waits until another process has registered this node's next epoch; then its writes are rejected.
    pub(crate) async fn replaced(&self) {
        let mut replaced = self.background.replaced.clone();
        // The task that would tell is gone only when the node is.
        drop(replaced.wait_for(|over| *over).await);
    }

    /// Starts a successor and passes it the listening sockets. Returns its process id when it serves; an error means
    /// that this node serves on.
    pub(crate) async fn hand_over(&self) -> anyhow::Result<u32> {
        handover::hand_over(self.gateway.node(), &self.background.passed).await
    }

    /// Leaves after a handover: accepts nothing, ends idle connections, and lets calls run to their end, however long
    /// they take. Told to stop, it gives them the usual time.
    pub(crate) async fn leave(self, times: DrainTimes, told_to_stop: impl Future<Output = ()>) {
        self.background.hand_over();
        self.gateway.leave_to_successor().await;
        let calls_end = async {
            // Busy connections end with their next response. What is idle after that is closed.
            tokio::time::sleep(times.notice).await;
            self.background.stop_listening();
            tokio::time::sleep(LAST_REQUESTS).await;
            self.gateway.finish(HANDOVER_DRAIN).await;
        };
        tokio::select! {
            () = calls_end => {}
            () = told_to_stop => {
                self.background.stop_listening();
                self.gateway.finish(times.drain).await;
            }
        }
        self.finish(times.drain).await;
    }

    /// Says that it leaves and serves on until balancers have noticed; then takes no new calls, lets
    /// running ones end within the time given, and is gone.
    pub(crate) async fn stop(self, DrainTimes { notice, drain }: DrainTimes) {
        self.gateway.begin_drain();
        tokio::time::sleep(notice).await;
        self.background.stop_listening();
        self.gateway.finish(drain).await;
        self.finish(drain).await;
    }

    /// Ends what is left when no call runs.
    async fn finish(self, drain: Duration) {
        self.background.finish(drain).await;
        // After the last call has ended; it takes a bounded time by itself.
        self.traces.finish().await;
        drop(self.gateway);
        let flushed = self.ledger_tasks.finish();
        if tokio::time::timeout(drain, flushed).await.is_err() {
            tracing::error!(
                "ledger did not flush before shutdown; open holds will be voided at the node's next start"
            );
        }
        drop(self.data.close().await);
        if let Some(people) = self.people {
            drop(people.close().await);
        }
    }
}
