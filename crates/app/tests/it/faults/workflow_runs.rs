//! Runs of workflows whose process dies: the same task is gone on with, and nothing is charged twice. And a stream
//! that outlives the drain.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use trunkline_catalog::workflow::Workflow;
use trunkline_store::workflows;
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol, UpstreamResponse};

use super::process_harness::{INPUT, MONEY, OUTPUT, ProcessHarness, VIDEO, signal};

const BASE: &str = include_str!("../../../../catalog/tests/fixtures/workflows/base.json");
const RUNS: &str = "/v1/workflows/product-clip/runs";
const SOON: Duration = Duration::from_secs(20);

fn read(record: &Value) -> Workflow {
    Workflow::read(&record.to_string()).unwrap_or_else(|found| panic!("{found:?}"))
}

/// A workflow that is verified, bound to an operation by a map of its two inputs.
async fn verified(harness: &ProcessHarness, endpoint: &str, model: &str, map: &Value) {
    let waits = "contract_only_not_executable";
    for (contract, binding) in [
        ("draft_unverified", waits),
        ("contract_locked_not_executable", waits),
        ("verified", "verified"),
    ] {
        let mut record: Value = serde_json::from_str(BASE).unwrap();
        record["contract_status"] = json!(contract);
        record["inputs"][0]["required"] = json!(false);
        let bound = &mut record["runtime_binding"];
        bound["status"] = json!(binding);
        bound["endpoint"] = json!(endpoint);
        bound["model_ids"] = json!([model]);
        bound["request_field_map"] = map.clone();
        bound["last_verified_at"] = json!("2026-11-18");
        let digest = read(&record).digest().to_string();
        record["runtime_binding"]["semantic_digest_sha256"] = json!(digest);
        let mut tx = harness.console.begin().await.unwrap();
        workflows::import(&mut tx, read(&record)).await.unwrap();
        tx.commit().await.unwrap();
    }
}

async fn send(
    harness: &ProcessHarness,
    method: Method,
    path: &str,
    body: &Value,
) -> Option<UpstreamResponse> {
    let mut headers = HeaderMap::new();
    let bearer = format!("Bearer {}", harness.key);
    headers.insert(AUTHORIZATION, HeaderValue::from_str(&bearer).unwrap());
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let minute = Duration::from_secs(60);
    let call = Outgoing {
        method,
        uri: format!("http://{}{path}", harness.address).parse().unwrap(),
        headers,
        body: Bytes::from(body.to_string()).into(),
        deadlines: Deadlines {
            first_byte: minute,
            idle: minute,
            total: minute,
        },
        proxy: None,
        protocol: Protocol::Http1,
    };
    let client = Client::new(Duration::from_secs(2)).unwrap();
    client.send(call).await.ok()
}

/// An answer that must come: its status, its run and its body.
async fn ask(
    harness: &ProcessHarness,
    method: Method,
    path: &str,
    body: &Value,
) -> (u16, Option<String>, Value) {
    let mut got = send(harness, method, path, body).await.expect("an answer");
    let text = got.whole(10_000_000).await.unwrap();
    let run = got.headers.get("trunkline-workflow-run");
    let run = run.map(|run| run.to_str().unwrap().to_owned());
    let body = serde_json::from_slice(&text).unwrap_or(Value::Null);
    (got.status.as_u16(), run, body)
}

async fn becomes(harness: &ProcessHarness, path: &str, status: &str) -> Value {
    let began = tokio::time::Instant::now();
    loop {
        let (_, _, run) = ask(harness, Method::GET, path, &json!({})).await;
        if run["status"] == status {
            return run;
        }
        assert!(began.elapsed() < SOON, "never {status}: {run}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn run_of(inputs: &Value) -> Value {
    json!({ "inputs": inputs, "confirmations": ["second charge"] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_video_run_whose_node_is_killed_goes_on_as_the_same_task() {
    let environment = [
        ("TRUNKLINE__VIDEO__POLL_FIRST_MS", "50"),
        ("TRUNKLINE__VIDEO__POLL_MOST_MS", "100"),
    ];
    let mut harness = ProcessHarness::of_neighbours(4_096, &environment).await;
    harness.roles = "edge,worker";
    harness.start_gateway().await;
    let map = json!({ "prompt": "prompt", "seconds": "duration", "picture": "input_reference" });
    verified(&harness, "/v1/videos", VIDEO, &map).await;
    let picture = "https://media.example/cat.png";
    let inputs =
        json!({ "prompt": "a cat [[job:wait_ms:3000]]", "seconds": 5, "picture": picture });
    let (status, run, task) = ask(&harness, Method::POST, RUNS, &run_of(&inputs)).await;
    assert_eq!(status, 200, "{task}");
    let run = run.expect("the run is named");
    harness.kill_gateway().await;
    harness.start_gateway().await;
    // The caller does not know what became of it, and asks for the same.
    let (status, retried, same) = ask(&harness, Method::POST, RUNS, &run_of(&inputs)).await;
    assert_eq!((status, retried.as_ref()), (200, Some(&run)), "{same}");
    assert_eq!(same["id"], task["id"]);
    assert_eq!(
        harness.simulator.video_jobs().len(),
        1,
        "one job at the vendor"
    );
    let path = format!("{RUNS}/{run}");
    let done = becomes(&harness, &path, "completed").await;
    let (paid, held) = harness.balance().await;
    let cost = format!("{:.9}", (MONEY - paid) as f64 / 1e9);
    let reported: f64 = done["cost_usd"].as_str().unwrap().parse().unwrap();
    assert!(
        (reported - cost.parse::<f64>().unwrap()).abs() < 1e-9,
        "{reported} {cost}"
    );
    assert!(paid < MONEY && held == 0, "charged once");
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_run_whose_node_is_killed_is_free_and_the_next_one_is_charged_once() {
    let mut harness = ProcessHarness::new().await;
    let map = json!({
        "prompt": "messages[0].content",
        "seconds": "max_tokens",
        "messages[0].role": { "value": "user" },
    });
    verified(&harness, "/v1/chat/completions", "sim-fast", &map).await;
    let inputs =
        json!({ "prompt": "Hello [[tokens:5]] [[fault:hang_before_headers]]", "seconds": 10 });
    let body = run_of(&inputs);
    {
        let waiting = send(&harness, Method::POST, RUNS, &body);
        let requested = async {
            while harness.simulator.requests().is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            answer = waiting => panic!("no node can answer: {}", answer.is_some()),
            () = requested => {}
        }
    }
    harness.kill_gateway().await;
    harness.start_gateway().await;
    let (_, _, runs) = ask(&harness, Method::GET, RUNS, &json!({})).await;
    let first = runs["data"][0].clone();
    assert_eq!(first["status"], "failed", "{first}");
    assert_eq!(harness.balance().await, (MONEY, 0), "nothing was charged");
    let inputs = json!({ "prompt": "Hello [[tokens:5]]", "seconds": 10 });
    let (status, run, answer) = ask(&harness, Method::POST, RUNS, &run_of(&inputs)).await;
    assert_eq!(status, 200, "{answer}");
    assert_ne!(run, first["id"].as_str().map(str::to_owned));
    let usage = &answer["usage"];
    let due = usage["prompt_tokens"].as_i64().unwrap() * INPUT
        + usage["completion_tokens"].as_i64().unwrap() * OUTPUT;
    assert_eq!(harness.balance().await, (MONEY - due, 0));
    harness.audit().await;
}

// covers: D-2-56
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_cut_by_the_drain_deadline_costs_the_customer_nothing() {
    let mut harness = ProcessHarness::new().await;
    let body = json!({ "model": "sim-fast", "stream": true,
        "messages": [{ "role": "user", "content": "Go on [[tokens:4000]] [[pace:50]]" }] });
    let stream = send(&harness, Method::POST, "/v1/chat/completions", &body).await;
    let mut stream = stream.expect("it begins");
    assert_eq!(stream.status, 200);
    let (_, held) = harness.balance().await;
    assert!(held > 0, "money is held for it");
    // Three seconds of notice and drain; the stream would take three minutes.
    signal(harness.pid(), "-TERM").await;
    let rest = stream.whole(10_000_000).await;
    if let Ok(rest) = rest {
        let text = String::from_utf8_lossy(&rest).into_owned();
        assert!(!text.contains("data: [DONE]"), "it did not come to its end");
    }
    // Whatever the process left open ends with its next life.
    let _before = harness.replace_gateway().await;
    let began = tokio::time::Instant::now();
    while harness.balance().await != (MONEY, 0) {
        assert!(began.elapsed() < SOON, "{:?}", harness.balance().await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    harness.audit().await;
}
