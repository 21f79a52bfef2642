//! What a session may say, and what becomes of the rest.

use serde_json::{Value, json};

use super::harness::{cost, price};
use crate::test_gateway::TestGateway;

const MONEY: i64 = 10_000_000_000;

#[tokio::test]
async fn what_a_vendor_would_run_store_or_trace_is_taken_out_and_reported() {
    let harness = TestGateway::realtime(MONEY).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    let session = json!({
        "type": "realtime", "model": "live-voice", "tracing": "auto", "prompt": { "id": "pmpt_1" },
        "max_output_tokens": "inf", "output_modalities": ["text"],
        "tools": [{ "type": "mcp", "server_label": "x", "server_url": "https://example.com/mcp" }],
        "audio": { "input": { "transcription": { "model": "unpriced" }, "turn_detection": null } },
    });
    client
        .send(json!({ "type": "session.update", "session": session }))
        .await;
    let updated = client.until("session.updated").await;
    let notes = updated["trunkline"]["fields"].as_array().unwrap();
    let mut fields: Vec<&str> = notes
        .iter()
        .filter_map(|note| note["field"].as_str())
        .collect();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            "session.audio.input.transcription",
            "session.max_output_tokens",
            "session.prompt",
            "session.tools[0]",
            "session.tracing",
        ]
    );
    let applied = &updated["session"];
    assert_eq!(
        (&applied["model"], &applied["tools"]),
        (&json!("live-voice"), &json!([]))
    );
    assert_eq!(applied["max_output_tokens"], 4_096);
    assert!(applied["tracing"].is_null());
    let done = client.ask("Hello").await;
    let id = done["trunkline"]["request_id"].as_str().unwrap();
    let row = harness.get(&format!("/v1/usage/{id}")).await.json();
    assert!(row.to_string().contains("session.tracing"), "{row}");
    client.close().await;
    harness.at_rest().await;
}

#[tokio::test]
async fn an_event_that_is_none_is_answered_with_an_error_and_the_session_goes_on() {
    let harness = TestGateway::realtime(MONEY).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    for event in [
        json!({ "type": "input_image_buffer.append" }),
        json!([1]),
        json!({}),
    ] {
        client.send(event).await;
        let error = client.until("error").await;
        assert_eq!(error["error"]["code"], "invalid_event");
    }
    client.text_session("Answer.").await;
    let done = client.ask("Still here? [[fault:unknown_event:2]]").await;
    assert_ne!(done["trunkline"], Value::Null);
    client.close().await;
    harness.at_rest().await;
}

// covers: D-4-54
#[tokio::test]
async fn limits_of_the_operator_at_the_vendor_are_not_passed_on() {
    let harness = TestGateway::realtime(MONEY).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    client.text_session("Answer.").await;
    client.write("Hello").await;
    client.send(json!({ "type": "response.create" })).await;
    let mut seen = 0;
    loop {
        let event = client.next().await.unwrap();
        assert_ne!(event["type"], "rate_limits.updated");
        seen += 1;
        if event["type"] == "response.done" {
            break;
        }
    }
    client.close().await;
    harness.at_rest().await;
    let served = harness.served();
    assert!(
        served.frames_out > seen,
        "each frame but those comes by itself"
    );
}

#[tokio::test]
async fn a_client_of_a_deployment_at_azure_sees_the_public_name_and_pays_what_was_served() {
    let harness = TestGateway::realtime(MONEY).await;
    let base = format!("http://{}", harness.simulator.address());
    let models = [("live-voice", "sim-voice")];
    harness.before("azure", &base, &models).await;
    let mut client = harness.connect().await;
    let created = client.until("session.created").await;
    assert_eq!(created["session"]["model"], "live-voice");
    client.text_session("Answer.").await;
    let done = client.ask("Hello there").await;
    client.close().await;
    let spent = MONEY - harness.at_rest().await;
    let served = harness.served();
    assert_eq!(
        (served.vendor, served.model.as_str()),
        ("azure", "sim-voice")
    );
    assert_eq!(
        (spent, spent),
        (cost(&done), price(&served.responses[0].usage))
    );
}
