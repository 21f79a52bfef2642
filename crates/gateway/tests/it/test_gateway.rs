//! A gateway that listens, a customer with a key, and simulators behind channels.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use trunkline_account_api::run_event_hub;
use trunkline_catalog::Document as Catalog;
use trunkline_db::{Database, PoolSettings, Role, SystemClock, connect};
use trunkline_edge::listener::BoundListener;
use trunkline_gateway::{
    Change, ChangeAuthor, Router, Services, ServicesConfig, Settings, admin_listener, publish,
};
use trunkline_keyring::{Binding, Document, Keyring, Purpose, SystemRandom};
use trunkline_ledger::accounts::{
    self as ledger_accounts, AccountKind, TopUp, TopUpAnswer, Wallet,
};
use trunkline_ledger::{Ledger, LedgerTasks, audit, usage};
use trunkline_simulator::{Settings as SimulatorSettings, Simulator};
use trunkline_social::Cells;
use trunkline_store::accounts::{self, NewAccount};
use trunkline_store::channels::{
    self, NewChannel, NewCredential, credential_context, proxy_context,
};
use trunkline_store::keys::{self, NewKey};
use trunkline_store::{Policy, PolicyFields};
use trunkline_testkit::{Db, FaultProxy, random_bytes};
use trunkline_types::{AccountId, Clock as _, Money, NodeId, RequestId, Shard};
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol, Providers, UpstreamResponse};

use crate::environment::{Engines, fetcher, media, trace_to};

pub(crate) use crate::options::{ChannelOptions, OtherEngines, TestOptions};
pub(crate) use crate::response::GatewayResponse;

/// 2 USD a million input tokens, 8 USD a million output tokens: 2,000 and 8,000 nano-USD each.
pub(crate) const INPUT: i64 = 2_000;
pub(crate) const OUTPUT: i64 = 8_000;
const CATALOG: &str = include_str!("catalog.toml");
pub(crate) const CANARY: &str = "canary-credential-0123456789abcdef";

pub(crate) struct TestGateway {
    pub(crate) db: Db,
    pub(crate) data: Database,
    pub(crate) console: Database,
    pub(crate) gateway: Arc<Services>,
    pub(crate) address: SocketAddr,
    pub(crate) simulator: Simulator,
    pub(crate) account: AccountId,
    pub(crate) key: String,
    /// The line to the database, where it can be broken.
    pub(crate) wire: Option<FaultProxy>,
    pub(crate) admin: SocketAddr,
    pub(crate) stop_traces: watch::Sender<bool>,
    pub(crate) document: Document,
    pub(crate) client: Client,
    /// Where its media lie.
    pub(crate) files: tempfile::TempDir,
    pub(crate) keyring: Keyring,
    stop: watch::Sender<bool>,
    _tasks: LedgerTasks,
    pub(crate) engines: Engines,
}

impl TestGateway {
    pub(crate) async fn new() -> Self {
        Self::build(TestOptions::default()).await
    }

    /// With settings and money in the wallets, in nano-USD.
    pub(crate) async fn with(settings: Settings, paid: i64, trial: i64) -> Self {
        let options = TestOptions {
            settings,
            paid,
            trial,
            ..TestOptions::default()
        };
        Self::build(options).await
    }

    /// The gateway's own way to the database goes through a line that can be broken.
    pub(crate) async fn through_a_wire() -> Self {
        let options = TestOptions {
            breakable: true,
            ..TestOptions::default()
        };
        Self::build(options).await
    }

    /// In a box: a future that waits for a harness would carry its whole scaffold.
    pub(crate) async fn build(options: TestOptions) -> Self {
        Box::pin(Self::built(options)).await
    }

    async fn built(options: TestOptions) -> Self {
        let db = Db::fresh().await;
        let wire = options.breakable.then(|| db.wire());
        let console = db.connect(Role::Console).await;
        let data = data_pool(&db, wire.as_ref()).await;
        let simulator = started_simulator().await;
        let document = Document::generate(SystemClock.now(), &SystemRandom).unwrap();
        let keyring = || Keyring::new(&document, Arc::new(SystemRandom)).unwrap();
        let node = NodeId::new("n1").unwrap();
        let opened = Ledger::open(data.clone(), &node, options.ledger.clone());
        let (ledger, tasks) = opened.await.unwrap();
        let client = Client::new(Duration::from_secs(2)).unwrap();
        let (stop_traces, traces_stopped) = watch::channel(false);
        let traces = options.traces.clone();
        let telemetry = traces.map(|to| trace_to(to, client.clone(), traces_stopped));
        let files = tempfile::tempdir().unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let bound = BoundListener::bind(any, options.edge.clone()).await;
        let bound = bound.unwrap();
        let address = bound.address().unwrap();
        let engines = Engines::of(&options).await;
        let gateway = Services::new(ServicesConfig {
            settings: options.settings_at(address),
            ledger,
            data: data.clone(),
            providers: Providers::with_folder(&options.providers).unwrap(),
            keyring: keyring(),
            client: client.clone(),
            fetcher: options.fetcher.clone().unwrap_or_else(fetcher),
            media: media(files.path(), &data, &keyring()).await,
            limits: engines.limits.clone(),
            bus: engines.bus.clone(),
            cells: Cells::builtin().unwrap(),
            clock: options.clock,
            random: Arc::new(SystemRandom),
            telemetry,
        });
        let edge = bound.open(Router::boxed(gateway.clone()));
        let (stop, stopped) = watch::channel(false);
        let listener = TcpListener::bind(any).await.unwrap();
        let admin = listener.local_addr().unwrap();
        let admin_api = admin_listener(gateway.clone(), listener).serve(stopped.clone());
        let events = run_event_hub(gateway.account_api().clone(), stopped.clone());
        #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
        tokio::spawn(async { tokio::join!(edge.serve(stopped), admin_api, events) });
        let account = account(&console, options.paid, options.trial).await;
        let mut harness = Self {
            db,
            data,
            console,
            gateway,
            address,
            simulator,
            account,
            key: String::new(),
            wire,
            admin,
            stop_traces,
            keyring: keyring(),
            document,
            client,
            files,
            stop,
            _tasks: tasks,
            engines,
        };
        harness.key = harness.make_key(PolicyFields::default()).await;
        harness.stock().await;
        harness
    }

    /// What it sells, and channels that serve that.
    async fn stock(&self) {
        self.sell(CATALOG).await;
        let base = self.simulator.base_url();
        let own = ["sim-fast", "sim-reason", "sim-picky"].map(|name| (name, name));
        self.channel("first", &base, 10, &own).await;
        let renamed = [("public-name", "sim-fast")];
        self.channel("renamed", &base, 10, &renamed).await;
    }

    /// Changes what is sold: adds what a catalog says, and lets the gateway see it.
    pub(crate) async fn sell(&self, catalog: &str) {
        self.sell_document(Catalog::from_toml(catalog).unwrap())
            .await;
    }

    pub(crate) async fn sell_document(&self, document: Catalog) {
        let mut tx = self.console.begin().await.unwrap();
        let signed = ChangeAuthor {
            author: "harness",
            note: "",
        };
        let done = publish(&mut tx, signed, |before| Change::adding(document, before)).await;
        tx.finish(done).await.unwrap();
        self.gateway.refresh().await.unwrap();
    }

    /// A key of the harness's account.
    pub(crate) async fn make_key(&self, fields: PolicyFields) -> String {
        self.key_of(self.account, fields).await
    }

    /// A key of another account, which has no money.
    pub(crate) async fn make_account_key(&self) -> String {
        let other = account(&self.console, 0, 0).await;
        self.key_of(other, PolicyFields::default()).await
    }

    pub(crate) async fn key_of(&self, account: AccountId, fields: PolicyFields) -> String {
        let mut tx = self.console.begin().await.unwrap();
        let new = NewKey {
            account,
            parent: None,
            name: "key",
            policy: Policy::new(fields).unwrap(),
        };
        let made = keys::create(&mut tx, &new, &random_bytes()).await.unwrap();
        assert!(
            ledger_accounts::register_key(&mut tx, account, made.key.id, None)
                .await
                .unwrap()
        );
        tx.commit().await.unwrap();
        self.gateway.refresh().await.unwrap();
        made.plain.reveal().to_owned()
    }

    /// A channel to an address, with a credential that must never be seen.
    pub(crate) async fn channel(
        &self,
        name: &str,
        base: &str,
        priority: i32,
        models: &[(&str, &str)],
    ) {
        let options = ChannelOptions {
            priority,
            ..ChannelOptions::default()
        };
        self.channel_with(name, base, models, options).await;
    }

    pub(crate) async fn channel_with(
        &self,
        name: &str,
        base: &str,
        models: &[(&str, &str)],
        options: ChannelOptions<'_>,
    ) {
        let own = |(public, theirs): &(&str, &str)| ((*public).to_owned(), (*theirs).to_owned());
        let models: BTreeMap<String, String> = models.iter().map(own).collect();
        let seal = |context: &[u8], text: &str| {
            let binding = Binding::of_operator(context);
            let bytes = text.as_bytes();
            let sealed = self.keyring.seal(Purpose::Credentials, &binding, bytes);
            sealed.unwrap()
        };
        let secrets = [("main", CANARY)].into_iter();
        let secrets = secrets.chain(options.more_credentials.iter().copied());
        let sealed: Vec<(&str, Vec<u8>)> = secrets
            .map(|(label, secret)| (label, seal(&credential_context(name, label), secret)))
            .collect();
        let credentials = sealed.iter().map(|(label, sealed)| NewCredential {
            label,
            sealed,
            hint: "…cdef",
        });
        let credentials: Vec<NewCredential<'_>> = credentials.collect();
        let proxy = options.proxy.map(|text| seal(&proxy_context(name), text));
        let extra_headers = options.extra_headers.iter().map(own).collect();
        let cost = json!({
            "currency": "USD",
            "rate": { "numerator": 1, "denominator": 1, "as_of": "2026-11-15" },
            "models": { "sim-fast": { "input": 1_000_000, "output": 4_000_000, "cache_read": 100_000 } },
        });
        let new = NewChannel {
            name,
            provider: options.provider.unwrap_or("simulator"),
            base_url: Some(base),
            priority: options.priority,
            weight: 1,
            region: None,
            residency: None,
            zero_retention: false,
            models: &models,
            groups: &[],
            extra_headers: &extra_headers,
            proxy: proxy.as_deref(),
            requests_per_minute: options.requests_per_minute,
            concurrent_calls: options.concurrent_calls,
            cost: Some(&cost),
            credentials: &credentials,
        };
        let mut tx = self.console.begin().await.unwrap();
        let added = channels::add(&mut tx, &new).await;
        tx.finish(added).await.unwrap();
        self.gateway.refresh().await.unwrap();
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Bytes) -> UpstreamResponse {
        self.send_with(method, path, body, &[]).await
    }

    pub(crate) async fn send_with(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        extra: &[(&'static str, &str)],
    ) -> UpstreamResponse {
        self.send_as((self.address, &self.key), method, path, body, extra)
            .await
    }

    /// To this node, with this key.
    pub(crate) async fn send_as(
        &self,
        (address, key): (SocketAddr, &str),
        method: Method,
        path: &str,
        body: Bytes,
        extra: &[(&'static str, &str)],
    ) -> UpstreamResponse {
        let mut headers = HeaderMap::new();
        let bearer = format!("Bearer {key}");
        headers.insert(AUTHORIZATION, HeaderValue::from_str(&bearer).unwrap());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in extra {
            headers.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        let minute = Duration::from_secs(60);
        let call = Outgoing {
            method,
            uri: format!("http://{address}{path}").parse().unwrap(),
            headers,
            body: body.into(),
            deadlines: Deadlines {
                first_byte: minute,
                idle: minute,
                total: minute,
            },
            proxy: None,
            protocol: Protocol::Http1,
        };
        self.client.send(call).await.unwrap()
    }

    /// What the admin listener says of the node's numbers.
    pub(crate) async fn metrics(&self) -> String {
        let minute = Duration::from_secs(60);
        let call = Outgoing {
            method: Method::GET,
            uri: format!("http://{}/metrics", self.admin).parse().unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::new().into(),
            deadlines: Deadlines {
                first_byte: minute,
                idle: minute,
                total: minute,
            },
            proxy: None,
            protocol: Protocol::Http1,
        };
        GatewayResponse::read(self.client.send(call).await.unwrap())
            .await
            .text()
    }

    pub(crate) async fn get(&self, path: &str) -> GatewayResponse {
        GatewayResponse::read(self.send(Method::GET, path, Bytes::new()).await).await
    }

    /// A chat call, read to its end.
    pub(crate) async fn chat(&self, body: &Value) -> GatewayResponse {
        self.chat_with(body, &[]).await
    }

    pub(crate) async fn chat_with(
        &self,
        body: &Value,
        extra: &[(&'static str, &str)],
    ) -> GatewayResponse {
        let bytes = Bytes::from(body.to_string());
        let path = "/v1/chat/completions";
        GatewayResponse::read(self.send_with(Method::POST, path, bytes, extra).await).await
    }

    /// Posted and held, in nano-USD, of the paid and the trial wallet.
    pub(crate) async fn wallets(&self) -> [i64; 4] {
        let balance = ledger_accounts::balance(&self.data, self.account)
            .await
            .unwrap()
            .unwrap();
        let all = [
            balance.paid,
            balance.paid_held,
            balance.trial,
            balance.trial_held,
        ];
        all.map(Money::nanos)
    }

    /// Waits until nothing is held, and returns what is posted.
    pub(crate) async fn posted_at_rest(&self) -> i64 {
        for _ in 0..1_000 {
            let [paid, paid_held, trial, trial_held] = self.wallets().await;
            if paid_held == 0 && trial_held == 0 && self.gateway.calls_in_flight() == 0 {
                return paid + trial;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("something is still held: {:?}", self.wallets().await);
    }

    /// The outcome, units and cost of a call, and what it was charged in nano-USD.
    pub(crate) async fn usage(&self, id: &str) -> (String, i64, Option<i64>, bool) {
        let request: RequestId = id.parse().unwrap();
        let row = usage::find(&self.data, self.account, request)
            .await
            .unwrap();
        let row = row.expect("the call is over");
        let charged = row.paid.nanos() + row.trial.nanos();
        (
            row.outcome,
            charged,
            row.cost.map(Money::nanos),
            row.estimated,
        )
    }

    pub(crate) async fn audit(&self) {
        let auditor = self.db.connect(Role::Audit).await;
        let report = audit::run(&auditor).await.unwrap();
        assert!(report.violations.is_empty(), "{:#?}", report.violations);
    }
}

impl Drop for TestGateway {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

async fn started_simulator() -> Simulator {
    let started = Simulator::start(SimulatorSettings::default()).await;
    started.unwrap()
}

/// The gateway's way to the database.
async fn data_pool(db: &Db, wire: Option<&FaultProxy>) -> Database {
    let Some(wire) = wire else {
        return db.connect(Role::Data).await;
    };
    let url = db.url_through(wire, Role::Data);
    let settings = PoolSettings::named("wired");
    connect(&url, Role::Data, settings).await.unwrap()
}

pub(crate) fn ask(prompt: &str) -> Value {
    json!({ "model": "sim-fast", "messages": [{ "role": "user", "content": prompt }] })
}

pub(crate) fn ask_streaming(prompt: &str) -> Value {
    let mut body = ask(prompt);
    body["stream"] = true.into();
    body
}

pub(crate) async fn account(console: &Database, paid: i64, trial: i64) -> AccountId {
    let mut tx = console.begin().await.unwrap();
    let id = ledger_accounts::create_account(&mut tx, AccountKind::Live)
        .await
        .unwrap();
    let new = NewAccount {
        id,
        name: "Ada",
        group: "default",
        allowed_groups: &["vip", "odd", "third"].map(str::to_owned),
        shard: Shard::new(1).unwrap(),
    };
    accounts::create(&mut tx, &new).await.unwrap();
    for (wallet, amount) in [(Wallet::Paid, paid), (Wallet::Trial, trial)] {
        if amount > 0 {
            let top_up = TopUp {
                request: RequestId::new(SystemClock.now(), random_bytes()),
                account: id,
                wallet,
                amount: Money::from_nanos(amount),
                provider: "test".to_owned(),
                event: format!("{} of {}", wallet.as_str(), id.number()),
            };
            let done = ledger_accounts::top_up(&mut tx, &top_up).await.unwrap();
            assert_eq!(done, TopUpAnswer::Done);
        }
    }
    tx.commit().await.unwrap();
    id
}
