//! The simulator's own paths: rules in, truth out, from another process.

use serde_json::{Value, json};
use trunkline_simulator::{Settings, Simulator};

use crate::client::{Response, ask, asking, chat, started};

async fn control(simulator: &Simulator, method: &str, path: &str, body: &str) -> Response {
    ask(simulator, method, path, "", body.as_bytes()).await
}

#[tokio::test]
async fn a_rule_from_outside_strikes_and_is_cleared() {
    let simulator = started().await;
    let rule = r#"{"fault": {"status": 503}, "model": "sim-small", "key": "sk-test-1234"}"#;
    assert_eq!(
        control(&simulator, "POST", "/_simulator/rules", rule)
            .await
            .status,
        200
    );
    assert_eq!(chat(&simulator, &asking("hello")).await.status, 503);
    assert_eq!(
        control(&simulator, "DELETE", "/_simulator/rules", "")
            .await
            .status,
        200
    );
    assert_eq!(chat(&simulator, &asking("hello")).await.status, 200);
}

#[tokio::test]
async fn a_rule_that_is_none_is_refused() {
    let simulator = started().await;
    for rule in [
        "{}",
        r#"{"fault": "nonsense"}"#,
        r#"{"fault": "no_usage", "extra": 1}"#,
        r#"{"fault": "no_usage", "one_in": 0}"#,
        r#"{"fault": "no_usage", "times": 0}"#,
        r#"{"fault": {"status": 200}}"#,
        r#"{"fault": {"hang_mid_stream": {}}}"#,
    ] {
        let got = control(&simulator, "POST", "/_simulator/rules", rule).await;
        assert_eq!(got.status, 400, "{rule}");
    }
    assert_eq!(chat(&simulator, &asking("hello")).await.status, 200);
}

#[tokio::test]
async fn the_truth_is_read_in_pages_and_forgotten() {
    let settings = Settings {
        max_requests: 3,
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    for marker in ["a", "b", "c", "d"] {
        chat(&simulator, &asking(&format!("[[id:{marker}]]"))).await;
    }
    let got = control(
        &simulator,
        "GET",
        "/_simulator/requests?after=2&limit=1",
        "",
    )
    .await;
    let page = got.json();
    assert_eq!(
        (&page["forgotten"], &page["has_more"]),
        (&json!(1), &json!(true))
    );
    let record = &page["requests"][0];
    assert_eq!(
        (&record["number"], &record["marker"]),
        (&json!(3), &json!("c"))
    );
    assert_eq!(record["told_usage"], json!([record["prompt_tokens"], 5]));
    assert_eq!(record["body_sha256"].as_str().unwrap().len(), 64);
    let body: Value = serde_json::from_str(record["body"].as_str().unwrap()).unwrap();
    assert_eq!(body, asking("[[id:c]]"));
    assert!(!got.text().contains("sk-test"));
    assert_eq!(
        control(&simulator, "DELETE", "/_simulator/requests", "")
            .await
            .status,
        200
    );
    let page = control(&simulator, "GET", "/_simulator/requests", "")
        .await
        .json();
    assert_eq!(
        page,
        json!({"requests": [], "forgotten": 0, "has_more": false})
    );
}

#[tokio::test]
async fn other_paths_and_queries_of_the_control_api_are_refused() {
    let simulator = started().await;
    for (method, path, status) in [
        ("GET", "/_simulator", 404),
        ("GET", "/_simulator/rules", 405),
        ("PUT", "/_simulator/requests", 405),
        ("GET", "/_simulator/requests?limit=0", 400),
        ("GET", "/_simulator/requests?limit=10001", 400),
        ("GET", "/_simulator/requests?page=1", 400),
    ] {
        assert_eq!(
            control(&simulator, method, path, "").await.status,
            status,
            "{path}"
        );
    }
    assert!(simulator.requests().is_empty());
}
