//! The operation of docs/dev/adding/operation: what the pipeline gives to an operation that is one file and
//! one row.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_edge::step::Step;
use trunkline_simulator::{Fault, Rule};
use trunkline_store::PolicyFields;

use crate::log::Log;
use crate::response::GatewayResponse;
use crate::test_gateway::TestGateway;

const ALL: i64 = 10_000_000_000;
/// Two cents, in nano-USD.
const PRICE: i64 = 20_000_000;
const CATALOG: &str = r#"
[models.parrot]
groups = ["default"]
prices = { billing_unit = "per_call", standard = { per_call = 20_000_000_000 } }
[[models.parrot.rules]]
code = "tone_not_taken"
must = { field = "tone", one_of = ["kind"], or_absent = true }
fix = "send \"kind\""
"#;

/// A gateway that sells it, with two channels.
async fn harness() -> TestGateway {
    let harness = TestGateway::new().await;
    harness.sell(CATALOG).await;
    let base = harness.simulator.base_url();
    for (name, priority) in [("parrot-1", 20), ("parrot-2", 10)] {
        let models = [("parrot", "sim-fast")];
        harness.channel(name, &base, priority, &models).await;
    }
    harness
}

async fn echo(harness: &TestGateway, extra: &[(&'static str, &str)]) -> GatewayResponse {
    let body = json!({ "model": "parrot", "text": "hello" });
    harness.post_with("/v1/echo", &body, extra).await
}

/// The line of a request in a log.
async fn line(log: &Log, target: &str, request: &str) -> Value {
    for _ in 0..200 {
        let text = log.text();
        let lines = text.lines().filter(|line| line.contains(target));
        let mut lines = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        if let Some(line) = lines.find(|line| line["fields"]["request.id"] == request) {
            return line["fields"].clone();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no line of {request} from {target}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_of_the_new_operation_is_charged_and_logged_with_every_step() {
    let log = Log::capture();
    let harness = harness().await;
    let got = echo(&harness, &[]).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(got.header("trunkline-cost-usd").as_deref(), Some("0.02"));
    assert!(got.json()["data"].is_array(), "{}", got.text());
    assert_eq!(harness.posted_at_rest().await, ALL - PRICE);
    let (outcome, charged, _, _) = harness.usage(&got.id()).await;
    assert_eq!((outcome.as_str(), charged), ("complete", PRICE));
    let row = harness.get(&format!("/v1/usage/{}", got.id())).await.json();
    assert_eq!(row["endpoint"], "echo", "{row}");
    let steps = line(&log, "trunkline::steps", &got.id()).await;
    let all = Step::ACCEPT.into_iter().chain(Step::EXECUTE);
    let all: Vec<&str> = all.map(Step::name).collect();
    assert_eq!(steps["steps"], all.join(" "));
    let access = line(&log, "trunkline::access", &got.id()).await;
    assert_eq!(access["model"], "parrot", "{access}");
    harness.audit().await;
}

#[tokio::test]
async fn a_caller_of_the_new_operation_is_held_to_limits_allowances_and_rules() {
    let mut harness = harness().await;
    let got = echo(&harness, &[("trunkline-max-cost-usd", "0.01")]).await;
    assert_eq!(got.code(), "max_cost_exceeded", "{}", got.text());
    let body = json!({ "model": "parrot", "text": "hello", "tone": "rude" });
    let got = harness.post("/v1/echo", &body).await;
    assert_eq!(got.code(), "tone_not_taken", "{}", got.text());
    harness.key = harness
        .make_key(PolicyFields {
            requests_per_minute: Some(1),
            ..PolicyFields::default()
        })
        .await;
    assert_eq!(echo(&harness, &[]).await.status, 200);
    let got = echo(&harness, &[]).await;
    assert_eq!(got.status, 429, "{}", got.text());
    assert_eq!(harness.posted_at_rest().await, ALL - PRICE);
    assert_eq!(harness.simulator.requests().len(), 1);
    harness.audit().await;
}

#[tokio::test]
async fn a_duplicate_of_the_new_operation_gets_the_stored_response() {
    let harness = harness().await;
    let key = [("idempotency-key", "echo-1")];
    let first = echo(&harness, &key).await;
    let second = echo(&harness, &key).await;
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(second.status, 200, "{}", second.text());
    assert_eq!(first.body, second.body);
    let replayed = second.header("idempotent-replayed");
    assert_eq!(replayed.as_deref(), Some("true"));
    assert_eq!(harness.simulator.requests().len(), 1);
    assert_eq!(harness.posted_at_rest().await, ALL - PRICE);
    harness.audit().await;
}

#[tokio::test]
async fn a_call_of_the_new_operation_goes_on_to_the_next_channel() {
    let harness = harness().await;
    harness.simulator.plan(Rule {
        fault: Fault::Status(503),
        times: Some(1),
        model: None,
        key: None,
        one_in: 1,
    });
    let got = echo(&harness, &[]).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(harness.simulator.requests().len(), 2);
    assert_eq!(harness.posted_at_rest().await, ALL - PRICE);
    harness.audit().await;
}
