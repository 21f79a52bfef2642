//! A second gateway on the same database, a clock that is set by hand, and quotes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::sync::watch;
use trunkline_db::Role;
use trunkline_db::bus::Bus;
use trunkline_edge::listener::{BoundListener, EdgeSettings};
use trunkline_gateway::{Router, Services, ServicesConfig, Settings};
use trunkline_keyring::{Keyring, SystemRandom};
use trunkline_ledger::{Ledger, LedgerSettings, LedgerTasks, audit, partitions};
use trunkline_limits::Limits;
use trunkline_social::Cells;
use trunkline_types::{Clock, NodeId, Timestamp};
use trunkline_upstream::Providers;

use crate::environment::{fetcher, media};
use crate::options::WIDE;
use crate::test_gateway::{GatewayResponse, TestGateway};

/// A clock that stands where it is put.
#[derive(Debug, Clone)]
pub(crate) struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    pub(crate) fn at(seconds: i64) -> Self {
        Self(Arc::new(AtomicI64::new(seconds * 1_000_000)))
    }

    pub(crate) fn put(&self, seconds: i64) {
        self.0.store(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Another node.
pub(crate) struct Node {
    pub(crate) gateway: Arc<Services>,
    pub(crate) address: SocketAddr,
    stop: watch::Sender<bool>,
    _tasks: LedgerTasks,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

/// Settings without limits of keys, but for those that a test gives.
fn usual() -> Settings {
    wide(Settings::default())
}

/// The same settings without limits of keys.
fn wide(mut settings: Settings) -> Settings {
    settings.accept.limits = WIDE;
    settings
}

impl TestGateway {
    /// A second node beside the harness's own, with the same keys and ledger.
    pub(crate) async fn second_node(&self, clock: Arc<dyn Clock>) -> Node {
        self.second_node_on(clock, Bus::local()).await
    }

    /// The same with a way of events between the two.
    pub(crate) async fn second_node_on(&self, clock: Arc<dyn Clock>, bus: Bus) -> Node {
        let engines = (Limits::local(), bus);
        self.node_on("n2", clock, usual(), engines).await
    }

    /// The same, with its requests counted there.
    pub(crate) async fn second_node_counting(&self, clock: Arc<dyn Clock>, limits: Limits) -> Node {
        let engines = (limits, Bus::local());
        self.node_on("n2", clock, usual(), engines).await
    }

    /// One more node.
    pub(crate) async fn node(&self, name: &str, clock: Arc<dyn Clock>, settings: Settings) -> Node {
        let engines = (Limits::local(), Bus::local());
        // Nodes that count in one Redis have the same limits.
        self.node_on(name, clock, wide(settings), engines).await
    }

    /// One more, with these engines.
    pub(crate) async fn node_on(
        &self,
        name: &str,
        clock: Arc<dyn Clock>,
        settings: Settings,
        (limits, bus): (Limits, Bus),
    ) -> Node {
        let (limits, bus) = self.engines.beside(name, limits, bus).await;
        let name = NodeId::new(name).unwrap();
        let (ledger, tasks) = Ledger::open(self.data.clone(), &name, LedgerSettings::default())
            .await
            .unwrap();
        let keyring = Keyring::new(&self.document, Arc::new(SystemRandom)).unwrap();
        let gateway = Services::new(ServicesConfig {
            settings,
            ledger,
            data: self.data.clone(),
            providers: Providers::builtin().unwrap(),
            keyring: keyring.clone(),
            client: self.client.clone(),
            fetcher: fetcher(),
            media: media(self.files.path(), &self.data, &keyring).await,
            limits,
            bus,
            cells: Cells::builtin().unwrap(),
            clock,
            random: Arc::new(SystemRandom),
            telemetry: None,
        });
        gateway.refresh().await.unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let bound = BoundListener::bind(any, EdgeSettings::default())
            .await
            .unwrap();
        let address = bound.address().unwrap();
        let edge = bound.open(Router::boxed(gateway.clone()));
        let (stop, stopped) = watch::channel(false);
        let events =
            trunkline_account_api::run_event_hub(gateway.account_api().clone(), stopped.clone());
        #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
        tokio::spawn(async { tokio::join!(edge.serve(stopped), events) });
        Node {
            gateway,
            address,
            stop,
            _tasks: tasks,
        }
    }

    /// Creates the ledger's partitions for calls of the next fourteen days: a call's id says when it was made.
    pub(crate) async fn two_weeks_ahead(&self) {
        const WEEK: i64 = 7 * 24 * 3_600;
        self.db.shift_clock(WEEK).await;
        partitions::ensure(&self.data).await.unwrap();
        self.db.shift_clock(-WEEK).await;
    }

    /// The ledger's audit passes, but for its clock, which was moved.
    pub(crate) async fn audit_but_for_the_clock(&self) {
        let auditor = self.db.connect(Role::Audit).await;
        let report = audit::run(&auditor).await.unwrap();
        let views: Vec<&str> = report
            .violations
            .iter()
            .map(|one| one.view.as_ref())
            .collect();
        assert_eq!(
            views,
            ["app.audit_clock_shifted"],
            "{:#?}",
            report.violations
        );
    }

    /// What a call would cost.
    pub(crate) async fn quote(&self, body: &Value) -> GatewayResponse {
        self.quote_with(body, &[]).await
    }

    pub(crate) async fn quote_with(
        &self,
        body: &Value,
        extra: &[(&'static str, &str)],
    ) -> GatewayResponse {
        let ask = json!({ "endpoint": "/v1/chat/completions", "body": body });
        let bytes = Bytes::from(ask.to_string());
        GatewayResponse::read(
            self.send_with(Method::POST, "/v1/quotes", bytes, extra)
                .await,
        )
        .await
    }
}

/// An amount in USD as nano-USD; it must have no more digits than that.
pub(crate) fn nanos(text: &Value) -> i64 {
    let text = text.as_str().unwrap();
    let amount: trunkline_types::Money = text.parse().unwrap();
    amount.nanos()
}
