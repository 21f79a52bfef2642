//! A console with a database of its own, and what it answered.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use serde_json::{Value, json};
use trunkline_catalog::workflow::Workflow;
use trunkline_console::{Console, ConsoleSettings, Parts, RequestIds};
use trunkline_db::{Database, Role, SystemClock};
use trunkline_keyring::{Document, Keyring, SystemRandom};
use trunkline_store::workflows;
use trunkline_testkit::{Db, random_bytes};
use trunkline_types::{Clock as _, RequestId, Timestamp};
use trunkline_upstream::{Client, Providers};

use crate::fake_catalog::FakeCatalog;

const BASE: &str = include_str!("../../../catalog/tests/fixtures/workflows/base.json");

/// Where the console of tests is opened.
pub(crate) const DASH_URL: &str = "http://127.0.0.1:8081";

pub(crate) struct TestConsole {
    pub(crate) console: Console,
    pub(crate) fake_catalog: Arc<FakeCatalog>,
    /// Under the role console.
    pub(crate) people: Database,
    pub(crate) db: Db,
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Ids whose moment is a counter, so that no two are the same.
pub(crate) fn ids() -> RequestIds {
    let moments = AtomicI64::new(1_800_000_000_000_000);
    Arc::new(move || {
        let moment = Timestamp::from_micros(moments.fetch_add(1_000, Ordering::Relaxed));
        RequestId::new(moment, random_bytes())
    })
}

/// A record under a name of its own.
pub(crate) fn record(name: &str) -> Value {
    let mut record: Value = serde_json::from_str(BASE).unwrap();
    record["slug"] = json!(name);
    record["workflow_id"] = json!(name);
    record
}

impl TestConsole {
    pub(crate) async fn new() -> Self {
        Self::with(ConsoleSettings::at(DASH_URL, "http://127.0.0.1:8080/v1")).await
    }

    pub(crate) async fn with(settings: ConsoleSettings) -> Self {
        let db = Db::fresh().await;
        let fake_catalog = FakeCatalog::new();
        let people = db.connect(Role::Console).await;
        let data = db.connect(Role::Data).await;
        Self {
            console: Console::new(parts(data, people.clone(), &fake_catalog, settings)),
            fake_catalog,
            people,
            db,
        }
    }

    /// Another console over the same database.
    pub(crate) async fn restarted(self, settings: ConsoleSettings) -> Self {
        let data = self.db.connect(Role::Data).await;
        let console = Console::new(parts(
            data,
            self.people.clone(),
            &self.fake_catalog,
            settings,
        ));
        Self { console, ..self }
    }

    pub(crate) async fn keep(&self, record: &Value) {
        let workflow = Workflow::read(&record.to_string()).unwrap();
        let mut tx = self.people.begin().await.unwrap();
        let done = workflows::import(&mut tx, workflow).await;
        tx.finish(done).await.unwrap();
    }

    pub(crate) async fn ask(&self, request: Request<Body>) -> Response {
        ask(&self.console, request).await
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.ask(request(Method::GET, path)).await
    }
}

/// What a console is made of, but for its database.
pub(crate) fn parts(
    data: Database,
    people: Database,
    fake_catalog: &Arc<FakeCatalog>,
    settings: ConsoleSettings,
) -> Parts {
    let document = Document::generate(SystemClock.now(), &SystemRandom).unwrap();
    Parts {
        data,
        people,
        keyring: Keyring::new(&document, Arc::new(SystemRandom)).unwrap(),
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        settings,
        callers: Arc::new(|headers, peer| {
            // As the edge does behind a proxy that it trusts.
            let reported = headers.get("x-forwarded-for");
            let reported = reported.and_then(|value| value.to_str().ok()?.parse().ok());
            reported.unwrap_or(peer)
        }),
        client: Client::new(Duration::from_secs(5)).unwrap(),
        payments: None,
        upstreams: Arc::new(Providers::builtin().unwrap()),
        gateway: Arc::<FakeCatalog>::clone(fake_catalog),
        request_ids: ids(),
    }
}

pub(crate) async fn ask(console: &Console, request: Request<Body>) -> Response {
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let (head, body) = console.answer_whole(request, peer).await.into_parts();
    Response {
        status: head.status,
        headers: head.headers,
        body,
    }
}

pub(crate) fn request(method: Method, path: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(path);
    request.body(Body::empty()).unwrap()
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value
            .unwrap_or_else(|| panic!("{name}: {self:?}"))
            .to_str()
            .unwrap()
    }

    /// The error, after a look at everything that every error has.
    pub(crate) fn error(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/json");
        let error = self.json()["error"].clone();
        assert_eq!(error["code"], code, "{error}");
        assert_eq!(error["request_id"], self.header("x-request-id"));
        assert_eq!(error["charged"], false);
        let page = format!("{DASH_URL}/docs/errors#{code}");
        assert_eq!(error["doc_url"], page);
        let keys: Vec<&String> = error.as_object().unwrap().keys().collect();
        assert_eq!(keys.len(), 8, "{keys:?}");
        error
    }
}
