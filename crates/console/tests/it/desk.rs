//! A console with a database of its own, and what it answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use serde_json::{Value, json};
use trunkline_catalog::workflow::Workflow;
use trunkline_console::{Console, Parts, RequestIds};
use trunkline_db::{Database, Role};
use trunkline_store::workflows;
use trunkline_terms::{Moment, RequestId};
use trunkline_testkit::{Db, random_bytes};

use crate::stall::Stall;

const BASE: &str = include_str!("../../../catalog/tests/fixtures/workflows/base.json");

pub(crate) struct Desk {
    pub(crate) console: Console,
    pub(crate) stall: Arc<Stall>,
    writer: Database,
    _db: Db,
}

#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Ids whose moment is a counter, so that no two are the same.
pub(crate) fn ids() -> RequestIds {
    let moments = AtomicI64::new(1_800_000_000_000_000);
    Arc::new(move || {
        let moment = Moment::from_micros(moments.fetch_add(1_000, Ordering::Relaxed));
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

impl Desk {
    pub(crate) async fn new() -> Self {
        let db = Db::fresh().await;
        let stall = Stall::new();
        let parts = Parts {
            data: db.connect(Role::Data).await,
            shop: Arc::<Stall>::clone(&stall),
            request_ids: ids(),
        };
        Self {
            console: Console::new(parts),
            stall,
            writer: db.connect(Role::Console).await,
            _db: db,
        }
    }

    pub(crate) async fn keep(&self, record: &Value) {
        let workflow = Workflow::read(&record.to_string()).unwrap();
        let mut tx = self.writer.begin().await.unwrap();
        let done = workflows::import(&mut tx, workflow).await;
        tx.finish(done).await.unwrap();
    }

    pub(crate) async fn ask(&self, request: Request<Body>) -> Got {
        ask(&self.console, request).await
    }

    pub(crate) async fn get(&self, path: &str) -> Got {
        self.ask(request(Method::GET, path)).await
    }
}

pub(crate) async fn ask(console: &Console, request: Request<Body>) -> Got {
    let (head, body) = console.answer_whole(request).await.into_parts();
    Got {
        status: head.status,
        headers: head.headers,
        body,
    }
}

pub(crate) fn request(method: Method, path: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(path);
    request.body(Body::empty()).unwrap()
}

impl Got {
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
        assert_eq!(error["doc_url"], format!("docs/errors.md#{code}"));
        let keys: Vec<&String> = error.as_object().unwrap().keys().collect();
        assert_eq!(keys.len(), 8, "{keys:?}");
        error
    }
}
