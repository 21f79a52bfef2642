//! What this vendor refuses, and how: keys, versions, paths, and bodies from a list.

use serde_json::{Value, json};
use trunkline_simulator::{Settings, Simulator};

use crate::anthropic::{HEAD, message};
use crate::client::{announce, ask, started};

const PATH: &str = "/v1/messages";

/// A list in which `body` is what differs from a good request; `null` takes a field away.
#[tokio::test]
async fn every_bad_body_of_the_list_is_refused_in_the_vendors_words() {
    let simulator = started().await;
    let list = include_str!("../fixtures/anthropic/refusals.jsonl");
    let mut seen = 0;
    for line in list.lines() {
        let case: Value = serde_json::from_str(line).expect(line);
        let mut body = json!({"model": "sim-small", "max_tokens": 4000,
            "messages": [{"role": "user", "content": "hello"}]});
        for (name, value) in case["body"].as_object().expect(line) {
            body[name] = value.clone();
        }
        for name in case["without"].as_array().into_iter().flatten() {
            body.as_object_mut().unwrap().remove(name.as_str().unwrap());
        }
        let got = message(&simulator, &body).await;
        let answer = got.json();
        let says = case["says"].as_str();
        let Some(says) = says else {
            assert_eq!(got.status, 200, "{line}\n{answer}");
            continue;
        };
        assert_eq!(got.status, 400, "{line}\n{answer}");
        assert_eq!(answer["error"]["type"], "invalid_request_error");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{line}\n{message}");
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
}

#[tokio::test]
async fn keys_versions_and_paths_are_asked_for_in_order() {
    let settings = Settings {
        keys: vec!["good".to_owned()],
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let body = r#"{"model":"sim-a","max_tokens":9,"messages":[{"role":"user","content":"a"}]}"#;
    let version = "anthropic-version: 2023-06-01\r\n";
    let keyed = |key: &str| format!("{key}\r\n{version}");
    for (method, path, head, body, status, says) in [
        (
            "POST",
            PATH,
            version.to_owned(),
            body,
            401,
            "x-api-key header is required",
        ),
        (
            "POST",
            PATH,
            keyed("x-api-key: bad"),
            body,
            401,
            "invalid x-api-key",
        ),
        (
            "POST",
            PATH,
            keyed("x-api-key: good"),
            body,
            200,
            "end_turn",
        ),
        (
            "POST",
            PATH,
            keyed("authorization: Bearer good"),
            body,
            200,
            "end_turn",
        ),
        (
            "POST",
            PATH,
            "x-api-key: good\r\n".to_owned(),
            body,
            400,
            "anthropic-version: header is required",
        ),
        (
            "POST",
            PATH,
            "x-api-key: good\r\nanthropic-version: newest\r\n".to_owned(),
            body,
            400,
            "is not a valid version",
        ),
        (
            "GET",
            PATH,
            keyed("x-api-key: good"),
            "",
            405,
            "Method Not Allowed",
        ),
        (
            "POST",
            "/v1/messages/batches",
            keyed("x-api-key: good"),
            body,
            404,
            "not_found_error",
        ),
        (
            "POST",
            PATH,
            keyed("x-api-key: good"),
            "{",
            400,
            "not valid JSON",
        ),
        (
            "POST",
            PATH,
            keyed("x-api-key: good"),
            "[]",
            400,
            "valid dictionary",
        ),
        (
            "POST",
            PATH,
            keyed("x-api-key: good"),
            r#"{"model":"claude-x","max_tokens":9,"messages":[]}"#,
            404,
            "model: claude-x",
        ),
    ] {
        let got = ask(&simulator, method, path, &head, body.as_bytes()).await;
        assert_eq!(got.status, status, "{method} {path} {says}: {}", got.text());
        assert!(got.text().contains(says), "{says}: {}", got.text());
        assert!(got.header("request-id").unwrap().starts_with("req_"));
        if status != 200 {
            let answer = got.json();
            assert_eq!(answer["type"], "error");
            assert_eq!(answer["request_id"], got.header("request-id").unwrap());
        }
    }
}

#[tokio::test]
async fn a_body_above_the_vendors_bound_is_too_large() {
    let simulator = started().await;
    let got = announce(&simulator, "POST", PATH, HEAD, 64 * 1024 * 1024 + 1).await;
    assert_eq!(
        (got.status, &got.json()["error"]["type"]),
        (413, &json!("request_too_large"))
    );
    let long = vec![b' '; 32 * 1024 * 1024 + 1];
    let got = ask(&simulator, "POST", PATH, HEAD, &long).await;
    assert_eq!(got.status, 413);
}

#[tokio::test]
async fn a_system_message_needs_the_version_that_has_it() {
    let simulator = started().await;
    let body = json!({"model": "sim-a", "max_tokens": 9, "messages": [
        {"role": "user", "content": "a"}, {"role": "system", "content": "b"}]});
    let bytes = body.to_string();
    for (version, status) in [("2023-06-01", 400), ("2026-10-21", 200)] {
        let head = format!("x-api-key: k\r\nanthropic-version: {version}\r\n");
        let got = ask(&simulator, "POST", PATH, &head, bytes.as_bytes()).await;
        assert_eq!(got.status, status, "{}", got.text());
    }
}
