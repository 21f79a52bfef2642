//! The receiving end of webhooks, which behaves or does not, and checks signatures by its own hand.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Method, Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use trunkline_db::events::{self, NewEvent};
use trunkline_db::{Database, SystemClock};
use trunkline_gateway::Services;
use trunkline_store::webhooks;
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, Clock as _, Topic, uuid_v7};
use uuid::Uuid;

use crate::test_gateway::{GatewayResponse, TestGateway};

/// Bytes of an answer that no caller wants.
pub(crate) const FLOOD: u64 = 500_000_000;

/// How a receiver behaves.
#[derive(Debug, Clone)]
pub(crate) enum ReceiverBehaviour {
    /// Answers so, with these headers.
    Status(u16, Vec<(&'static str, String)>),
    /// Takes it and does not answer.
    Hang,
    /// Answers 200 and then half a gigabyte.
    Flood,
    /// Hangs up.
    Close,
}

/// A message as it came.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedMessage {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A receiver.
#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    received: Arc<Mutex<Vec<ReceivedMessage>>>,
    behaviour: Arc<Mutex<ReceiverBehaviour>>,
    /// Bytes of floods that were accepted.
    pub(crate) flooded: Arc<AtomicU64>,
}

type Answer = Response<UnsyncBoxBody<Bytes, io::Error>>;

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receiver = Self {
            address: listener.local_addr().unwrap(),
            received: Arc::default(),
            behaviour: Arc::new(Mutex::new(ReceiverBehaviour::Status(200, Vec::new()))),
            flooded: Arc::default(),
        };
        let serving = receiver.clone();
        #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let serving = serving.clone();
                tokio::spawn(async move {
                    let take = service_fn(|request| serving.take(request));
                    let server = hyper::server::conn::http1::Builder::new();
                    server.serve_connection(TokioIo::new(stream), take).await
                });
            }
        });
        receiver
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn behave(&self, behaviour: ReceiverBehaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    pub(crate) fn answer(&self, status: u16) {
        self.behave(ReceiverBehaviour::Status(status, Vec::new()));
    }

    pub(crate) fn received(&self) -> Vec<ReceivedMessage> {
        self.received.lock().unwrap().clone()
    }

    async fn take(&self, request: Request<Incoming>) -> Result<Answer, io::Error> {
        assert_eq!(request.method(), Method::POST);
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        self.received.lock().unwrap().push(ReceivedMessage {
            path: head.uri.path().to_owned(),
            headers: head.headers,
            body,
        });
        let behaviour = self.behaviour.lock().unwrap().clone();
        let text =
            |text: &'static str| Full::new(Bytes::from(text)).map_err(|never| match never {});
        match behaviour {
            ReceiverBehaviour::Status(status, headers) => {
                let mut answer = Response::new(text("thanks").boxed_unsync());
                *answer.status_mut() = status.try_into().unwrap();
                for (name, value) in headers {
                    answer.headers_mut().insert(name, value.parse().unwrap());
                }
                Ok(answer)
            }
            ReceiverBehaviour::Hang => std::future::pending().await,
            ReceiverBehaviour::Flood => {
                let flooded = Arc::clone(&self.flooded);
                let pieces = stream::unfold(0_u64, move |sent| {
                    let flooded = Arc::clone(&flooded);
                    async move {
                        let piece = Bytes::from(vec![b'x'; 100_000]);
                        flooded.fetch_add(100_000, Ordering::SeqCst);
                        (sent < FLOOD).then(|| (Ok(Frame::data(piece)), sent + 100_000))
                    }
                });
                let mut answer = Response::new(StreamBody::new(pieces).boxed_unsync());
                let length = FLOOD.to_string().parse().unwrap();
                answer.headers_mut().insert("content-length", length);
                Ok(answer)
            }
            ReceiverBehaviour::Close => Err(io::Error::other("closed")),
        }
    }
}

impl ReceivedMessage {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> String {
        self.headers[name].to_str().unwrap().to_owned()
    }

    pub(crate) fn id(&self) -> String {
        self.header("webhook-id")
    }

    pub(crate) fn signatures(&self) -> Vec<String> {
        let header = self.header("webhook-signature");
        header.split(' ').map(str::to_owned).collect()
    }

    /// Whether one of the signatures was made with a secret, by the scheme's own text only.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD
            .decode(secret.strip_prefix("whsec_").unwrap())
            .unwrap();
        let timestamp = self.header("webhook-timestamp");
        let age = SystemClock.now().seconds() - timestamp.parse::<i64>().unwrap();
        assert!((-5..300).contains(&age), "sent {age} s ago");
        let head = format!("{}.{timestamp}.", self.id());
        let signed = [head.as_bytes(), &self.body].concat();
        let expected = format!("v1,{}", STANDARD.encode(hmac(&key, &signed)));
        self.signatures().contains(&expected)
    }
}

/// HMAC as RFC 2104 writes it down.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let pad = |with: u8| block.map(|byte| byte ^ with).to_vec();
    let inner = Sha256::digest([pad(0x36), text.to_vec()].concat());
    Sha256::digest([pad(0x5c), inner.to_vec()].concat()).to_vec()
}

/// A webhook: its path here, and its secret.
pub(crate) struct CreatedWebhook {
    pub(crate) path: String,
    pub(crate) secret: String,
}

pub(crate) async fn post(harness: &TestGateway, path: &str, body: &Value) -> GatewayResponse {
    let body = Bytes::from(body.to_string());
    GatewayResponse::read(harness.send(Method::POST, path, body).await).await
}

/// Does without a body what a path says.
pub(crate) async fn act(harness: &TestGateway, path: &str) -> Value {
    let got = GatewayResponse::read(harness.send(Method::POST, path, Bytes::new()).await).await;
    assert_eq!(got.status, 200, "{path}: {}", got.text());
    got.json()
}

pub(crate) async fn make(harness: &TestGateway, body: &Value) -> CreatedWebhook {
    let got = post(harness, "/v1/webhooks", body).await;
    assert_eq!(got.status, 201, "{}", got.text());
    let made = got.json();
    CreatedWebhook {
        path: format!("/v1/webhooks/{}", made["id"].as_str().unwrap()),
        secret: made["secret"].as_str().unwrap().to_owned(),
    }
}

pub(crate) async fn hook(harness: &TestGateway, receiver: &Receiver) -> CreatedWebhook {
    make(harness, &json!({ "url": receiver.url("/hook") })).await
}

/// Something happens to the harness's account.
pub(crate) async fn happens(harness: &TestGateway, topic: Topic, body: Value) -> Uuid {
    let id = uuid_v7(SystemClock.now(), random_bytes());
    append(
        harness,
        NewEvent {
            id,
            account: harness.account,
            topic,
            task: None,
            body,
        },
    )
    .await;
    id
}

/// Something happens to the system account.
pub(crate) async fn happens_to_all(harness: &TestGateway, topic: Topic) -> Uuid {
    let id = uuid_v7(SystemClock.now(), random_bytes());
    append(
        harness,
        NewEvent {
            id,
            account: AccountId::new(0),
            topic,
            task: None,
            body: json!({ "model": "m" }),
        },
    )
    .await;
    id
}

pub(crate) async fn append(harness: &TestGateway, event: NewEvent) {
    let mut tx = harness.data.begin().await.unwrap();
    events::append(&mut tx, &[event]).await.unwrap();
    tx.commit().await.unwrap();
}

/// What a worker does, once.
pub(crate) async fn work(data: &Database, gateway: &Arc<Services>) {
    let mut tx = data.begin().await.unwrap();
    webhooks::expand_system_event(&mut tx, 1_000).await.unwrap();
    tx.commit().await.unwrap();
    webhooks::maintain(data, 1_000).await.unwrap();
    trunkline_account_api::claim_webhooks(gateway.account_api())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
}

/// The deliveries of a webhook, newest first.
pub(crate) async fn deliveries(harness: &TestGateway, made: &CreatedWebhook) -> Vec<Value> {
    let list = harness
        .get(&format!("{}/deliveries?limit=100", made.path))
        .await;
    assert_eq!(list.status, 200, "{}", list.text());
    list.json()["data"].as_array().unwrap().clone()
}

/// Works until its deliveries are so.
pub(crate) async fn until(
    harness: &TestGateway,
    made: &CreatedWebhook,
    are_so: impl Fn(&[Value]) -> bool,
) -> Vec<Value> {
    for _ in 0..1_500 {
        work(&harness.data, &harness.gateway).await;
        let list = deliveries(harness, made).await;
        if are_so(&list) {
            return list;
        }
    }
    panic!("never: {:#?}", deliveries(harness, made).await);
}

/// Works until so many messages came to this.
pub(crate) async fn counted(harness: &TestGateway, outcome: &str, least: u64) {
    let name = format!("trunkline_webhook_messages_total{{outcome=\"{outcome}\"}} ");
    let count = |page: &str| -> u64 {
        let line = page.lines().find_map(|line| line.strip_prefix(&name));
        line.map_or(0, |count| count.parse().unwrap())
    };
    for _ in 0..1_500 {
        if count(&harness.metrics().await) >= least {
            return;
        }
        work(&harness.data, &harness.gateway).await;
    }
    panic!("never {least} {outcome}: {}", harness.metrics().await);
}

pub(crate) fn all(state: &'static str) -> impl Fn(&[Value]) -> bool {
    move |list| !list.is_empty() && list.iter().all(|one| one["state"] == state)
}
