//! What the vendor refuses is refused, with its status, parameter and code.

use serde_json::{Value, json};
use trunkline_simulator::{Settings, Simulator};

use crate::client::{announce, ask, asking, chat, started};

fn with(name: &str, value: Value) -> Value {
    let mut body = asking("hello");
    body[name] = value;
    body
}

#[tokio::test]
async fn every_bad_request_is_refused_with_its_parameter_and_code() {
    let simulator = started().await;
    // One case in each line: a body, and what its refusal says.
    for line in include_str!("../fixtures/refusals.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect(line);
        let got = chat(&simulator, &case["body"]).await;
        assert_eq!(got.status, 400, "{line}");
        let error = &got.json()["error"];
        assert_eq!(error["type"], "invalid_request_error", "{line}");
        assert_eq!(error["param"], case["param"], "{line}: {error}");
        assert_eq!(error["code"], case["code"], "{line}: {error}");
        let message = error["message"].as_str().unwrap();
        let says = case["says"].as_str().unwrap();
        assert!(message.contains(says), "{line}: {message}");
    }
}

#[tokio::test]
async fn the_last_values_that_pass_pass() {
    let simulator = started().await;
    let tools = json!([{"type": "function", "function": {"name": "f", "strict": true}},
        {"type": "custom", "custom": {"name": "g"}}]);
    for body in [
        with("temperature", json!(2)),
        with("temperature", json!(0)),
        with("temperature", json!(null)),
        with("n", json!(128)),
        with("max_tokens", json!(1)),
        with("stop", json!(["a"])),
        with("stop", json!("a")),
        with("user", json!("u")),
        with("tools", tools),
        with("response_format", json!({"type": "text"})),
        with("metadata", json!({"a": "b"})),
    ] {
        let got = chat(&simulator, &body).await;
        assert_eq!(got.status, 200, "{body}: {}", got.text());
    }
}

#[tokio::test]
async fn a_key_is_needed_and_must_be_known() {
    let settings = Settings {
        keys: vec!["sk-good-0001".to_owned()],
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let path = "/v1/models";
    let none = ask(&simulator, "GET", path, "", b"").await;
    assert_eq!(
        (none.status, &none.json()["error"]["code"]),
        (401, &Value::Null)
    );
    let head = "authorization: Bearer sk-bad-0002\r\n";
    let wrong = ask(&simulator, "GET", path, head, b"").await;
    assert_eq!(wrong.status, 401);
    assert_eq!(wrong.json()["error"]["code"], "invalid_api_key");
    assert!(!wrong.text().contains("sk-bad"));
    let head = "authorization: Bearer sk-good-0001\r\n";
    let good = ask(&simulator, "GET", path, head, b"").await;
    assert_eq!(good.status, 200);
    let truth = simulator.requests();
    let seen: Vec<_> = truth
        .iter()
        .map(|served| (served.key.as_str(), served.status))
        .collect();
    assert_eq!(seen, [("", 401), ("0002", 401), ("0001", 200)]);
}

#[tokio::test]
async fn unknown_paths_methods_models_and_bodies_are_refused() {
    let simulator = started().await;
    let key = "authorization: Bearer k\r\n";
    let json_key = "authorization: Bearer k\r\ncontent-type: application/json\r\n";
    let chat_path = "/v1/chat/completions";
    for (method, path, head, body, status, piece) in [
        (
            "POST",
            "/v1/edits",
            json_key,
            "{}",
            404,
            "Invalid URL (POST /v1/edits)",
        ),
        (
            "POST",
            "/v1/v1/chat/completions",
            json_key,
            "{}",
            404,
            "Invalid URL",
        ),
        ("GET", chat_path, key, "", 405, "method_not_supported"),
        ("DELETE", "/v1/models", key, "", 405, "method_not_supported"),
        ("GET", "/v1/models/gpt-x", key, "", 404, "model_not_found"),
        ("GET", "/v1/models/sim-", key, "", 404, "model_not_found"),
        ("GET", "/v1/models/sim-a", key, "", 200, "\"id\":\"sim-a\""),
        ("GET", "/v1/models", key, "", 200, "\"object\":\"list\""),
        (
            "POST",
            chat_path,
            json_key,
            "{",
            400,
            "could not parse the JSON",
        ),
        (
            "POST",
            chat_path,
            json_key,
            "[]",
            400,
            "could not parse the JSON",
        ),
        (
            "POST",
            chat_path,
            key,
            "{}",
            400,
            "Unsupported content type",
        ),
        (
            "POST",
            chat_path,
            json_key,
            r#"{"model":"gpt-x","messages":[]}"#,
            404,
            "model_not_found",
        ),
    ] {
        let got = ask(&simulator, method, path, head, body.as_bytes()).await;
        assert_eq!(got.status, status, "{method} {path} {body}");
        assert!(
            got.text().contains(piece),
            "{method} {path}: {}",
            got.text()
        );
    }
}

#[tokio::test]
async fn a_body_is_refused_by_its_announced_length() {
    let simulator = started().await;
    let key = "authorization: Bearer k\r\ncontent-type: application/json\r\n";
    let limit = 64 * 1024 * 1024;
    let path = "/v1/chat/completions";
    let got = announce(&simulator, "POST", path, key, limit + 1).await;
    assert_eq!(got.status, 413);
    assert_eq!(got.json()["error"]["code"], "request_too_large");
    // The last length that passes is waited for.
    let got = announce(&simulator, "POST", path, key, limit).await;
    assert_eq!((got.status, got.is_closed), (0, false));
}

#[tokio::test]
async fn a_client_that_asks_for_a_head_alone_has_not_left() {
    let simulator = started().await;
    let key = "authorization: Bearer k\r\n";
    let got = ask(&simulator, "HEAD", "/v1/models", key, b"").await;
    assert_eq!((got.status, got.body.len()), (405, 0));
    let truth = simulator.requests();
    assert_eq!((truth[0].finished, truth[0].client_left), (true, false));
}
