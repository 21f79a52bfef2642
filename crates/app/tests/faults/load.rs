//! Clients that call without a pause and write down what they were told.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::json;
use tokio::task::JoinSet;
use trunkline_testkit::random_bytes;
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol, SendError};

/// Upstream faults that a prompt may ask for; each must cost nothing.
const FAULTS: [&str; 8] = [
    "close_before_headers",
    "status:500",
    "status:503",
    "truncated_json",
    "error_inside200",
    "close_mid_stream:2",
    "garbage_frame:2",
    "error_frame_mid_stream:2",
];

const BETWEEN_TRIES: Duration = Duration::from_millis(30);

/// What a client knows about a call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) marker: String,
    /// The gateway's id, if its head arrived.
    pub(crate) id: Option<String>,
    pub(crate) told: Told,
    /// The most it could have cost, nano-USD.
    pub(crate) most: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    /// A whole answer.
    Complete,
    /// A fault of the gateway's, with its code: nothing was charged.
    Failed(String),
    /// The client left in the middle.
    Left,
    /// The connection broke.
    Unknown,
}

pub(crate) struct Load {
    address: SocketAddr,
    key: String,
    left: AtomicU64,
    goes_on: AtomicBool,
    numbers: AtomicU64,
}

impl Load {
    pub(crate) fn new(address: SocketAddr, key: &str, calls: u64) -> Arc<Self> {
        Arc::new(Self {
            address,
            key: key.to_owned(),
            left: AtomicU64::new(calls),
            goes_on: AtomicBool::new(true),
            numbers: AtomicU64::new(0),
        })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// No more calls than were asked for.
    pub(crate) fn end(&self) {
        self.goes_on.store(false, Ordering::Relaxed);
    }

    /// Runs so many clients until all calls are made and nobody wants more.
    pub(crate) async fn run(self: Arc<Self>, clients: usize) -> Vec<Call> {
        let mut running = JoinSet::new();
        for _ in 0..clients {
            let load = Arc::clone(&self);
            running.spawn(async move { load.client().await });
        }
        let histories = running.join_all().await;
        histories.into_iter().flatten().collect()
    }

    async fn client(&self) -> Vec<Call> {
        let client = Client::new(Duration::from_secs(2)).unwrap();
        let mut history = Vec::new();
        let take = |left: u64| left.checked_sub(1);
        while self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
            || self.goes_on.load(Ordering::Relaxed)
        {
            history.push(self.call(&client).await);
        }
        history
    }

    async fn call(&self, client: &Client) -> Call {
        let dice: [u8; 4] = random_bytes();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let marker = format!("m{number}");
        let tokens = u64::from(dice[0] % 60) + 1;
        let stream = dice[1].is_multiple_of(2);
        let fault = match dice[2] {
            0..26 => format!("[[fault:{}]]", FAULTS[usize::from(dice[2]) % FAULTS.len()]),
            _ => String::new(),
        };
        let leaves = stream && dice[3] < 16;
        let pace = dice[3] % 4;
        let prompt = format!("[[id:{marker}]] [[tokens:{tokens}]] [[pace:{pace}]] {fault}");
        let body = json!({
            "model": "sim-fast",
            "messages": [{ "role": "user", "content": prompt }],
            "stream": stream,
            "max_tokens": 64,
        });
        let mut call = Call {
            marker,
            id: None,
            told: Told::Unknown,
            most: 1_000_000,
        };
        let body = body.to_string();
        let mut answer = loop {
            match client.send(outgoing(self.address, &self.key, &body)).await {
                Ok(answer) => break answer,
                // Nobody is there: a real client would wait, and nothing has left it yet.
                Err(SendError::NotSent(_)) => tokio::time::sleep(BETWEEN_TRIES).await,
                Err(SendError::Broken(_) | SendError::Silent) => return call,
            }
        };
        let id = answer.headers.get("x-request-id");
        call.id = id.and_then(|id| Some(id.to_str().ok()?.to_owned()));
        if leaves && answer.status == 200 {
            drop(answer.piece().await);
            call.told = Told::Left;
            return call;
        }
        let Ok(bytes) = answer.whole(10_000_000).await else {
            return call;
        };
        call.told = told(answer.status.as_u16(), stream, &bytes);
        call
    }
}

/// A chat call with this key, as a client sends it.
pub(crate) fn outgoing(address: SocketAddr, key: &str, body: &str) -> Outgoing<'static> {
    let mut headers = HeaderMap::new();
    let bearer = format!("Bearer {key}");
    headers.insert(AUTHORIZATION, HeaderValue::from_str(&bearer).unwrap());
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let long = Duration::from_secs(40);
    Outgoing {
        method: Method::POST,
        uri: format!("http://{address}/v1/chat/completions")
            .parse()
            .unwrap(),
        headers,
        body: Bytes::from(body.to_owned()),
        deadlines: Deadlines {
            first_byte: long,
            idle: long,
            total: long,
        },
        proxy: None,
        protocol: Protocol::Http1,
    }
}

pub(crate) fn told(status: u16, stream: bool, bytes: &[u8]) -> Told {
    let text = String::from_utf8_lossy(bytes);
    if status == 200 && stream {
        if text.ends_with("data: [DONE]\n\n") {
            return Told::Complete;
        }
        let last = text
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("data: "));
        return code(last.unwrap_or_default()).map_or(Told::Unknown, Told::Failed);
    }
    if status == 200 {
        return Told::Complete;
    }
    code(&text).map_or(Told::Unknown, Told::Failed)
}

fn code(text: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    Some(value["error"]["code"].as_str()?.to_owned())
}
