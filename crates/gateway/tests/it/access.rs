//! The access line: one for every request, with what an operator asks for first.

use std::time::Duration;

use serde_json::Value;
use trunkline_edge::listener::EdgeSettings;
use trunkline_simulator::{Fault, Rule};
use trunkline_store::Network;

use crate::log::Log;
use crate::test_gateway::{TestGateway, TestOptions, ask, ask_streaming};

/// The fields of the one line of a request.
async fn line_of(log: &Log, id: &str) -> Value {
    for _ in 0..200 {
        let text = log.text();
        let lines = text.lines().filter_map(|line| {
            let line: Value = serde_json::from_str(line).ok()?;
            let is_access = line["target"] == "trunkline::access";
            (is_access && line["fields"]["request.id"] == id).then_some(line)
        });
        let mut lines: Vec<Value> = lines.collect();
        assert!(lines.len() < 2, "{lines:#?}");
        if let Some(line) = lines.pop() {
            assert_eq!(line["level"], "INFO");
            assert_eq!(line["fields"]["message"], "answered");
            return line["fields"].clone();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no line for {id}");
}

#[tokio::test]
async fn every_request_has_one_line_that_says_what_became_of_it() {
    let log = Log::capture();
    let harness = TestGateway::build(TestOptions {
        edge: EdgeSettings {
            trusted_proxies: vec![Network::parse("127.0.0.0/8").unwrap()],
            ..EdgeSettings::default()
        },
        ..TestOptions::default()
    })
    .await;
    let from = [("x-forwarded-for", "203.0.113.9")];
    let body = ask("Hello [[tokens:5]]");
    let got = harness.chat_with(&body, &from).await;
    let line = line_of(&log, &got.id()).await;
    let (_, charged, _, _) = harness.usage(&got.id()).await;
    let key = harness.get("/v1/key").await;
    for (field, value) in [
        ("http.method", Value::from("POST")),
        ("http.path", "/v1/chat/completions".into()),
        ("http.status", 200.into()),
        ("client.address", "203.0.113.9".into()),
        ("account.id", harness.account.number().into()),
        ("key.id", key.json()["id"].clone()),
        ("model", "sim-fast".into()),
        ("stream", false.into()),
        ("channel.name", "first".into()),
        ("attempts_count", 1.into()),
        ("outcome", "complete".into()),
        (
            "input_tokens_count",
            got.json()["usage"]["prompt_tokens"].clone(),
        ),
        ("output_tokens_count", 5.into()),
        ("charge.nanos", charged.into()),
        ("in_bytes", body.to_string().len().into()),
        ("out_bytes", got.body.len().into()),
        ("fault", Value::Null),
        ("ttft_ms", Value::Null),
    ] {
        assert_eq!(line[field], value, "{field} of {line:#}");
    }
    assert!(line["latency_ms"].is_u64());
    let line = line_of(&log, &key.id()).await;
    assert_eq!(line["http.path"], "/v1/key");
    assert_eq!(
        (&line["model"], &line["outcome"]),
        (&Value::Null, &Value::Null)
    );
    let got = harness.chat(&ask_streaming("Tell me [[tokens:9]]")).await;
    let line = line_of(&log, &got.id()).await;
    assert_eq!(line["out_bytes"], got.body.len());
    assert_eq!(
        (&line["stream"], &line["outcome"]),
        (&true.into(), &"complete".into())
    );
    assert!(line["ttft_ms"].as_u64().unwrap() <= line["latency_ms"].as_u64().unwrap());
    let unknown = [("authorization", "Bearer no")];
    let got = harness.chat_with(&ask("Hi"), &unknown).await;
    let line = line_of(&log, &got.id()).await;
    assert_eq!(
        (&line["http.status"], &line["fault"]),
        (&401.into(), &"invalid_api_key".into())
    );
    assert_eq!(line["account.id"], Value::Null);
    harness.simulator.plan(Rule {
        fault: Fault::Status(500),
        times: None,
        model: None,
        key: None,
        one_in: 1,
    });
    let got = harness.chat(&ask("Hi")).await;
    let line = line_of(&log, &got.id()).await;
    assert_eq!(
        (&line["http.status"], &line["outcome"]),
        (&502.into(), &"upstream_failed".into())
    );
    assert_eq!(line["charge.nanos"], Value::Null);
}
