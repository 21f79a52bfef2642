//! Workflows that are run: each run is one call of the operation that its record is bound to, with the money, the
//! idempotency and the receipt of that call.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_catalog::workflow::Workflow;
use trunkline_store::workflows;

use crate::generation::harness::{MONEY as DRAWING_MONEY, PICTURE};
use crate::test_gateway::{GatewayResponse, INPUT, OUTPUT, TestGateway};
use crate::videos::{CAT, MONEY, ended, generation, moved, quick, spent};

const BASE: &str = include_str!("../../../catalog/tests/fixtures/workflows/base.json");
const CONFIRMED: &str = "second charge";
/// What the harness of conversations has, in nano-USD.
const CHAT_MONEY: i64 = 10_000_000_000;

/// What differs between the workflows of these tests.
struct Bound {
    id: &'static str,
    endpoint: &'static str,
    model: &'static str,
    inputs: Value,
    map: Value,
}

fn input(id: &str, kind: &str, required: bool, default: Value, allowed: Value) -> Value {
    json!({ "id": id, "type": kind, "required": required, "description": "An input.",
        "evidence_status": "semantic_stable", "default": default, "allowed_values": allowed,
        "cost_sensitive": false })
}

/// Two inputs of a conversation: what is asked, and how to answer.
fn talk() -> Bound {
    Bound {
        id: "ask-once",
        endpoint: "/v1/chat/completions",
        model: "sim-fast",
        inputs: json!([
            input("question", "string", true, Value::Null, json!([])),
            input(
                "tone",
                "enum",
                false,
                json!("plain"),
                json!(["plain", "warm"])
            ),
            input("length", "integer", false, Value::Null, json!([])),
        ]),
        map: json!({
            "question": "messages[1].content",
            "tone": "messages[0].content",
            "length": "max_tokens",
            "messages[0].role": { "value": "system" },
            "messages[1].role": { "value": "user" },
        }),
    }
}

fn picture() -> Bound {
    Bound {
        id: "one-picture",
        endpoint: "/v1/images/generations",
        model: "brush",
        inputs: json!([
            input("prompt", "string", true, Value::Null, json!([])),
            input("count", "integer", false, json!(1), json!([])),
        ]),
        map: json!({ "prompt": "prompt", "count": "n" }),
    }
}

fn clip() -> Bound {
    Bound {
        id: "one-clip",
        endpoint: "/v1/videos",
        model: "wan2.7-t2v",
        inputs: json!([
            input("prompt", "string", true, Value::Null, json!([])),
            input("seconds", "integer", false, json!(5), json!([5, 10])),
        ]),
        map: json!({ "prompt": "prompt", "seconds": "duration" }),
    }
}

impl Bound {
    fn record(&self, contract: &str, binding: &str) -> Value {
        let mut record: Value = serde_json::from_str(BASE).unwrap();
        record["workflow_id"] = json!(self.id);
        record["slug"] = json!(self.id);
        record["contract_status"] = json!(contract);
        record["inputs"] = self.inputs.clone();
        let bound = &mut record["runtime_binding"];
        bound["status"] = json!(binding);
        bound["endpoint"] = json!(self.endpoint);
        bound["model_ids"] = json!([self.model]);
        bound["request_field_map"] = self.map.clone();
        bound["last_verified_at"] = json!("2026-11-18");
        let digest = read(&record).digest().to_string();
        record["runtime_binding"]["semantic_digest_sha256"] = json!(digest);
        record
    }

    fn path(&self) -> String {
        format!("/v1/workflows/{}/runs", self.id)
    }
}

fn read(record: &Value) -> Workflow {
    Workflow::read(&record.to_string()).unwrap_or_else(|found| panic!("{found:?}"))
}

impl TestGateway {
    async fn import(&self, record: &Value) -> Value {
        let mut tx = self.console.begin().await.unwrap();
        let done = workflows::import(&mut tx, read(record)).await;
        let imported = done.unwrap();
        tx.commit().await.unwrap();
        serde_json::from_str(&imported.version.workflow.to_text()).unwrap()
    }

    /// Takes a workflow through its states until it may be run.
    async fn verify(&self, bound: &Bound) {
        let waits = "contract_only_not_executable";
        self.import(&bound.record("draft_unverified", waits)).await;
        let locked = "contract_locked_not_executable";
        self.import(&bound.record(locked, waits)).await;
        let verified = self.import(&bound.record("verified", "verified")).await;
        assert_eq!(verified["runtime_binding"]["status"], "verified");
    }

    async fn run(&self, bound: &Bound, inputs: Value) -> GatewayResponse {
        self.run_with(bound, inputs, &[]).await
    }

    async fn run_with(
        &self,
        bound: &Bound,
        inputs: Value,
        extra: &[(&'static str, &str)],
    ) -> GatewayResponse {
        let body = json!({ "inputs": inputs, "confirmations": [CONFIRMED] });
        self.post_with(&bound.path(), &body, extra).await
    }

    async fn run_view(&self, bound: &Bound, run: &str) -> Value {
        self.get(&format!("{}/{run}", bound.path())).await.json()
    }

    /// The words of what happened to a run.
    async fn run_events(&self, bound: &Bound, run: &str) -> Vec<String> {
        let listed = self.get(&format!("{}/{run}/events", bound.path())).await;
        let data = listed.json()["data"].as_array().unwrap().clone();
        data.iter()
            .map(|event| event["type"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn run_of(got: &GatewayResponse) -> String {
    assert_eq!(got.status, 200, "{}", got.text());
    got.header("trunkline-workflow-run").unwrap()
}

fn refused(got: &GatewayResponse, status: u16, code: &str) -> Value {
    assert_eq!(got.status.as_u16(), status, "{}", got.text());
    assert_eq!(got.code(), code, "{}", got.text());
    let error = got.json()["error"].clone();
    assert_eq!(error["charged"], false);
    error
}

#[tokio::test]
async fn a_customer_runs_a_conversation_as_one_call_with_its_inputs_mapped() {
    let harness = TestGateway::new().await;
    let bound = talk();
    harness.verify(&bound).await;
    let inputs = json!({ "question": "Why? [[tokens:5]]", "length": 40 });
    let quoted = json!({ "endpoint": bound.path(), "body": { "inputs": inputs } });
    let quote = harness.post("/v1/quotes", &quoted).await;
    assert_eq!(quote.status, 200, "{}", quote.text());
    let quote = quote.json();
    assert_eq!(quote["model"], "sim-fast");
    let named = [("trunkline-quote", quote["id"].as_str().unwrap())];
    let got = harness.run_with(&bound, inputs, &named).await;
    let run = run_of(&got);
    assert_eq!(got.json()["object"], "chat.completion");
    let sent = harness.simulator.requests();
    assert_eq!(sent.len(), 1, "one execution");
    let body: Value = serde_json::from_slice(&sent[0].body).unwrap();
    let messages = json!([
        { "role": "system", "content": "plain" },
        { "role": "user", "content": "Why? [[tokens:5]]" },
    ]);
    assert_eq!(
        (&body["messages"], &body["max_tokens"]),
        (&messages, &json!(40))
    );

    let (input, output) = sent[0].told_usage.unwrap();
    let due = i64::try_from(input).unwrap() * INPUT + i64::try_from(output).unwrap() * OUTPUT;
    assert_eq!(CHAT_MONEY - harness.posted_at_rest().await, due);
    let view = harness.run_view(&bound, &run).await;
    assert_eq!(
        (&view["status"], &view["operation"]),
        (&json!("completed"), &json!(bound.endpoint))
    );
    assert_eq!(view["request_id"], got.id());
    assert_eq!(view["cost_usd"], got.header("trunkline-cost-usd").unwrap());
    let events = harness.run_events(&bound, &run).await;
    assert_eq!(
        events,
        [
            "run.created",
            "money.held",
            "money.charged",
            "run.completed"
        ]
    );
    let receipt = harness
        .get(&format!("{}/{run}/receipt", bound.path()))
        .await
        .json();
    assert_eq!(receipt["workflow_id"], "ask-once");
    assert_eq!(
        receipt["semantic_digest_sha256"],
        view["semantic_digest_sha256"]
    );
    assert_eq!(receipt["usage"]["request_id"], got.id());
    assert_eq!(receipt["usage"]["cost_usd"], view["cost_usd"]);
    assert_eq!(receipt["confirmations"], json!([CONFIRMED]));
    let listed = harness.get(&bound.path()).await.json();
    assert_eq!(listed["data"], json!([view]));
    let late = harness
        .post(&format!("{}/{run}/cancel", bound.path()), &json!({}))
        .await;
    refused(&late, 409, "not_cancellable");
    harness.audit().await;
}

#[tokio::test]
async fn a_customer_is_asked_for_confirmations_and_told_of_wrong_inputs_for_nothing() {
    let harness = TestGateway::new().await;
    let bound = talk();
    harness.verify(&bound).await;
    let path = bound.path();
    let question = json!({ "question": "Why?" });
    let got = harness.post(&path, &json!({ "inputs": question })).await;
    let error = refused(&got, 409, "confirmation_required");
    assert_eq!(error["confirmations"], json!([CONFIRMED]));
    assert_eq!(error["privacy_preflight"]["processing_region"], "eu");
    for (inputs, param) in [
        (json!({}), "inputs.question"),
        (json!({ "question": 7 }), "inputs.question"),
        (json!({ "question": "Why?", "tone": "loud" }), "inputs.tone"),
        (
            json!({ "question": "Why?", "length": "long" }),
            "inputs.length",
        ),
        (json!({ "question": "Why?", "other": 1 }), "inputs.other"),
    ] {
        let got = harness.run(&bound, inputs).await;
        assert_eq!(refused(&got, 400, "invalid_request")["param"], param);
    }
    let other = json!({ "inputs": question, "model": "sim-reason", "confirmations": [CONFIRMED] });
    let got = harness.post(&path, &other).await;
    assert_eq!(refused(&got, 400, "invalid_request")["param"], "model");
    let unknown = harness.post("/v1/workflows/nothing/runs", &other).await;
    refused(&unknown, 404, "not_found");
    let dear = [("trunkline-max-cost-usd", "0.000001")];
    let got = harness.run_with(&bound, question.clone(), &dear).await;
    refused(&got, 402, "max_cost_exceeded");
    assert!(harness.simulator.requests().is_empty());
    assert_eq!(harness.wallets().await, [CHAT_MONEY, 0, 0, 0]);

    // Another account sees neither the runs nor a run of this one.
    let run = run_of(&harness.run(&bound, question).await);
    let stranger = harness.make_account_key().await;
    let to = (harness.address, stranger.as_str());
    let own = format!("{path}/{run}");
    for (path, status) in [(&own, 404), (&path, 200)] {
        let sent = harness.send_as(to, Method::GET, path, Bytes::new(), &[]);
        let got = GatewayResponse::read(sent.await).await;
        assert_eq!(got.status.as_u16(), status, "{}", got.text());
        assert!(!got.text().contains(&run));
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_workflow_that_is_not_verified_or_changed_its_meaning_is_not_run() {
    let harness = TestGateway::new().await;
    let mut bound = talk();
    let inputs = json!({ "question": "Why? [[tokens:3]]" });
    let waits = "contract_only_not_executable";
    harness
        .import(&bound.record("draft_unverified", waits))
        .await;
    let got = harness.run(&bound, inputs.clone()).await;
    refused(&got, 409, "workflow_not_runnable");
    let locked = "contract_locked_not_executable";
    harness.import(&bound.record(locked, waits)).await;
    let got = harness.run(&bound, inputs.clone()).await;
    refused(&got, 409, "workflow_not_runnable");
    harness.import(&bound.record("verified", "verified")).await;
    run_of(&harness.run(&bound, inputs.clone()).await);
    // Another default is another meaning: the record falls back, and the next run stops.
    bound.inputs[1]["default"] = json!("warm");
    let fallen = harness.import(&bound.record("verified", "verified")).await;
    assert_eq!(fallen["contract_status"], "draft_unverified");
    let got = harness.run(&bound, inputs.clone()).await;
    refused(&got, 409, "workflow_not_runnable");
    let quoted = json!({ "endpoint": bound.path(), "body": { "inputs": inputs } });
    let got = harness.post("/v1/quotes", &quoted).await;
    refused(&got, 409, "workflow_not_runnable");
    assert_eq!(harness.simulator.requests().len(), 1);
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_customer_runs_pictures_and_pays_for_those_that_were_made() {
    let harness = TestGateway::generation().await;
    let bound = picture();
    harness.verify(&bound).await;
    let got = harness
        .run(&bound, json!({ "prompt": "a cat", "count": 2 }))
        .await;
    let run = run_of(&got);
    assert_eq!(got.json()["data"].as_array().unwrap().len(), 2);
    assert_eq!(DRAWING_MONEY - harness.posted_at_rest().await, 2 * PICTURE);
    assert_eq!(harness.run_view(&bound, &run).await["cost_usd"], "0.04");
    let broken = harness
        .run(&bound, json!({ "prompt": "a dog [[fault:status:500]]" }))
        .await;
    refused(&broken, 502, "upstream_error");
    assert_eq!(DRAWING_MONEY - harness.posted_at_rest().await, 2 * PICTURE);
    let failed = harness.get(&bound.path()).await.json()["data"][0].clone();
    assert_eq!(failed["status"], "failed", "{failed}");
    let events = harness
        .run_events(&bound, failed["id"].as_str().unwrap())
        .await;
    assert_eq!(
        events,
        ["run.created", "money.held", "money.released", "run.failed"]
    );
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_customer_runs_a_video_again_and_gets_the_same_task_until_it_is_over() {
    let harness = generation(quick()).await;
    let bound = clip();
    harness.verify(&bound).await;
    let inputs = json!({ "prompt": "a cat [[job:wait_ms:600]]" });
    let first = harness.run(&bound, inputs.clone()).await;
    let run = run_of(&first);
    let id = first.json()["id"].as_str().unwrap().to_owned();
    let retried = harness.run(&bound, inputs.clone()).await;
    assert_eq!(
        (run_of(&retried), &retried.json()["id"]),
        (run.clone(), &json!(id))
    );
    assert_eq!(harness.simulator.video_jobs().len(), 1, "the same task");
    let view = harness.run_view(&bound, &run).await;
    assert_eq!(
        (&view["status"], &view["task_id"]),
        (&json!("running"), &json!(id))
    );
    assert_eq!(ended(&harness, &id).await["status"], "completed");
    assert_eq!(harness.run_view(&bound, &run).await["status"], "completed");
    let events = harness.run_events(&bound, &run).await;
    assert_eq!(
        events,
        [
            "run.created",
            "money.held",
            "money.charged",
            "run.completed"
        ]
    );
    // Over is over: the same inputs are a new run, and a new charge.
    let next = harness.run(&bound, inputs).await;
    assert_ne!(run_of(&next), run);
    ended(&harness, next.json()["id"].as_str().unwrap()).await;
    assert_eq!(spent(&harness).await, 2 * CAT);
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_customer_gets_a_failed_or_cancelled_video_run_back_to_the_last_cent() {
    let harness = generation(quick()).await;
    let bound = clip();
    harness.verify(&bound).await;
    let failing = json!({ "prompt": "a cat [[job:fail:InvalidParameter]]", "seconds": 10 });
    let got = harness.run(&bound, failing).await;
    let run = run_of(&got);
    let id = got.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(moved(&harness, &id, "charge").await, 2 * CAT);
    ended(&harness, &id).await;
    let view = harness.run_view(&bound, &run).await;
    assert_eq!(
        (&view["status"], &view["error"]["code"]),
        (&json!("failed"), &json!("InvalidParameter"))
    );
    assert_eq!(
        (&view["cost_usd"], &view["refunded_usd"]),
        (&json!("0"), &json!("1"))
    );
    let events = harness.run_events(&bound, &run).await;
    assert_eq!(
        events,
        [
            "run.created",
            "money.held",
            "money.charged",
            "money.refunded",
            "run.failed"
        ]
    );
    // A full lane keeps the next one here, where it can be stopped.
    let waiting = json!({ "prompt": "a cat [[id:w]][[job:full:1000]]" });
    let got = harness.run(&bound, waiting).await;
    let run = run_of(&got);
    let stopped = harness
        .post(&format!("{}/{run}/cancel", bound.path()), &json!({}))
        .await;
    assert_eq!(stopped.status, 200, "{}", stopped.text());
    assert_eq!(
        (&stopped.json()["status"], &stopped.json()["error"]["code"]),
        (&json!("failed"), &json!("cancelled"))
    );
    assert_eq!(spent(&harness).await, 0);
    assert_eq!(harness.wallets().await, [MONEY, 0, 0, 0]);
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_charge_is_unknown_stops_the_same_run() {
    let harness = generation(quick()).await;
    let bound = clip();
    harness.verify(&bound).await;
    // The vendor takes the job and never answers.
    let inputs = json!({ "prompt": "a cat [[job:silent]]" });
    let first = harness.run(&bound, inputs.clone()).await;
    let run = run_of(&first);
    for _ in 0..200 {
        if harness.run_view(&bound, &run).await["status"] == "charge_unknown" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        harness.run_view(&bound, &run).await["status"],
        "charge_unknown"
    );
    let named = [("idempotency-key", "another one")];
    for extra in [&[][..], &named] {
        let got = harness.run_with(&bound, inputs.clone(), extra).await;
        assert_eq!(
            refused(&got, 409, "charge_state_unknown")["run_id"],
            json!(run)
        );
    }
    let jobs = harness.simulator.video_jobs().len();
    assert_eq!(jobs, 1, "never sent a second time");
    harness.audit().await;
}

#[tokio::test]
async fn a_run_with_an_idempotency_key_is_answered_again_and_charged_once() {
    let harness = TestGateway::new().await;
    let bound = talk();
    harness.verify(&bound).await;
    let inputs = json!({ "question": "Why? [[tokens:4]]" });
    let named = [("idempotency-key", "run 1")];
    let first = harness.run_with(&bound, inputs.clone(), &named).await;
    run_of(&first);
    let spent = CHAT_MONEY - harness.posted_at_rest().await;
    let retried = harness.run_with(&bound, inputs, &named).await;
    assert_eq!(
        retried.header("idempotent-replayed").as_deref(),
        Some("true")
    );
    assert_eq!(retried.json(), first.json());
    let other = harness
        .run_with(&bound, json!({ "question": "Who?" }), &named)
        .await;
    refused(&other, 409, "idempotency_conflict");
    assert_eq!(CHAT_MONEY - harness.posted_at_rest().await, spent);
    assert_eq!(harness.simulator.requests().len(), 1);
    harness.audit().await;
}
