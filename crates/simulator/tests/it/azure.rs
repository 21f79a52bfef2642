//! Azure's endpoints: which there are, what opens them, and how they say no.

use serde_json::{Value, json};
use trunkline_simulator::{Settings, Simulator};

use crate::client::{Response, ask, served, started};

const CHAT: &str = "/openai/deployments/sim-small/chat/completions?api-version=2024-10-21";

async fn with_key(simulator: &Simulator, path: &str, key: &str, body: &Value) -> Response {
    let head = format!("api-key: {key}\r\ncontent-type: application/json\r\n");
    ask(simulator, "POST", path, &head, body.to_string().as_bytes()).await
}

fn saying(prompt: &str) -> Value {
    json!({"messages": [{"role": "user", "content": prompt}]})
}

#[tokio::test]
async fn the_key_is_a_header_of_its_own_or_a_bearer() {
    let settings = Settings {
        keys: vec!["azure-0001".to_owned()],
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let good = with_key(&simulator, CHAT, "azure-0001", &saying("hello")).await;
    assert_eq!(good.status, 200);
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!(
        (record.key.as_str(), record.model.as_str()),
        ("0001", "sim-small")
    );
    let bearer = "authorization: Bearer azure-0001\r\ncontent-type: application/json\r\n";
    let body = saying("hello").to_string();
    let good = ask(&simulator, "POST", CHAT, bearer, body.as_bytes()).await;
    assert_eq!(good.status, 200);
    let wrong = with_key(&simulator, CHAT, "azure-0002", &saying("hello")).await;
    assert_eq!(wrong.status, 401);
    assert_eq!(wrong.json()["error"]["code"], "401");
    // The header opens no endpoint of the other vendor.
    let head = "api-key: azure-0001\r\n";
    let got = ask(&simulator, "GET", "/v1/models", head, b"").await;
    assert_eq!(got.status, 401);
    assert!(got.json()["error"]["type"].is_string());
}

#[tokio::test]
async fn paths_without_a_version_or_a_vendor_are_not_found() {
    let simulator = started().await;
    let nothing = json!({"error": {"code": "404", "message": "Resource not found"}});
    for path in [
        "/openai/deployments/sim-small/chat/completions",
        "/openai/deployments/sim-small/chat/completions?api-version=",
        "/openai/responses",
        "/openai/deployments/sim-small/responses?api-version=1",
        "/openai/chat/completions?api-version=1",
        "/openai/v1/else",
    ] {
        let got = with_key(&simulator, path, "k", &saying("hello")).await;
        assert_eq!((got.status, got.json()), (404, nothing.clone()), "{path}");
    }
    let mut named = saying("hello");
    named["model"] = json!("sim-large");
    for path in ["/openai/v1/chat/completions", CHAT] {
        let got = with_key(&simulator, path, "k", &named).await;
        assert_eq!(got.status, 200, "{path}");
        let model = if path == CHAT {
            "sim-small"
        } else {
            "sim-large"
        };
        assert_eq!(got.json()["model"], model, "{path}");
    }
    let body = json!({"model": "sim-small", "input": "hello"});
    let path = "/openai/v1/responses?api-version=preview";
    assert_eq!(with_key(&simulator, path, "k", &body).await.status, 200);
}

#[tokio::test]
async fn a_deployment_that_is_not_there_is_told_by_name() {
    let simulator = started().await;
    let strange = CHAT.replace("sim-small", "gpt-4o");
    for (path, prompt) in [
        (strange.as_str(), "hello"),
        (CHAT, "[[deployment:missing]]"),
    ] {
        let got = with_key(&simulator, path, "k", &saying(prompt)).await;
        assert_eq!(got.status, 404);
        assert_eq!(got.json()["error"]["code"], "DeploymentNotFound");
    }
}

#[tokio::test]
async fn filters_tell_what_they_found() {
    let simulator = started().await;
    let got = with_key(&simulator, CHAT, "k", &saying("[[filter:prompt]]")).await;
    assert_eq!(got.status, 400);
    let error = &got.json()["error"];
    assert_eq!(
        (&error["code"], &error["type"]),
        (&json!("content_filter"), &Value::Null)
    );
    assert_eq!(error["innererror"]["code"], "ResponsibleAIPolicyViolation");
    assert_eq!(
        error["innererror"]["content_filter_result"]["hate"]["filtered"],
        true
    );
    let mut body = saying("[[filter:output]] [[tokens:2]]");
    body["stream"] = json!(true);
    let got = with_key(&simulator, CHAT, "k", &body).await;
    let chunks = got.chunks();
    assert_eq!(chunks[0]["choices"], json!([]));
    let safe = json!({"filtered": false, "severity": "safe"});
    let prompt = &chunks[0]["prompt_filter_results"][0]["content_filter_results"];
    assert_eq!(prompt["sexual"], safe);
    assert_eq!(chunks[1]["choices"][0]["content_filter_results"], json!({}));
    assert_eq!(
        chunks[2]["choices"][0]["content_filter_results"]["hate"],
        safe
    );
    let last = &chunks[4]["choices"][0];
    assert_eq!(last["finish_reason"], "content_filter");
    assert_eq!(last["content_filter_results"]["hate"]["filtered"], true);
    // The same model on the other endpoint tells of no filter.
    let plain = crate::client::chat(&simulator, &crate::client::streaming("hello")).await;
    assert!(!plain.text().contains("filter"));
}

#[tokio::test]
async fn a_rate_limit_and_a_bad_request_have_azures_words() {
    let simulator = started().await;
    let limited = saying("[[fault:rate_limited:7]]");
    let got = with_key(&simulator, CHAT, "k", &limited).await;
    assert_eq!((got.status, got.header("retry-after")), (429, Some("7")));
    let error = got.json()["error"].clone();
    assert_eq!(error["code"], "429");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("retry after 7 seconds")
    );
    let mut bad = saying("hello");
    bad["temperature"] = json!(3);
    let got = with_key(&simulator, CHAT, "k", &bad).await;
    assert_eq!(got.json()["error"]["param"], "temperature");
    assert!(got.header("apim-request-id").is_some());
}
