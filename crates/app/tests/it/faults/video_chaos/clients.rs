//! Clients that ask for films over both paths of both nodes, some twice, and write down what they were
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

use super::scenarios::{SHAPES, Scenario};
use super::cluster::{Customer, VideoCluster};

const PATHS: [&str; 2] = ["/v1/videos", "/v1/video/generations"];
const CONNECT: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(30);
/// Nobody is there: a client tries again after this.
const BETWEEN_TRIES: Duration = Duration::from_millis(50);
/// Longest rest of a client between two films.
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

/// What a client knows about a film.
#[derive(Debug, Clone)]
pub(crate) struct VideoTask {
    pub(crate) marker: String,
    pub(crate) shape: usize,
    pub(crate) wish: Scenario,
    pub(crate) manner: ClientBehaviour,
    pub(crate) customer: usize,
    pub(crate) body: String,
    pub(crate) told: Vec<ClientAnswer>,
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
    /// Asks until somebody is there. None if the connection broke on the way.
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
    pub(crate) fn of(studio: &VideoCluster, films: u64) -> Arc<Self> {
        Arc::new(Self {
            customers: studio.customers.clone(),
            addresses: studio.addresses,
            left: AtomicU64::new(films),
            numbers: AtomicU64::new(0),
        })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Runs so many clients until all films are asked for.
    pub(crate) async fn run(self: Arc<Self>, clients: usize) -> Vec<VideoTask> {
        let mut running = JoinSet::new();
        for _ in 0..clients {
            let crew = Arc::clone(&self);
            running.spawn(async move { crew.client().await });
        }
        running.join_all().await.into_iter().flatten().collect()
    }

    async fn client(&self) -> Vec<VideoTask> {
        let client = Client::new(CONNECT).unwrap();
        let mut films = Vec::new();
        let take = |left: u64| left.checked_sub(1);
        let left = || {
            let taken = self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
            taken.is_ok()
        };
        while left() {
            films.push(self.film(&client).await);
            let rest = u64::from_le_bytes(random_bytes()) % REST_MILLIS;
            tokio::time::sleep(Duration::from_millis(rest)).await;
        }
        films
    }

    async fn film(&self, client: &Client) -> VideoTask {
        let dice: [u8; 4] = random_bytes();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let marker = format!("film-{number}");
        let shape = usize::from(dice[0]) % SHAPES.len();
        let wish = Scenario::drawn();
        let words = wish.words(SHAPES[shape].vendor);
        let prompt = format!("a cat [[id:{marker}]] {words}");
        let mut film = VideoTask {
            shape,
            wish,
            manner: ClientBehaviour::drawn(),
            customer: usize::from(dice[1]) % self.customers.len(),
            body: SHAPES[shape].body(&prompt),
            told: Vec::new(),
            cancelled: false,
            marker,
        };
        let node = usize::from(dice[2] % 2);
        let first = self.ask(client, &film, node, 0).await;
        let was_refused = matches!(&first, ClientAnswer::Refused { status: 400, .. });
        film.told.push(first);
        match film.manner {
            ClientBehaviour::Once | ClientBehaviour::Leaving => {}
            ClientBehaviour::Keyed => {
                let again = self.ask(client, &film, 1 - node, 1).await;
                film.told.push(again);
            }
            // A library does not try again what was refused for what it says.
            ClientBehaviour::Retrying if was_refused => {}
            ClientBehaviour::Retrying => {
                let again = self.ask(client, &film, 1 - node, 1).await;
                film.told.push(again);
            }
            ClientBehaviour::Cancelling => self.cancel(client, &mut film, node, dice[3]).await,
        }
        film
    }

    async fn ask(&self, client: &Client, film: &VideoTask, node: usize, retry: u32) -> ClientAnswer {
        let [dice, path] = random_bytes::<2>();
        let mut extra = Vec::new();
        match film.manner {
            ClientBehaviour::Keyed => extra.push(("idempotency-key", format!("key {}", film.marker))),
            ClientBehaviour::Retrying => extra.push(("x-stainless-retry-count", retry.to_string())),
            ClientBehaviour::Once | ClientBehaviour::Leaving | ClientBehaviour::Cancelling => {}
        }
        let patience = match film.manner {
            ClientBehaviour::Leaving => Duration::from_millis(u64::from(dice) + 5),
            ClientBehaviour::Once | ClientBehaviour::Keyed | ClientBehaviour::Retrying | ClientBehaviour::Cancelling => PATIENCE,
        };
        let ask = HttpCall {
            method: Method::POST,
            url: self.url(node, PATHS[usize::from(path % 2)]),
            key: &self.customers[film.customer].key,
            body: film.body.clone(),
            extra,
            patience,
        };
        ask.send(client)
            .await
            .map_or(ClientAnswer::Broken, |heard| told(&heard))
    }

    async fn cancel(&self, client: &Client, film: &mut VideoTask, node: usize, dice: u8) {
        let Some(ClientAnswer::Made { id, .. }) = film.told.first() else {
            return;
        };
        tokio::time::sleep(Duration::from_millis(u64::from(dice))).await;
        let ask = HttpCall {
            method: Method::DELETE,
            url: self.url(node, &format!("/v1/videos/{id}")),
            key: &self.customers[film.customer].key,
            body: String::new(),
            extra: Vec::new(),
            patience: PATIENCE,
        };
        let heard = ask.send(client).await;
        film.cancelled = heard.is_some_and(|heard| heard.status == 200);
    }

    fn url(&self, node: usize, path: &str) -> String {
        format!("http://{}{path}", self.addresses[node])
    }
}

fn told(heard: &HttpAnswer) -> ClientAnswer {
    if heard.status == 200 {
        let cost = heard.headers.get("trunkline-cost-usd");
        return ClientAnswer::Made {
            id: heard.body["id"]
                .as_str()
                .expect("a task has a name")
                .to_owned(),
            cost: cost.map(|cost| cost.to_str().unwrap().to_owned()),
        };
    }
    ClientAnswer::Refused {
        status: heard.status,
        charged: heard.body["error"]["charged"] != Value::Bool(false),
        text: heard.body.to_string(),
    }
}
