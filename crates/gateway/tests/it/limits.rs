//! Limits over the real endpoints: of keys, of the keys above them, of accounts and models; what callers are
//! told, and that nothing is charged for what is refused.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use trunkline_edge::settings::{AcceptSettings, LimitSettings};
use trunkline_gateway::Settings;
use trunkline_ledger::accounts as ledger_accounts;
use trunkline_limits::Limits;
use trunkline_store::accounts;
use trunkline_store::keys::{self, NewKey};
use trunkline_store::limits::{self, RateLimit, Rates, Scope};
use trunkline_store::{Policy, PolicyFields};
use trunkline_testkit::random_bytes;
use trunkline_types::KeyId;
use trunkline_upstream::UpstreamResponse;

use crate::format_pairs;
use crate::options::OtherEngines;
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions, ask, ask_streaming};

const CHAT: &str = "/v1/chat/completions";
/// A stream that begins and never ends by itself.
const HANGS: &str = "[[fault:hang_mid_stream:1]] hello";

/// A key that may do so much.
fn may(requests: Option<i64>, tokens: Option<i64>, at_once: Option<i64>) -> PolicyFields {
    PolicyFields {
        requests_per_minute: requests,
        tokens_per_minute: tokens,
        concurrent_calls: at_once,
        ..PolicyFields::default()
    }
}

async fn post(harness: &TestGateway, key: &str, path: &str, body: &Value) -> UpstreamResponse {
    let body = Bytes::from(body.to_string());
    harness
        .send_as((harness.address, key), Method::POST, path, body, &[])
        .await
}

async fn chat(harness: &TestGateway, key: &str) -> GatewayResponse {
    GatewayResponse::read(post(harness, key, CHAT, &ask("hello")).await).await
}

async fn read(harness: &TestGateway, key: &str, path: &str) -> GatewayResponse {
    let sender = (harness.address, key);
    GatewayResponse::read(
        harness
            .send_as(sender, Method::GET, path, Bytes::new(), &[])
            .await,
    )
    .await
}

/// How many of so many calls are not refused for a limit.
async fn served(harness: &TestGateway, key: &str, tries: usize) -> usize {
    let mut served = 0;
    for _ in 0..tries {
        served += usize::from(chat(harness, key).await.status == 200);
    }
    served
}

/// A refusal for a limit that says how to go on.
fn is_limited(got: &GatewayResponse, names: &str) {
    is_limited_within(got, names, 60);
}

/// The same of a window of so many seconds.
fn is_limited_within(got: &GatewayResponse, names: &str, seconds: u64) {
    assert_eq!(got.status, 429, "{}", got.text());
    let body = got.json();
    assert_eq!(body["error"]["code"], "rate_limit_exceeded", "{body}");
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains(names), "{message}");
    assert!(message.contains("nothing was charged"), "{message}");
    let wait: u64 = got.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=seconds).contains(&wait), "{wait}");
}

/// A gateway whose keys have the limits that customers' have.
async fn usual(settings: Settings, paid: i64) -> TestGateway {
    TestGateway::build(TestOptions {
        settings,
        paid,
        has_usual_limits: true,
        ..TestOptions::default()
    })
    .await
}

// covers: D-3-46, D-5-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_601st_request_in_a_minute_is_refused() {
    const CALLERS: usize = 24;
    // A machine may need more than a minute for so many calls.
    const WINDOW: u64 = 3_600;
    // Without money a call is refused after its limits: cheap, and counted all the same.
    let harness = TestGateway::build(TestOptions {
        paid: 0,
        has_usual_limits: true,
        limits: Limits::local_within(Duration::from_secs(WINDOW)),
        engines: OtherEngines::None,
        ..TestOptions::default()
    });
    let harness = std::sync::Arc::new(harness.await);
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let harness = std::sync::Arc::clone(&harness);
        callers.spawn(async move {
            let mut counted = Vec::new();
            for _ in 0..600 / CALLERS {
                counted.push(chat(&harness, &harness.key).await.status.as_u16());
            }
            counted
        });
    }
    let counted = callers.join_all().await.concat();
    assert_eq!(counted, vec![402; 600], "none of these is over the limit");
    let got = chat(&harness, &harness.key).await;
    let text = "this API key may send 600 requests a minute";
    is_limited_within(&got, text, WINDOW);
    // Another key of the same account has its own.
    let other = harness.make_key(PolicyFields::default()).await;
    assert_eq!(chat(&harness, &other).await.status, 402);
}

// covers: D-5-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_65th_concurrent_call_is_refused_until_a_caller_leaves() {
    let harness = usual(Settings::default(), 10_000_000_000_000).await;
    let mut open = Vec::new();
    for _ in 0..64 {
        let answer = post(&harness, &harness.key, CHAT, &ask_streaming(HANGS)).await;
        assert_eq!(answer.status, 200);
        open.push(answer);
    }
    let got = chat(&harness, &harness.key).await;
    is_limited(&got, "this API key may have 64 concurrent calls");
    assert_eq!(got.header("retry-after").as_deref(), Some("1"));
    drop(open.pop());
    for _ in 0..1_000 {
        let got = chat(&harness, &harness.key).await;
        if got.status == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the place did not come back");
}

#[tokio::test]
async fn the_operator_sets_what_keys_may_do() {
    let settings = Settings {
        accept: AcceptSettings {
            limits: LimitSettings {
                requests_per_minute: 3,
                concurrent_calls: 1,
                ..LimitSettings::default()
            },
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let harness = usual(settings, 10_000_000_000).await;
    assert_eq!(served(&harness, &harness.key, 5).await, 3);
    let got = chat(&harness, &harness.key).await;
    is_limited(&got, "3 requests a minute");
    let other = harness.make_key(PolicyFields::default()).await;
    let held = post(&harness, &other, CHAT, &ask_streaming(HANGS)).await;
    is_limited(&chat(&harness, &other).await, "1 concurrent calls");
    drop(held);
}

// covers: D-1-34, D-1-35
#[tokio::test]
async fn every_answer_says_how_its_limits_stand_and_a_refusal_costs_nothing() {
    let harness = TestGateway::new().await;
    let key = harness.make_key(may(Some(3), Some(100_000), None)).await;
    let mut before = None;
    for left in (0..3).rev() {
        let got = chat(&harness, &key).await;
        assert_eq!(got.status, 200);
        let number = |name: &str| -> u64 { got.header(name).unwrap().parse().unwrap() };
        assert_eq!(number("x-ratelimit-limit-requests"), 3);
        assert_eq!(number("x-ratelimit-remaining-requests"), left);
        assert_eq!(number("x-ratelimit-limit-tokens"), 100_000);
        let tokens = number("x-ratelimit-remaining-tokens");
        if let Some((remaining, used)) = before {
            // What the last call was counted with has become what it really used.
            let estimate = 100_000 - remaining;
            assert_eq!(tokens, 100_000 - used - estimate, "exactly what was used");
        }
        let usage = &got.json()["usage"];
        let used = usage["total_tokens"].as_u64().unwrap();
        let sofar = before.map_or(0, |(_, used): (u64, u64)| used);
        let first = before.map_or(tokens, |(remaining, _)| remaining);
        before = Some((first, sofar + used));
        let reset = got.header("x-ratelimit-reset-requests").unwrap();
        assert!(reset == "1m0s" || reset.ends_with('s'), "{reset}");
    }
    let paid = harness.posted_at_rest().await;
    let page = [("origin", "https://app.example")];
    let body = Bytes::from(ask("hello").to_string());
    let sender = (harness.address, key.as_str());
    let sent = harness
        .send_as(sender, Method::POST, CHAT, body, &page)
        .await;
    let got = GatewayResponse::read(sent).await;
    is_limited(&got, "this API key may send 3 requests a minute");
    assert_eq!(got.header("x-ratelimit-remaining-requests").unwrap(), "0");
    let exposed = got.header("access-control-expose-headers").unwrap();
    for name in [
        "x-ratelimit-reset-requests",
        "anthropic-ratelimit-tokens-reset",
        "retry-after",
    ] {
        assert!(exposed.contains(name), "{name}");
    }
    assert_eq!(got.json()["error"]["type"], "rate_limit_error");
    assert_eq!(got.json()["error"]["charged"], json!(false));
    assert_eq!(harness.posted_at_rest().await, paid);
    harness.audit().await;
}

// covers: D-1-36
#[tokio::test]
async fn every_format_is_refused_in_its_own_shape() {
    let harness = format_pairs::harness(TestOptions::default()).await;
    let key = harness.make_key(may(Some(1), Some(50_000), None)).await;
    let hello = json!({
        "model": "sim-fast", "max_tokens": 5, "messages": [{ "role": "user", "content": "hello" }],
    });
    let got = GatewayResponse::read(post(&harness, &key, "/v1/messages", &hello).await).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let reported =
        |got: &GatewayResponse, what: &str| got.header(&format!("anthropic-ratelimit-{what}"));
    assert_eq!(reported(&got, "requests-remaining").as_deref(), Some("0"));
    assert_eq!(reported(&got, "tokens-limit").as_deref(), Some("50000"));
    let got = GatewayResponse::read(post(&harness, &key, "/v1/messages", &hello).await).await;
    assert_eq!(got.status, 429);
    let body = got.json();
    assert_eq!(body["error"]["type"], "rate_limit_error", "{body}");
    assert_eq!(body["error"]["code"], "rate_limit_exceeded", "{body}");
    assert_eq!(reported(&got, "requests-limit").as_deref(), Some("1"));
    assert_eq!(reported(&got, "requests-remaining").as_deref(), Some("0"));
    let reset: jiff::Timestamp = reported(&got, "requests-reset").unwrap().parse().unwrap();
    assert!(reset.as_second() > 1_700_000_000);
    assert!(got.header("retry-after").is_some());
    let gemini = json!({ "contents": [{ "parts": [{ "text": "hello" }] }] });
    let path = "/v1beta/models/gemini-to-gemini:generateContent";
    let got = GatewayResponse::read(post(&harness, &key, path, &gemini).await).await;
    assert_eq!(got.status, 429);
    let body = got.json();
    assert_eq!(body["error"]["status"], "RESOURCE_EXHAUSTED", "{body}");
    assert_eq!(
        body["error"]["details"][0]["reason"], "rate_limit_exceeded",
        "{body}"
    );
    assert!(
        reported(&got, "requests-limit").is_none(),
        "Anthropic's are Anthropic's"
    );
}

#[tokio::test]
async fn tokens_are_counted_by_the_minute_and_by_what_was_really_used() {
    let harness = TestGateway::new().await;
    let key = harness.make_key(may(None, Some(40), None)).await;
    // A long answer uses the window up, although the question was short.
    let mut long = ask("[[tokens:200]] hello");
    long["max_tokens"] = 200.into();
    let got = GatewayResponse::read(post(&harness, &key, CHAT, &long).await).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert!(got.json()["usage"]["total_tokens"].as_u64().unwrap() > 40);
    let got = chat(&harness, &key).await;
    is_limited(&got, "this API key may use 40 tokens a minute");
    assert_eq!(got.header("x-ratelimit-remaining-tokens").unwrap(), "0");
}

// covers: D-7-MON-23
#[tokio::test]
async fn questions_about_tasks_and_calls_do_not_starve_each_other() {
    let settings = Settings {
        accept: AcceptSettings {
            limits: LimitSettings {
                requests_per_minute: 2,
                polls_per_minute: 4,
                reads_per_minute: 3,
                ..LimitSettings::default()
            },
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let harness = usual(settings, 10_000_000_000).await;
    assert_eq!(served(&harness, &harness.key, 4).await, 2);
    for path in ["/v1/videos", "/v1/videos?limit=1", "/v1/videos"] {
        assert_eq!(harness.get(path).await.status, 200, "{path}");
    }
    let gone = harness
        .get(&format!("/v1/video/generations/task_{}", "0".repeat(32)))
        .await;
    assert_eq!(gone.status, 404);
    let got = harness.get("/v1/videos").await;
    is_limited(&got, "this API key may fetch tasks 4 times a minute");
    // Other questions have their own too.
    for path in ["/v1/models", "/v1/balance", "/v1/key"] {
        assert_eq!(harness.get(path).await.status, 200, "{path}");
    }
    is_limited(
        &harness.get("/v1/models").await,
        "this API key may send 3 read requests a minute",
    );
    let other = harness.make_key(PolicyFields::default()).await;
    for _ in 0..4 {
        assert_eq!(read(&harness, &other, "/v1/videos").await.status, 200);
    }
    assert_eq!(read(&harness, &other, "/v1/videos").await.status, 429);
    assert_eq!(
        chat(&harness, &other).await.status,
        200,
        "many polls refuse no call"
    );
}

/// A key, perhaps below another.
async fn below(
    harness: &TestGateway,
    parent: Option<KeyId>,
    fields: PolicyFields,
) -> (Option<KeyId>, String) {
    let mut tx = harness.console.begin().await.unwrap();
    let new = NewKey {
        account: harness.account,
        parent,
        name: "below",
        policy: Policy::new(fields).unwrap(),
    };
    let made = keys::create(&mut tx, &new, &random_bytes()).await.unwrap();
    let registered = ledger_accounts::register_key(&mut tx, harness.account, made.key.id, parent);
    assert!(registered.await.unwrap());
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
    (Some(made.key.id), made.plain.reveal().to_owned())
}

#[tokio::test]
async fn making_keys_makes_no_limits() {
    let harness = TestGateway::new().await;
    let (parent, top) = below(&harness, None, may(Some(5), None, Some(2))).await;
    let (child, first) = below(&harness, parent, may(None, None, None)).await;
    let (_, second) = below(&harness, child, may(Some(2), None, None)).await;
    assert_eq!(served(&harness, &second, 4).await, 2, "its own");
    assert_eq!(served(&harness, &first, 2).await, 2);
    assert_eq!(
        chat(&harness, &top).await.status,
        200,
        "the fifth of all three"
    );
    is_limited(&chat(&harness, &first).await, "5 requests a minute");
    is_limited(
        &chat(&harness, &top).await,
        "this API key may send 5 requests a minute",
    );
}

#[tokio::test]
async fn calls_at_once_below_a_key_are_its_own_too() {
    let harness = TestGateway::new().await;
    let (parent, top) = below(&harness, None, may(None, None, Some(2))).await;
    let (_, child) = below(&harness, parent, may(None, None, None)).await;
    let held = post(&harness, &child, CHAT, &ask_streaming(HANGS)).await;
    let more = post(&harness, &top, CHAT, &ask_streaming(HANGS)).await;
    assert_eq!((held.status.as_u16(), more.status.as_u16()), (200, 200));
    is_limited(&chat(&harness, &child).await, "2 concurrent calls");
}

#[tokio::test]
async fn an_account_and_its_models_have_limits_over_all_keys() {
    let harness = TestGateway::new().await;
    let rates = |requests| Rates {
        requests_per_minute: Some(requests),
        ..Rates::default()
    };
    let model = |account, name: &str, requests| RateLimit {
        account,
        scope: Scope::Model,
        name: name.to_owned(),
        rates: rates(requests),
    };
    let mut tx = harness.console.begin().await.unwrap();
    limits::set(&mut tx, &model(None, "sim-fast", 1))
        .await
        .unwrap();
    let own = model(Some(harness.account), "sim-fast", 3);
    limits::set(&mut tx, &own).await.unwrap();
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
    let other = harness.make_key(PolicyFields::default()).await;
    assert_eq!(served(&harness, &harness.key, 2).await, 2);
    assert_eq!(
        served(&harness, &other, 4).await,
        1,
        "the third of both keys"
    );
    is_limited(
        &chat(&harness, &other).await,
        "this account with model \"sim-fast\"",
    );
    // Another model is not concerned.
    let mut picky = ask("hello");
    picky["model"] = "public-name".into();
    assert_eq!(harness.chat(&picky).await.status, 200);
    let mut tx = harness.console.begin().await.unwrap();
    let (scope, model) = (Scope::Model, "sim-fast");
    assert!(
        limits::remove(&mut tx, Some(harness.account), scope, model)
            .await
            .unwrap()
    );
    assert!(limits::remove(&mut tx, None, scope, model).await.unwrap());
    assert!(!limits::remove(&mut tx, None, scope, model).await.unwrap());
    assert!(
        limits::set_account(&mut tx, harness.account, rates(2))
            .await
            .unwrap()
    );
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
    assert_eq!(served(&harness, &harness.key, 1).await, 1);
    assert_eq!(served(&harness, &other, 2).await, 1);
    is_limited(
        &chat(&harness, &harness.key).await,
        "this account may send 2 requests a minute",
    );
    let mut session = harness.data.session().await.unwrap();
    let account = accounts::find(&mut session, harness.account).await.unwrap();
    assert_eq!(account.unwrap().rates, rates(2));
    drop(session);
    harness.audit().await;
}
