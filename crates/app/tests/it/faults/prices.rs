//! Changing what is sold while calls run, and what a call must have cost by the rows of the catalog.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::process::Command;
use trunkline_db::Role;
use trunkline_gateway::{Change, ChangeAuthor, publish};
use trunkline_ledger::usage::{self, UsageRow};
use trunkline_store::catalog::{self, NewChange};
use trunkline_types::RequestId;
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol};

use crate::faults::process_harness::{ProcessHarness, TRUNKLINE};

pub(crate) const MODEL: &str = "sim-fast";
const HISTORY: i64 = 1_000;

/// An answer that was read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) id: String,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

/// Sends something with this key, or asks for a page.
pub(crate) async fn send(
    client: &Client,
    address: SocketAddr,
    (path, body): (&str, Option<&Value>),
    sent: &[(&'static str, &str)],
) -> Answer {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in sent {
        let name = HeaderName::from_static(name);
        headers.insert(name, HeaderValue::from_str(value).unwrap());
    }
    let long = Duration::from_secs(40);
    let call = Outgoing {
        method: body.map_or(Method::GET, |_| Method::POST),
        uri: format!("http://{address}{path}").parse().unwrap(),
        headers,
        body: body
            .map_or_else(Bytes::new, |body| Bytes::from(body.to_string()))
            .into(),
        deadlines: Deadlines {
            first_byte: long,
            idle: long,
            total: long,
        },
        proxy: None,
        protocol: Protocol::Http1,
    };
    let mut answer = client.send(call).await.unwrap();
    let bytes = answer.whole(10_000_000).await.unwrap();
    let id = answer.headers.get("x-request-id");
    Answer {
        status: answer.status.as_u16(),
        id: id.map_or_else(String::new, |id| id.to_str().unwrap().to_owned()),
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

pub(crate) fn bearer(key: &str) -> String {
    format!("Bearer {key}")
}

/// What a node says a call would cost.
pub(crate) async fn quote(client: &Client, address: SocketAddr, key: &str, body: &Value) -> Value {
    let ask = json!({ "endpoint": "chat", "body": body });
    let own = bearer(key);
    let sent = [("authorization", own.as_str())];
    let got = send(client, address, ("/v1/quotes", Some(&ask)), &sent).await;
    assert_eq!(got.status, 200, "{got:?}");
    got.json()
}

/// New prices, through the gateway's own way to write them. The version they have.
pub(crate) async fn reprice(harness: &ProcessHarness, input: u64, output: u64) -> String {
    let entry = entry(&json!({ "input": input, "output": output }));
    let entry = serde_json::from_value(entry).unwrap();
    let mut tx = harness.console.begin().await.unwrap();
    let signed = ChangeAuthor {
        author: "reload",
        note: "",
    };
    let change = |_: &trunkline_catalog::Book| Change {
        frame: None,
        models: BTreeMap::from([(MODEL.to_owned(), Some(entry))]),
    };
    let done = publish(&mut tx, signed, change).await;
    let done = tx.finish(done).await.unwrap();
    done.after.book.version().to_string()
}

/// The same by the command that an operator types.
pub(crate) async fn reprice_by_command(
    harness: &ProcessHarness,
    input: u64,
    output: u64,
) -> String {
    let url = harness.postgres.direct_url(Role::Console);
    let prices = [format!("input={input}"), format!("output={output}")];
    let reply = Command::new(TRUNKLINE)
        .args(["catalog", "set-price", MODEL, "--json"])
        .args(prices)
        .args(["--config", "/dev/null"])
        .env("TRUNKLINE__DATABASE__URL", url.reveal())
        .output()
        .await
        .unwrap();
    assert!(reply.status.success(), "{reply:?}");
    let reply: Value = serde_json::from_slice(&reply.stdout).unwrap();
    reply["pricing_version"].as_str().unwrap().to_owned()
}

/// Writes a catalog past all checks. Its number.
pub(crate) async fn spoil(harness: &ProcessHarness, faces: &Value) -> i64 {
    let mut tx = harness.console.begin().await.unwrap();
    let number = catalog::next_number(&mut tx).await.unwrap();
    let models = [(MODEL.to_owned(), Some(entry(faces)))];
    let new = NewChange {
        pricing_version: [7; 32],
        author: "reload",
        note: "wrong on purpose",
        header: None,
        models: &models,
    };
    catalog::write(&mut tx, number, &new).await.unwrap();
    tx.commit().await.unwrap();
    number
}

fn entry(faces: &Value) -> Value {
    json!({ "groups": ["default"], "prices": { "billing_unit": "tokens", "standard": faces } })
}

/// Every version of the prices, with the model's prices in it, read from the rows.
pub(crate) struct Versions(BTreeMap<String, Value>);

impl Versions {
    pub(crate) async fn read(harness: &ProcessHarness) -> Self {
        let mut session = harness.data.session().await.unwrap();
        let mut all = BTreeMap::new();
        for change in catalog::history(&mut session, HISTORY).await.unwrap() {
            let at = catalog::model_at(&mut session, MODEL, change.revision);
            if let Some((entry, _, version)) = at.await.unwrap() {
                let hex: String = version.iter().map(|byte| format!("{byte:02x}")).collect();
                all.insert(hex, entry["prices"]["standard"].clone());
            }
        }
        Self(all)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// What a call must have cost by the version that it names, nano-USD.
    pub(crate) fn price(&self, row: &UsageRow) -> i64 {
        let faces = self.0.get(&row.price_version).expect("a version of ours");
        let units = row.units.as_object().unwrap().iter();
        let pico: u64 = units
            .map(|(face, count)| faces[face].as_u64().unwrap() * count.as_u64().unwrap())
            .sum();
        i64::try_from((pico + 500) / 1_000).unwrap()
    }
}

pub(crate) async fn row(harness: &ProcessHarness, id: &str) -> UsageRow {
    let request: RequestId = id.parse().unwrap();
    let found = usage::find(&harness.data, harness.account, request)
        .await
        .unwrap();
    found.unwrap_or_else(|| panic!("no row of {id}"))
}
