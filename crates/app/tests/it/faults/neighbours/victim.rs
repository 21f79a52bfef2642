//! A customer that calls at its own pace, every time on a new connection, and measures.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol};

use crate::faults::client_view::{ClientView, reported};
use crate::faults::formats::{CallParams, Pair};
use crate::faults::media::form::{self, Sound};
use crate::faults::process_harness::VIDEO;

const CLIENTS: usize = 4;
/// Between two calls of a client.
const PAUSE: Duration = Duration::from_millis(60);
const LONG: Duration = Duration::from_secs(30);
const CONNECTS_WITHIN: Duration = Duration::from_secs(5);
const MOST: usize = 1_000_000;

/// One call: what was asked, when, and how long it took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    pub(super) number: usize,
    pub(super) began: Instant,
    pub(super) took: Duration,
}

pub(super) struct Victim {
    address: SocketAddr,
    key: String,
    /// A clip that can be measured.
    clip: String,
    numbers: AtomicUsize,
}

impl Victim {
    pub(super) fn new(address: SocketAddr, key: String, simulator: SocketAddr) -> Self {
        Self {
            address,
            key,
            clip: format!("http://{simulator}/_media/clip-7s.mp4"),
            numbers: AtomicUsize::new(0),
        }
    }

    /// Calls for so long; how long each call took. All of them succeed.
    pub(super) async fn calls_for(self: &Arc<Self>, long: Duration) -> Vec<Timed> {
        let ends = Instant::now() + long;
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let victim = Arc::clone(self);
            clients.spawn(async move {
                let mut times = Vec::new();
                while Instant::now() < ends {
                    times.push(victim.call().await);
                    tokio::time::sleep(PAUSE).await;
                }
                times
            });
        }
        clients.join_all().await.into_iter().flatten().collect()
    }

    /// A conversation in one of the sixteen pairs, an upload or a quote for which a clip is fetched.
    async fn call(&self) -> Timed {
        let client = Client::new(CONNECTS_WITHIN).unwrap();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let began = Instant::now();
        match number % 10 {
            0 => self.transcript(&client).await,
            5 => self.quote(&client).await,
            _ => self.chat(&client, number).await,
        }
        Timed {
            number,
            began,
            took: began.elapsed(),
        }
    }

    async fn chat(&self, client: &Client, number: usize) {
        let pair = Pair::numbered(number);
        let stream = number.is_multiple_of(2);
        let params = CallParams {
            prompt: "Hi [[tokens:8]] [[pace:5]]",
            stream,
            most: 20,
        };
        let call = pair.call((self.address, &self.key), params);
        let mut answer = client.send(call).await.unwrap();
        let status = answer.status.as_u16();
        let body = answer.whole(MOST).await.unwrap();
        let view = reported(pair.caller, status, stream, &body);
        assert_eq!(view, ClientView::Complete, "{pair}");
    }

    async fn transcript(&self, client: &Client) {
        let sound = Sound::seconds(2);
        let (before, after) = form::around(&[("model", "ears")]);
        let file = [before, sound.head(), sound.silence(), after].concat();
        let path = "/v1/audio/transcriptions";
        self.ask(client, path, &form::content_type(), Bytes::from(file))
            .await;
    }

    async fn quote(&self, client: &Client) {
        let body = json!({ "model": VIDEO, "prompt": "x", "video_url": self.clip });
        let ask = json!({ "endpoint": "videos", "body": body }).to_string();
        let quote = self.ask(client, "/v1/quotes", "application/json", ask.into());
        let quote = quote.await;
        assert_eq!(quote["exact"], json!(true), "{quote}");
    }

    async fn ask(&self, client: &Client, path: &str, kind: &str, body: Bytes) -> Value {
        let mut headers = HeaderMap::new();
        let bearer = format!("Bearer {}", self.key);
        headers.insert(AUTHORIZATION, HeaderValue::from_str(&bearer).unwrap());
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
        let call = Outgoing {
            method: Method::POST,
            uri: format!("http://{}{path}", self.address).parse().unwrap(),
            headers,
            body: body.into(),
            deadlines: Deadlines {
                first_byte: LONG,
                idle: LONG,
                total: LONG,
            },
            proxy: None,
            protocol: Protocol::Http1,
        };
        let mut answer = client.send(call).await.unwrap();
        let bytes = answer.whole(MOST).await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(answer.status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }
}
