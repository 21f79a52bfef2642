//! What a run left behind: the calls on the account's statement, and the requests that reached the
//! upstream.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::clients::upstreams::Upstream;
use crate::dev::{Dev, TRUNKLINE, audit};

/// A caller.
#[derive(Debug, Clone)]
pub(crate) struct Customer {
    pub(crate) account: i64,
    pub(crate) key: String,
}

/// A call on the statement.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) request: String,
    pub(crate) model: String,
    pub(crate) outcome: String,
    pub(crate) nanos: i128,
}

const NANOS: i128 = 1_000_000_000;

// === impl Customer ===

impl Customer {
    /// The one that `dev` made, with ten USD.
    pub(crate) fn of(dev: &Dev) -> Self {
        Self {
            account: dev.ready["account"].as_i64().unwrap(),
            key: dev.text("key").to_owned(),
        }
    }

    /// A new one with so much, made by the command line as an operator makes one.
    pub(crate) async fn with_usd(dev: &Dev, amount: &str) -> Self {
        let made = reported(dev, &["account", "create", "--name", "Ada"]).await;
        let account = made["account"]["id"].as_i64().unwrap();
        let number = account.to_string();
        reported(dev, &["topup", &number, amount]).await;
        let key = reported(dev, &["key", "create", &number, "--name", "laptop"]).await;
        Self {
            account,
            key: key["key"].as_str().unwrap().to_owned(),
        }
    }

    /// The calls of this account, oldest first. Every one that was charged has a row that says the
    /// same.
    pub(crate) async fn calls(&self, dev: &Dev) -> Vec<Call> {
        let number = self.account.to_string();
        let statement = reported(dev, &["account", "statement", &number, "--limit", "500"]).await;
        let mut calls = Vec::new();
        for entry in statement["entries"].as_array().unwrap().iter().rev() {
            if entry["what"] != "call" {
                continue;
            }
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let call = Call {
                request: text(&entry["request"]),
                model: text(&entry["details"]["model"]),
                outcome: text(&entry["details"]["outcome"]),
                nanos: -nanos(entry["paid_usd"].as_str().unwrap()),
            };
            let path = format!("/usage/{}", call.request);
            let row = self.get(&dev.api(), &path).await;
            assert_eq!(
                nanos(row["cost_usd"].as_str().unwrap()),
                call.nanos,
                "{row}"
            );
            calls.push(call);
        }
        calls
    }

    /// What is left, in nano-USD.
    pub(crate) async fn left(&self, dev: &Dev) -> i128 {
        let balance = self.get(&dev.api(), "/balance").await;
        nanos(balance["paid_usd"].as_str().unwrap())
    }

    pub(crate) async fn get(&self, base: &str, path: &str) -> Value {
        let (host, prefix) = split(base);
        let target = format!("{prefix}{path}");
        get(
            host,
            &target,
            &format!("authorization: Bearer {}\r\n", self.key),
        )
        .await
    }
}

/// Asserts that so many calls of this model were served, whole and charged, that each of them asked an
/// upstream of this format once, and that the books hold. Calls that the agent itself left cost nothing.
pub(crate) async fn assert_served(
    dev: &Dev,
    customer: &Customer,
    upstream: Upstream,
    count: usize,
) {
    let all = customer.calls(dev).await.into_iter();
    let own = all.filter(|call| call.model == upstream.model);
    // An agent that finds an answer slow leaves it and asks again; what it left was free.
    let (left, calls): (Vec<Call>, Vec<Call>) = own.partition(|call| call.outcome == "cancelled");
    assert_eq!(calls.len(), count, "{calls:#?}");
    for call in &calls {
        assert_eq!(call.outcome, "complete", "{call:?}");
        assert!(call.nanos > 0, "{call:?}");
    }
    for call in &left {
        assert_eq!(call.nanos, 0, "{call:?}");
    }
    let records = truth(dev).await;
    let sent = records.iter().filter(|record| {
        let path = record["path"].as_str().unwrap();
        path.ends_with(upstream.path)
    });
    let sent = sent.count();
    let most = count + left.len();
    assert!(
        (count..=most).contains(&sent),
        "{upstream:?}: {sent} {records:#?}"
    );
    for record in &records {
        assert_eq!(record["status"], 200, "{record:#}");
    }
    audit(dev).await;
}

/// What the gateway says to a key that asks about itself.
pub(crate) async fn key_status(dev: &Dev, key: &str) -> u16 {
    let api = dev.api();
    let (host, prefix) = split(&api);
    let mut stream = TcpStream::connect(host).await.unwrap();
    let text =
        format!("GET {prefix}/key HTTP/1.0\r\nhost: {host}\r\nauthorization: Bearer {key}\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1);
    status.and_then(|status| status.parse().ok()).unwrap()
}

/// What reached the simulator.
pub(crate) async fn truth(dev: &Dev) -> Vec<Value> {
    let (host, _) = split(dev.text("simulator_url"));
    let page = get(host, "/_simulator/requests", "").await;
    page["requests"]
        .as_array()
        .unwrap_or_else(|| panic!("{page}"))
        .clone()
}

/// A decimal number of USD as nano-USD.
pub(crate) fn nanos(text: &str) -> i128 {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
    let rest = format!("{rest:0<9}");
    sign * (whole.parse::<i128>().unwrap() * NANOS + rest.parse::<i128>().unwrap())
}

/// What a command of the operator prints.
async fn reported(dev: &Dev, words: &[&str]) -> Value {
    let output = Command::new(TRUNKLINE)
        .args(words)
        .args(["--json", "--config", "/dev/null"])
        .env("TRUNKLINE__DATABASE__URL", dev.text("database_url"))
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Host and path of an address.
fn split(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").unwrap();
    let end = rest.find('/').unwrap_or(rest.len());
    rest.split_at(end)
}

async fn get(host: &str, path: &str, headers: &str) -> Value {
    let mut stream = TcpStream::connect(host).await.unwrap();
    let text = format!("GET {path} HTTP/1.0\r\nhost: {host}\r\n{headers}connection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(" 200 "), "{path}: {answer}");
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{path}: {body}"))
}
