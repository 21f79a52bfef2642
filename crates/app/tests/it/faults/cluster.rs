//! Many nodes: three gateways and two workers, each in a network namespace of its own, one Redis, three NATS
//! servers and a PostgreSQL. Everything can be killed, and every cable be pulled.

mod chaos;
mod engines;
mod event_readers;
mod fixtures;
mod load;
mod node;
mod rolling_restart;
mod standby_failover;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use trunkline_db::{Database, PoolSettings, Role, SystemClock, connect};
use trunkline_keyring::{Document, FileSource, Keyring, SystemRandom};
use trunkline_simulator::{Settings, Simulator};
use trunkline_testkit::{FaultProxy, HostBridge, Nats, OwnSettings, Postgres, Redis};
use trunkline_types::Clock as _;

use self::fixtures::Customer;
use self::node::ClusterNode;

/// Gateways and workers.
const GATEWAYS: usize = 3;
const WORKERS: usize = 2;

/// All of it.
pub(crate) struct Cluster {
    pub(crate) postgres: Postgres,
    pub(crate) redis: Redis,
    pub(crate) nats: [Nats; 3],
    _simulator: Simulator,
    pub(crate) gateways: Vec<ClusterNode>,
    pub(crate) workers: Vec<ClusterNode>,
    pub(crate) console: Database,
    pub(crate) data: Database,
    lines: EngineLinks,
    _folder: tempfile::TempDir,
    // Last: the lines listen on it.
    _host_bridge: HostBridge,
}

/// How every network namespace reaches the engines.
pub(crate) struct EngineLinks {
    pub(crate) postgres: FaultProxy,
    pub(crate) redis: FaultProxy,
    pub(crate) nats: [FaultProxy; 3],
    _upstream: FaultProxy,
}

/// What its nodes are told beside the addresses.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClusterOptions {
    /// Further variables of the environment.
    pub(crate) environment: Vec<(&'static str, String)>,
}

impl Cluster {
    /// Starts it, in a test that is privileged.
    pub(crate) async fn new(options: ClusterOptions) -> Self {
        let postgres = Postgres::own(OwnSettings {
            durable: true,
            max_connections: 200,
            ..OwnSettings::default()
        })
        .await;
        let pool = async |role| {
            let url = postgres.direct_url(role);
            let settings = PoolSettings::named("cluster");
            connect(&url, role, settings).await.unwrap()
        };
        let (console, data) = (pool(Role::Console).await, pool(Role::Data).await);
        let (redis, nats) = (Redis::start().await, Nats::cluster().await);
        let simulator = Simulator::start(Settings::default()).await.unwrap();
        let host_bridge = HostBridge::take();
        let line = |to: SocketAddr| FaultProxy::on(host_bridge.address(), to);
        let upstream = line(simulator.address());
        let folder = tempfile::tempdir().unwrap();
        let document = Document::generate(SystemClock.now(), &SystemRandom).unwrap();
        let path = folder.path().join("keyring.toml");
        FileSource::new(path).create(&document).unwrap();
        let keyring = Keyring::new(&document, Arc::new(SystemRandom)).unwrap();
        fixtures::sell(&console).await;
        let base = SocketAddr::new(host_bridge.address(), upstream.port());
        fixtures::channel(&console, &keyring, base).await;
        let lines = EngineLinks {
            postgres: line(postgres.address()),
            redis: line(redis.address()),
            nats: [0, 1, 2].map(|server: usize| line(nats[server].address())),
            _upstream: upstream,
        };
        let shared = node::Shared::new(&postgres, &lines, host_bridge.address(), options);
        let node = |name: String, roles| ClusterNode::new(name, roles, &shared, folder.path());
        let gateways = (0..GATEWAYS).map(|number| node(format!("gateway-{number}"), "edge"));
        let workers = (0..WORKERS).map(|number| node(format!("worker-{number}"), "worker"));
        let mut the_cluster = Self {
            gateways: gateways.collect(),
            workers: workers.collect(),
            postgres,
            redis,
            nats,
            _simulator: simulator,
            console,
            data,
            lines,
            _folder: folder,
            _host_bridge: host_bridge,
        };
        for node in the_cluster
            .gateways
            .iter_mut()
            .chain(&mut the_cluster.workers)
        {
            node.start().await;
        }
        the_cluster
    }

    /// Where the gateways listen.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.gateways.iter().map(ClusterNode::address).collect()
    }

    /// A customer with money.
    pub(crate) async fn customer(&self, paid: i64) -> Customer {
        fixtures::customer(&self.console, paid).await
    }

    /// Waits until every hold is resolved: what died is let go by its next life or its peers.
    pub(crate) async fn settled(&self) {
        let open = "SELECT count(*)::text FROM ledger.any_hold WHERE state = 'open'";
        let began = tokio::time::Instant::now();
        loop {
            let count = self.postgres.ask(open).await;
            if count == ["0"] {
                return;
            }
            assert!(
                began.elapsed() < Duration::from_secs(90),
                "holds stay open: {count:?}\n{}",
                self.logs("hold")
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Lines of the nodes' logs that hold a word, to look for the cause.
    pub(crate) fn logs(&self, word: &str) -> String {
        let nodes = self.gateways.iter().chain(&self.workers);
        nodes.map(|node| node.log(word)).collect()
    }
}
