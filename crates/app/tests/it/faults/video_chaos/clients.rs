//! Clients that ask for videos over both paths of both nodes, some twice, and write down what they were
//! told.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::Value;
use tokio::task::JoinSet;
use trunkline_testkit::random_bytes;
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol, SendError};

use super::cluster::{Customer, VideoCluster};
use super::scenarios::{SHAPES, Scenario};

const PATHS: [&str; 2] = ["/v1/videos", "/v1/video/generations"];
const CONNECT: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(30);
/// No node is there: a client tries again after this.
const BETWEEN_TRIES: Duration = Duration::from_millis(50);
/// Longest rest of a client between two videos.
const REST_MILLIS: u64 = 1_200;
const MOST: usize = 1_000_000;

/// How a client behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClientBehaviour {
    Once,
    /// Sends everything twice under one key, the second time to the other node.
    Keyed,
    /// Sends again by itself, as SDKs do.
    Retrying,
    /// Goes before it is answered.
    Leaving,
    /// Wants it no more.
    Cancelling,
}

/// What a client was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClientAnswer {
    /// 200, with the name of the task and the price, if it was said.
    Made { id: String, cost: Option<String> },
    /// An error; `charged` as it says.
    Refused {
        status: u16,
        charged: bool,
        text: String,
    },
    /// The connection broke, or the client left.
    Broken,
}

/// What a client knows about a video task.
#[derive(Debug, Clone)]
pub(crate) struct VideoTask {
    pub(crate) marker: String,
    pub(crate) shape: usize,
    pub(crate) scenario: Scenario,
    pub(crate) behaviour: ClientBehaviour,
    pub(crate) customer: usize,
    pub(crate) body: String,
    pub(crate) answer: Vec<ClientAnswer>,
    /// A cancellation was confirmed.
    pub(crate) cancelled: bool,
}

pub(crate) struct Clients {
    customers: Vec<Customer>,
    addresses: [SocketAddr; 2],
    left: AtomicU64,
    numbers: AtomicU64,
}

/// A call to a node, answered whole.
pub(crate) struct HttpCall<'a> {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) key: &'a str,
    pub(crate) body: String,
    pub(crate) extra: Vec<(&'static str, String)>,
    pub(crate) patience: Duration,
}

/// An answer.
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

// === impl HttpCall ===

impl HttpCall<'_> {
    /// Asks until a listener answers. None if the connection broke on the way.
    pub(crate) async fn send(&self, client: &Client) -> Option<HttpAnswer> {
        let mut answer = loop {
            match client.send(self.outgoing()).await {
                Ok(answer) => break answer,
                Err(SendError::NotSent(_)) => tokio::time::sleep(BETWEEN_TRIES).await,
                Err(SendError::Broken(_) | SendError::Silent) => return None,
            }
        };
        let bytes = answer.whole(MOST).await.ok()?;
        Some(HttpAnswer {
            status: answer.status.as_u16(),
            body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            headers: answer.headers,
        })
    }

    fn outgoing(&self) -> Outgoing<'static> {
        let mut headers = HeaderMap::new();
        let value = |text: &str| HeaderValue::from_str(text).unwrap();
        headers.insert(AUTHORIZATION, value(&format!("Bearer {}", self.key)));
        headers.insert(CONTENT_TYPE, value("application/json"));
        for (name, text) in &self.extra {
            headers.insert(HeaderName::from_static(name), value(text));
        }
        Outgoing {
            method: self.method.clone(),
            uri: self.url.parse().unwrap(),
            headers,
            body: Bytes::from(self.body.clone()).into(),
            deadlines: Deadlines {
                first_byte: self.patience,
                idle: self.patience,
                total: self.patience,
            },
            proxy: None,
            protocol: Protocol::Http1,
        }
    }
}

// === impl ClientBehaviour ===

impl ClientBehaviour {
    fn drawn() -> Self {
        let [dice] = random_bytes::<1>();
        match dice {
            0..110 => Self::Once,
            110..165 => Self::Keyed,
            165..210 => Self::Retrying,
            210..235 => Self::Leaving,
            235.. => Self::Cancelling,
        }
    }
}

// === impl Clients ===

impl Clients {
    pub(crate) fn of(cluster: &VideoCluster, video_tasks: u64) -> Arc<Self> {
        Arc::new(Self {
            customers: cluster.customers.clone(),
            addresses: cluster.addresses,
            left: AtomicU64::new(video_tasks),
            numbers: AtomicU64::new(0),
        })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Runs so many clients until all videos are asked for.
    pub(crate) async fn run(self: Arc<Self>, clients: usize) -> Vec<VideoTask> {
        let mut running = JoinSet::new();
        for _ in 0..clients {
            let load = Arc::clone(&self);
            running.spawn(async move { load.client().await });
        }
        running.join_all().await.into_iter().flatten().collect()
    }

    async fn client(&self) -> Vec<VideoTask> {
        let client = Client::new(CONNECT).unwrap();
        let mut video_tasks = Vec::new();
        let take = |left: u64| left.checked_sub(1);
        let left = || {
            let taken = self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
            taken.is_ok()
        };
        while left() {
            video_tasks.push(self.task(&client).await);
            let rest = u64::from_le_bytes(random_bytes()) % REST_MILLIS;
            tokio::time::sleep(Duration::from_millis(rest)).await;
        }
        video_tasks
    }

    async fn task(&self, client: &Client) -> VideoTask {
        let dice: [u8; 4] = random_bytes();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let marker = format!("video-{number}");
        let shape = usize::from(dice[0]) % SHAPES.len();
        let scenario = Scenario::drawn();
        let words = scenario.words(SHAPES[shape].vendor);
        let prompt = format!("a cat [[id:{marker}]] {words}");
        let mut task = VideoTask {
            shape,
            scenario,
            behaviour: ClientBehaviour::drawn(),
            customer: usize::from(dice[1]) % self.customers.len(),
            body: SHAPES[shape].body(&prompt),
            answer: Vec::new(),
            cancelled: false,
            marker,
        };
        let node = usize::from(dice[2] % 2);
        let first = self.ask(client, &task, node, 0).await;
        let was_refused = matches!(&first, ClientAnswer::Refused { status: 400, .. });
        task.answer.push(first);
        match task.behaviour {
            ClientBehaviour::Once | ClientBehaviour::Leaving => {}
            ClientBehaviour::Keyed => {
                let repeated = self.ask(client, &task, 1 - node, 1).await;
                task.answer.push(repeated);
            }
            // A library does not try again what was refused for what it says.
            ClientBehaviour::Retrying if was_refused => {}
            ClientBehaviour::Retrying => {
                let repeated = self.ask(client, &task, 1 - node, 1).await;
                task.answer.push(repeated);
            }
            ClientBehaviour::Cancelling => self.cancel(client, &mut task, node, dice[3]).await,
        }
        task
    }

    async fn ask(
        &self,
        client: &Client,
        task: &VideoTask,
        node: usize,
        retry: u32,
    ) -> ClientAnswer {
        let [dice, path] = random_bytes::<2>();
        let mut extra = Vec::new();
        match task.behaviour {
            ClientBehaviour::Keyed => {
                extra.push(("idempotency-key", format!("key {}", task.marker)))
            }
            ClientBehaviour::Retrying => extra.push(("x-stainless-retry-count", retry.to_string())),
            ClientBehaviour::Once | ClientBehaviour::Leaving | ClientBehaviour::Cancelling => {}
        }
        let patience = match task.behaviour {
            ClientBehaviour::Leaving => Duration::from_millis(u64::from(dice) + 5),
            ClientBehaviour::Once
            | ClientBehaviour::Keyed
            | ClientBehaviour::Retrying
            | ClientBehaviour::Cancelling => PATIENCE,
        };
        let ask = HttpCall {
            method: Method::POST,
            url: self.url(node, PATHS[usize::from(path % 2)]),
            key: &self.customers[task.customer].key,
            body: task.body.clone(),
            extra,
            patience,
        };
        ask.send(client)
            .await
            .map_or(ClientAnswer::Broken, |received| answer(&received))
    }

    async fn cancel(&self, client: &Client, task: &mut VideoTask, node: usize, dice: u8) {
        let Some(ClientAnswer::Made { id, .. }) = task.answer.first() else {
            return;
        };
        tokio::time::sleep(Duration::from_millis(u64::from(dice))).await;
        let ask = HttpCall {
            method: Method::DELETE,
            url: self.url(node, &format!("/v1/videos/{id}")),
            key: &self.customers[task.customer].key,
            body: String::new(),
            extra: Vec::new(),
            patience: PATIENCE,
        };
        let received = ask.send(client).await;
        task.cancelled = received.is_some_and(|received| received.status == 200);
    }

    fn url(&self, node: usize, path: &str) -> String {
        format!("http://{}{path}", self.addresses[node])
    }
}

fn answer(received: &HttpAnswer) -> ClientAnswer {
    if received.status == 200 {
        let cost = received.headers.get("trunkline-cost-usd");
        return ClientAnswer::Made {
            id: received.body["id"]
                .as_str()
                .expect("a task has a name")
                .to_owned(),
            cost: cost.map(|cost| cost.to_str().unwrap().to_owned()),
        };
    }
    ClientAnswer::Refused {
        status: received.status,
        charged: received.body["error"]["charged"] != Value::Bool(false),
        text: received.body.to_string(),
    }
}
