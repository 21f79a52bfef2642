//! A service of the operator's that is asked about every call, before anything is paid for and with the answer.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use trunkline_account_api::SigningSecret;
use trunkline_gateway::{FailMode, GuardrailSettings, Settings};

use crate::test_gateway::{GatewayResponse, TestGateway, ask, ask_streaming};
use crate::videos;
use crate::webhooks_receiver::ReceivedMessage;

const SECRET: &str = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const MONEY: i64 = 10_000_000_000;
const WAIT: Duration = Duration::from_millis(400);
const MOST: usize = 4_096;

/// How the service answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    /// Refuses requests that contain "forbidden".
    Requests,
    /// Refuses every answer.
    Answers,
    Fails,
    Hangs,
}

#[derive(Clone)]
struct GuardService {
    received: Arc<Mutex<Vec<ReceivedMessage>>>,
    mood: Arc<Mutex<Mood>>,
    url: String,
}

impl GuardService {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let service = Self {
            received: Arc::default(),
            mood: Arc::new(Mutex::new(Mood::Requests)),
            url: format!("http://{}/check", listener.local_addr().unwrap()),
        };
        let serving = service.clone();
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
        service
    }

    async fn take(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let message = ReceivedMessage {
            path: head.uri.path().to_owned(),
            headers: head.headers,
            body,
        };
        let data = message.json()["data"].clone();
        self.received.lock().unwrap().push(message);
        let mood = *self.mood.lock().unwrap();
        let content = data["content"].as_str().unwrap_or_default();
        let is_bad = content.contains("forbidden");
        let is_request = data["stage"] == "request";
        let allow = match mood {
            Mood::Requests => !(is_bad && is_request),
            Mood::Answers => is_request,
            Mood::Fails => {
                let mut answer = Response::new(Full::new(Bytes::from("broken")));
                *answer.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
                return Ok(answer);
            }
            Mood::Hangs => std::future::pending().await,
        };
        let verdict = json!({ "allow": allow, "reason": "it says forbidden" }).to_string();
        Ok(Response::new(Full::new(Bytes::from(verdict))))
    }

    fn feels(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn settings(&self, fail: FailMode) -> Settings {
        Settings {
            guardrail: Some(GuardrailSettings {
                uri: self.url.parse().unwrap(),
                secret: SigningSecret::parse(SECRET).unwrap(),
                timeout: WAIT,
                fail,
                max_bytes: MOST,
            }),
            ..videos::quick()
        }
    }

    /// What it was shown, oldest first.
    fn excerpts(&self) -> Vec<Value> {
        let received = self.received.lock().unwrap();
        let excerpts = received.iter().map(|message| {
            assert!(message.is_signed_with(SECRET) && message.path == "/check");
            message.json()["data"].clone()
        });
        excerpts.collect()
    }

    /// The stages that it was asked about, once there are so many.
    async fn stages(&self, count: usize) -> Vec<String> {
        for _ in 0..500 {
            let excerpts = self.excerpts();
            if excerpts.len() >= count {
                let stages = excerpts.iter().map(|one| one["stage"].as_str().unwrap());
                return stages.map(str::to_owned).collect();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("excerpts {:?}", self.excerpts());
    }
}

fn is_refused(got: &GatewayResponse, stage: &str) {
    let error = got.json()["error"].clone();
    assert_eq!(got.status, 403, "{error}");
    assert_eq!(error["code"], "guardrail_refused");
    assert_eq!(
        (&error["stage"], &error["charged"]),
        (&json!(stage), &json!(false))
    );
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("it says forbidden"), "{message}");
}

#[tokio::test]
async fn a_customers_chat_is_shown_before_and_after_and_what_the_operator_refuses_costs_nothing() {
    let guard = GuardService::start().await;
    let harness = TestGateway::with(guard.settings(FailMode::Closed), MONEY, 0).await;
    let got = harness.chat(&ask("Hello [[tokens:3]]")).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(guard.stages(2).await, ["request", "response"]);
    let excerpts = guard.excerpts();
    assert_eq!(
        excerpts[0]["request_id"],
        got.header("x-request-id").unwrap()
    );
    assert_eq!(
        (&excerpts[0]["endpoint"], &excerpts[0]["model"]),
        (&json!("chat"), &json!("sim-fast"))
    );
    assert_eq!(excerpts[0]["account_id"], harness.account.number());
    assert!(
        excerpts[0]["content"]
            .as_str()
            .unwrap()
            .contains("[[tokens:3]]")
    );
    assert!(excerpts[1]["content"].as_str().unwrap().contains("choices"));
    let spent = MONEY - harness.posted_at_rest().await;
    // Nothing is sent of what is refused.
    let sent = harness.simulator.requests().len();
    is_refused(&harness.chat(&ask("forbidden")).await, "request");
    assert_eq!(harness.simulator.requests().len(), sent);
    guard.feels(Mood::Answers);
    is_refused(&harness.chat(&ask("Hello")).await, "response");
    assert_eq!(MONEY - harness.posted_at_rest().await, spent);
    harness.audit().await;
}

#[tokio::test]
async fn a_stream_is_shown_when_it_was_delivered_and_only_the_beginning_of_what_is_long() {
    let guard = GuardService::start().await;
    let harness = TestGateway::with(guard.settings(FailMode::Closed), MONEY, 0).await;
    let long = "long ".repeat(2_000);
    let got = harness
        .chat(&ask_streaming(&format!("{long} [[tokens:3]]")))
        .await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(guard.stages(2).await, ["request", "delivered"]);
    let excerpts = guard.excerpts();
    assert_eq!(excerpts[0]["truncated"], true);
    assert_eq!(excerpts[0]["content"].as_str().unwrap().len(), MOST);
    assert!(excerpts[0]["bytes"].as_u64().unwrap() > 10_000);
    assert!(
        excerpts[1]["content"]
            .as_str()
            .unwrap()
            .starts_with("data: ")
    );
    is_refused(&harness.chat(&ask_streaming("forbidden")).await, "request");
    assert!(
        harness.posted_at_rest().await < MONEY,
        "the first is charged"
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_guardrail_that_fails_or_hangs_stops_calls_or_lets_them_pass_as_the_operator_says() {
    for (fail, status) in [(FailMode::Closed, 503), (FailMode::Open, 200)] {
        let guard = GuardService::start().await;
        let harness = TestGateway::with(guard.settings(fail), MONEY, 0).await;
        for mood in [Mood::Fails, Mood::Hangs] {
            guard.feels(mood);
            let got = harness.chat(&ask("Hello")).await;
            assert_eq!(got.status, status, "{mood:?} {}", got.text());
            if status == 503 {
                assert_eq!(got.code(), "guardrail_unavailable");
                assert_eq!(got.json()["error"]["charged"], false);
            }
        }
        let sent = if fail == FailMode::Open { 2 } else { 0 };
        assert_eq!(harness.simulator.requests().len(), sent);
        harness.audit().await;
    }
}

#[tokio::test]
async fn pictures_and_social_data_are_shown_and_refused_as_chats_are() {
    let guard = GuardService::start().await;
    let settings = guard.settings(FailMode::Closed);
    let harness = Box::pin(TestGateway::generation_with(settings.clone())).await;
    let got = harness.draw("brush", "a cat", json!({ "n": 1 })).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(guard.stages(2).await, ["request", "response"]);
    is_refused(
        &harness.draw("brush", "forbidden", json!({})).await,
        "request",
    );
    assert_eq!(harness.simulator.image_calls().len(), 1);
    harness.audit().await;
    drop(harness);

    let harness = Box::pin(TestGateway::social_with(settings, MONEY, 0)).await;
    let before = guard.excerpts().len();
    let got = harness.look("douyin/search", "keyword=coffee").await;
    assert_eq!(got.status, 200, "{}", got.text());
    let stages = guard.stages(before + 2).await;
    assert_eq!(stages[before..], ["request", "response"]);
    is_refused(
        &harness.look("douyin/search", "keyword=forbidden").await,
        "request",
    );
    assert_eq!(harness.simulator.social_calls().len(), 1);
    harness.audit().await;
}

#[tokio::test]
async fn a_video_is_shown_when_it_is_asked_for_and_when_it_is_done() {
    let guard = GuardService::start().await;
    let harness = Box::pin(videos::generation(guard.settings(FailMode::Closed))).await;
    let body = |prompt: &str| json!({ "model": "wan2.7-t2v", "prompt": prompt });
    let send = async |prompt: &str| {
        let bytes = Bytes::from(body(prompt).to_string());
        GatewayResponse::read(harness.send(Method::POST, "/v1/videos", bytes).await).await
    };
    is_refused(&send("forbidden").await, "request");
    assert_eq!(harness.simulator.video_jobs().len(), 0);
    let got = send("a cat").await;
    assert_eq!(got.status, 200, "{}", got.text());
    let id = got.json()["id"].as_str().unwrap().to_owned();
    videos::ended(&harness, &id).await;
    let stages = guard.stages(3).await;
    assert_eq!(stages, ["request", "request", "response"]);
    let excerpts = guard.excerpts().pop().unwrap();
    assert_eq!(
        (&excerpts["endpoint"], &excerpts["model"]),
        (&json!("videos"), &json!("wan2.7-t2v"))
    );
    harness.audit().await;
}

#[tokio::test]
async fn what_is_written_to_a_voice_model_is_shown_before_its_response_and_the_response_after() {
    let guard = GuardService::start().await;
    let harness = TestGateway::realtime_with(guard.settings(FailMode::Closed), MONEY).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    client.text_session("Answer.").await;
    client.write("forbidden").await;
    client.send(json!({ "type": "response.create" })).await;
    let error = client.until("error").await;
    assert_eq!(error["error"]["code"], "guardrail_refused", "{error}");
    assert_eq!(harness.served().responses.len(), 0);
    let done = client.ask("Hello there").await;
    assert_eq!(done["response"]["status"], "completed", "{done}");
    let count = guard.excerpts().len();
    let stages = guard.stages(count.max(3)).await;
    assert!(stages.contains(&"delivered".to_owned()), "{stages:?}");
    let excerpts = guard.excerpts();
    let is_there = excerpts.iter().any(|one| {
        let content = one["content"].as_str().unwrap_or_default();
        one["stage"] == "request" && content.contains("Hello there")
    });
    assert!(is_there, "{excerpts:?}");
    client.close().await;
}
