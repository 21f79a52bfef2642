//! The same call again, with its `Idempotency-Key`: one upstream call, one charge, the same answer, on
//! whichever node.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use trunkline_db::SystemClock;
use trunkline_gateway::{IdempotencySettings, Settings};
use trunkline_ledger::stored_responses::{self, Include};
use trunkline_store::PolicyFields;

use crate::nodes::Node;
use crate::test_gateway::{GatewayResponse, TestGateway, ask, ask_streaming};

pub(crate) const PATH: &str = "/v1/chat/completions";
pub(crate) const KEY: &str = "idempotency-key";
const REPLAYED: &str = "idempotent-replayed";
pub(crate) const ALL: i64 = 10_000_000_000;

pub(crate) fn replayed(got: &GatewayResponse) -> bool {
    got.header(REPLAYED).as_deref() == Some("true")
}

fn status_and_code(got: &GatewayResponse) -> (u16, String) {
    (got.status.as_u16(), got.code())
}

/// Two more nodes, and where all three are.
pub(crate) async fn three(harness: &TestGateway) -> (Vec<Node>, [SocketAddr; 3]) {
    let settings = Settings::default;
    let second = harness.node("n2", Arc::new(SystemClock), settings()).await;
    let third = harness.node("n3", Arc::new(SystemClock), settings()).await;
    let all = [harness.address, second.address, third.address];
    (vec![second, third], all)
}

pub(crate) async fn post(
    harness: &TestGateway,
    to: (SocketAddr, &str),
    body: &Value,
    key: &str,
) -> GatewayResponse {
    let body = Bytes::from(body.to_string());
    GatewayResponse::read(
        harness
            .send_as(to, Method::POST, PATH, body, &[(KEY, key)])
            .await,
    )
    .await
}

/// Names that are kept.
async fn names(harness: &TestGateway) -> i64 {
    let count = "SELECT count(*)::text FROM ledger.idempotency";
    harness.db.ask(count).await[0].parse().unwrap()
}

fn with(idempotency: IdempotencySettings) -> Settings {
    Settings {
        idempotency,
        ..Settings::default()
    }
}

// covers: D-1-26, D-4-42, D-4-44
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_duplicates_on_three_nodes_are_one_call_and_one_charge() {
    let harness = TestGateway::new().await;
    let many = harness
        .make_key(PolicyFields {
            concurrent_calls: Some(1_000),
            ..PolicyFields::default()
        })
        .await;
    let (_nodes, addresses) = three(&harness).await;
    let mut charged = 0;
    let bodies = [
        ask("Hello [[tokens:9]] [[pace:20]]"),
        ask_streaming("Hello [[tokens:9]] [[pace:20]]"),
    ];
    for (round, body) in bodies.into_iter().enumerate() {
        let key = format!("k-{round}");
        let one = async |at: usize| loop {
            let got = post(&harness, (addresses[at % 3], &many), &body, &key).await;
            // A disk that stands still is not what is tried here.
            if got.status != 503 {
                return got;
            }
        };
        let all = join_all((0..100).map(one)).await;
        assert!(all.iter().all(|got| got.status == 200), "{all:#?}");
        assert!(all.iter().all(|got| got.body == all[0].body));
        assert!(all.iter().all(|got| got.id() == all[0].id()));
        assert_eq!(all.iter().filter(|got| !replayed(got)).count(), 1);
        assert_eq!(harness.simulator.requests().len(), round + 1);
        charged += harness.usage(&all[0].id()).await.1;
        assert_eq!(harness.posted_at_rest().await, ALL - charged);
    }
    assert!(charged > 0);
    harness.audit().await;
}

// covers: D-1-26, D-3-39, D-3-40, D-4-43, D-4-46
#[tokio::test]
async fn a_finished_call_is_answered_again_by_any_node_as_it_was() {
    let harness = TestGateway::new().await;
    let (_nodes, addresses) = three(&harness).await;
    for (round, body) in [ask("Once [[tokens:5]]"), ask_streaming("Once [[tokens:5]]")]
        .into_iter()
        .enumerate()
    {
        let key = format!("k-{round}");
        let at = |place: usize| (addresses[place], harness.key.as_str());
        let first = post(&harness, at(0), &body, &key).await;
        assert_eq!(first.status, 200, "{}", first.text());
        assert!(!replayed(&first));
        let charged = harness.usage(&first.id()).await.1;
        let left = harness.posted_at_rest().await;
        for place in [0, 1, 2] {
            let repeated = post(&harness, at(place), &body, &key).await;
            assert!(replayed(&repeated));
            assert_eq!(repeated.status, first.status);
            assert_eq!(repeated.body, first.body);
            for name in [
                "content-type",
                "trunkline-cost-usd",
                "x-request-id",
                "request-id",
                "cache-control",
            ] {
                assert_eq!(repeated.header(name), first.header(name), "{name}");
            }
            let row = harness.get(&format!("/v1/usage/{}", repeated.id())).await;
            assert_eq!(row.status, 200);
        }
        let mut other = body.clone();
        other["temperature"] = json!(0.5);
        let other = post(&harness, at(1), &other, &key).await;
        assert_eq!(
            status_and_code(&other),
            (409, "idempotency_conflict".to_owned())
        );
        assert_eq!(other.header("x-should-retry").as_deref(), Some("false"));
        assert_eq!(harness.posted_at_rest().await, left, "{charged}");
        assert_eq!(harness.simulator.requests().len(), round + 1);
    }
    // The same bytes on another path are another call.
    let body = Bytes::from(ask("Once [[tokens:5]]").to_string());
    let sent = harness.send_with(Method::POST, "/v1/responses", body, &[(KEY, "k-0")]);
    let other = GatewayResponse::read(sent.await).await;
    assert_eq!(
        status_and_code(&other),
        (409, "idempotency_conflict".to_owned())
    );
    harness.audit().await;
}

/// What has changed since does not matter: what is given was paid for.
#[tokio::test]
async fn an_answer_is_given_again_whatever_the_call_would_cost_or_meet_now() {
    let harness = TestGateway::with(Settings::default(), 500_000_000, 0).await;
    let body = ask("Once [[tokens:5]]");
    let first = harness.chat_with(&body, &[(KEY, "k")]).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let poor = [(KEY, "k"), ("trunkline-max-cost-usd", "0")];
    let repeated = harness.chat_with(&body, &poor).await;
    assert!(replayed(&repeated), "{}", repeated.text());
    assert_eq!(repeated.body, first.body);
    let old = [(KEY, "k"), ("trunkline-quote", "qt_of_yesterday")];
    assert!(replayed(&harness.chat_with(&body, &old).await));
    harness.posted_at_rest().await;
    harness.audit().await;
}

// covers: D-3-41, D-3-42, D-3-43
#[tokio::test]
async fn a_call_that_runs_longer_than_is_waited_for_is_told_and_given_later() {
    let settings = with(IdempotencySettings {
        wait: Duration::from_millis(300),
        ..IdempotencySettings::default()
    });
    let harness = TestGateway::with(settings, ALL, 0).await;
    let body = ask_streaming("Slowly [[tokens:30]] [[pace:100]]");
    let bytes = Bytes::from(body.to_string());
    let key = [(KEY, "k")];
    let first = harness.send_with(Method::POST, PATH, bytes, &key).await;
    let soon = harness.chat_with(&body, &key).await;
    assert_eq!(
        status_and_code(&soon),
        (409, "idempotency_in_flight".to_owned())
    );
    assert_eq!(soon.header("retry-after").as_deref(), Some("1"));
    assert_eq!(soon.header("x-should-retry").as_deref(), Some("true"));
    let other = harness.chat_with(&ask("Another"), &key).await;
    assert_eq!(
        status_and_code(&other),
        (409, "idempotency_conflict".to_owned())
    );
    let first = GatewayResponse::read(first).await;
    let later = harness.chat_with(&body, &key).await;
    assert!(replayed(&later));
    assert_eq!(later.body, first.body);
    assert_eq!(harness.simulator.requests().len(), 1);
    harness.posted_at_rest().await;
    harness.audit().await;
}

#[tokio::test]
async fn a_key_gets_no_stored_response_of_a_model_that_it_may_not_use() {
    let harness = TestGateway::new().await;
    let of_models = |model: &str| PolicyFields {
        models: Some(vec![model.to_owned()]),
        ..PolicyFields::default()
    };
    let body = ask("Hello [[tokens:3]]");
    let first = harness.chat_with(&body, &[(KEY, "k")]).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let may_not = harness.make_key(of_models("sim-reason")).await;
    let got = post(&harness, (harness.address, &may_not), &body, "k").await;
    assert_eq!(status_and_code(&got), (403, "model_not_allowed".to_owned()));
    let may = harness.make_key(of_models("sim-fast")).await;
    let got = post(&harness, (harness.address, &may), &body, "k").await;
    assert!(replayed(&got) && got.body == first.body, "{}", got.text());
    assert_eq!(harness.simulator.requests().len(), 1);
}

// covers: D-4-49
#[tokio::test]
async fn a_call_that_fails_or_is_refused_frees_its_key() {
    let harness = TestGateway::new().await;
    let failing = [
        ask("No [[fault:status:500]]"),
        ask("No [[fault:status:400]]"),
        ask_streaming("No [[fault:close_mid_stream:3]]"),
        json!({ "model": "nobody", "messages": [{ "role": "user", "content": "x" }] }),
    ];
    let mut left = ALL;
    for (round, body) in failing.iter().enumerate() {
        let key = format!("k-{round}");
        let failed = harness.chat_with(body, &[(KEY, key.as_str())]).await;
        let broke_off = failed.status == 200 && failed.text().contains("\"error\"");
        assert!(failed.status != 200 || broke_off, "{}", failed.text());
        assert_eq!(harness.posted_at_rest().await, left, "{round}");
        let next = harness
            .chat_with(&ask("Better [[tokens:3]]"), &[(KEY, key.as_str())])
            .await;
        assert_eq!(next.status, 200, "{}", next.text());
        assert!(!replayed(&next));
        left = harness.posted_at_rest().await;
    }
    harness.audit().await;
}

// covers: D-4-45
#[tokio::test]
async fn an_answer_is_kept_for_a_day_and_then_its_key_is_free() {
    let harness = TestGateway::new().await;
    let body = ask("Once [[tokens:5]]");
    let key = [(KEY, "k")];
    let first = harness.chat_with(&body, &key).await;
    harness.db.shift_clock(86_390).await;
    assert_eq!(stored_responses::purge(&harness.data).await, Ok(0));
    assert!(replayed(&harness.chat_with(&body, &key).await));
    harness.db.shift_clock(20).await;
    let next = harness.chat_with(&body, &key).await;
    assert_eq!(next.status, 200, "{}", next.text());
    assert!(!replayed(&next));
    assert_ne!(next.id(), first.id());
    assert_eq!(harness.simulator.requests().len(), 2);
    harness.db.shift_clock(86_410).await;
    assert_eq!(stored_responses::purge(&harness.data).await, Ok(1));
    assert_eq!(names(&harness).await, 0);
    harness.posted_at_rest().await;
    harness.audit_but_for_the_clock().await;
}

// covers: D-4-46, D-4-47
#[tokio::test]
async fn what_is_kept_is_sealed_and_without_the_header_nothing_is() {
    let harness = TestGateway::new().await;
    let body = ask_streaming("Once [[tokens:5]]");
    assert_eq!(harness.chat(&body).await.status, 200);
    assert_eq!(harness.chat(&ask("Once [[tokens:5]]")).await.status, 200);
    assert_eq!(names(&harness).await, 0);
    let got = harness.chat_with(&body, &[(KEY, "k")]).await;
    assert!(got.text().contains("sim4"));
    let row = stored_responses::find(&harness.data, harness.account, "k", Include::Charged).await;
    let request = row.unwrap().unwrap().request;
    let answer = stored_responses::answer(&harness.data, harness.account, "k", request);
    let answer = answer.await.unwrap().unwrap();
    assert!(answer.len() > got.body.len());
    for marker in ["sim4", "data:", "content-type", "event-stream"] {
        let inside = answer
            .windows(marker.len())
            .any(|part| part == marker.as_bytes());
        assert!(!inside, "{marker}");
    }
    harness.posted_at_rest().await;
    harness.audit().await;
}

/// Rows of any table in which a text stands, plain or as bytes.
pub(crate) async fn rows_with(harness: &TestGateway, text: &str) -> Vec<String> {
    let bytes: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let tables = "SELECT format('%I.%I', schemaname, relname) FROM pg_stat_user_tables";
    let mut found = Vec::new();
    for table in harness.db.ask(tables).await {
        let rows = format!(
            "SELECT '{table}: ' || t::text FROM {table} AS t
             WHERE t::text LIKE '%{text}%' OR t::text LIKE '%{bytes}%'"
        );
        found.extend(harness.db.ask(&rows).await);
    }
    found
}

// covers: D-5-15
#[tokio::test]
async fn no_prompt_and_no_answer_is_readable_in_any_table() {
    let harness = TestGateway::new().await;
    for (round, body) in [
        ask("Lighthouse [[tokens:6]]"),
        ask_streaming("Lighthouse [[tokens:6]]"),
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("beacon-{round}");
        assert!(harness.chat(&body).await.text().contains("sim5"));
        let kept = harness.chat_with(&body, &[(KEY, key.as_str())]).await;
        assert!(kept.text().contains("sim5"));
    }
    harness.posted_at_rest().await;
    // The look itself finds what is there.
    assert!(!rows_with(&harness, "beacon-0").await.is_empty());
    for secret in ["Lighthouse", "sim5"] {
        assert_eq!(rows_with(&harness, secret).await, Vec::<String>::new());
    }
}

// covers: D-4-48
#[tokio::test]
async fn an_answer_that_is_too_large_is_told_with_its_call_and_charge() {
    let settings = with(IdempotencySettings {
        most_bytes: 400,
        ..IdempotencySettings::default()
    });
    let harness = TestGateway::with(settings, ALL, 0).await;
    for (round, body) in [
        ask("Long [[tokens:400]]"),
        ask_streaming("Long [[tokens:40]]"),
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("k-{round}");
        let first = harness.chat_with(&body, &[(KEY, key.as_str())]).await;
        assert!(first.status == 200 && first.body.len() > 400);
        let (_, charged, ..) = harness.usage(&first.id()).await;
        let repeated = harness.chat_with(&body, &[(KEY, key.as_str())]).await;
        assert_eq!(
            status_and_code(&repeated),
            (409, "idempotency_result_too_large".to_owned())
        );
        assert_eq!(repeated.header("x-should-retry").as_deref(), Some("false"));
        let message = repeated.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.contains(&first.id()), "{message}");
        let reported = trunkline_types::Money::from_nanos(charged).to_string();
        assert!(message.contains(&reported), "{message}");
        assert_eq!(
            repeated.json()["error"]["first_request_id"],
            json!(first.id())
        );
        assert_eq!(
            repeated.json()["error"]["first_charged_usd"],
            json!(reported)
        );
    }
    harness.posted_at_rest().await;
    harness.audit().await;
}

#[tokio::test]
async fn a_stream_that_is_too_large_to_be_kept_ends_with_its_client() {
    let settings = with(IdempotencySettings {
        most_bytes: 400,
        ..IdempotencySettings::default()
    });
    let harness = TestGateway::with(settings, ALL, 0).await;
    let body = ask_streaming("Go on [[tokens:5000]] [[pace:5]]").to_string();
    let key = [(KEY, "k")];
    let sent = harness.send_with(Method::POST, PATH, Bytes::from(body), &key);
    let mut answer = sent.await;
    let id = answer.headers["x-request-id"].to_str().unwrap().to_owned();
    let mut seen = 0;
    while seen < 2_000 {
        seen += answer.piece().await.unwrap().unwrap().len();
    }
    drop(answer);
    harness.posted_at_rest().await;
    assert_eq!(harness.usage(&id).await.0, "client_gone");
    harness.audit().await;
}

#[tokio::test]
async fn a_key_that_keeps_nothing_takes_no_idempotency_key() {
    let harness = TestGateway::new().await;
    let strict = harness
        .make_key(PolicyFields {
            zero_retention: true,
            ..PolicyFields::default()
        })
        .await;
    let refused = post(&harness, (harness.address, &strict), &ask("x"), "k").await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["param"], json!(KEY));
    assert!(refused.text().contains("zero_retention"));
    for wrong in ["", &"x".repeat(256)] {
        let refused = harness.chat_with(&ask("x"), &[(KEY, wrong)]).await;
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert_eq!(refused.json()["error"]["param"], json!(KEY));
    }
    assert_eq!(names(&harness).await, 0);
    assert!(harness.simulator.requests().is_empty());
    assert_eq!(harness.posted_at_rest().await, ALL);
}

#[tokio::test]
async fn a_call_with_a_key_goes_on_when_its_client_leaves_before_the_answer() {
    let harness = TestGateway::new().await;
    let (_nodes, addresses) = three(&harness).await;
    let body = ask("Slowly [[tokens:9]] [[pace:100]]");
    let bytes = Bytes::from(body.to_string());
    let call = harness.send_with(Method::POST, PATH, bytes, &[(KEY, "k")]);
    let gone = tokio::time::timeout(Duration::from_millis(400), call).await;
    assert!(gone.is_err(), "the client waits no longer");
    let got = post(&harness, (addresses[1], &harness.key), &body, "k").await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert!(replayed(&got));
    assert_eq!(harness.simulator.requests().len(), 1);
    let (outcome, charged, ..) = harness.usage(&got.id()).await;
    assert_eq!(outcome, "complete");
    assert_eq!(harness.posted_at_rest().await, ALL - charged);
    harness.audit().await;
}
