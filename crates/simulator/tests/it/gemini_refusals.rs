//! What the vendor refuses is refused, with its status and a piece of its message.

use serde_json::{Value, json};

use crate::client::{announce, started};
use crate::gemini::{KEY, call, saying, whole, with_tools};

#[tokio::test]
async fn every_bad_request_is_refused_in_the_vendors_words() {
    let simulator = started().await;
    // One case in each line: a body, the model if another one, and what its refusal says.
    for line in include_str!("../fixtures/gemini/refusals.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect(line);
        let model = case["model"].as_str().unwrap_or("sim-small");
        let got = call(&simulator, model, "generateContent", &case["body"]).await;
        let error = &got.json()["error"];
        let code = case["code"].as_u64().unwrap_or(400);
        assert_eq!(u64::from(got.status), code, "{line}: {error}");
        assert_eq!(error["code"], code, "{line}");
        let message = error["message"].as_str().unwrap();
        let says = case["says"].as_str().unwrap();
        assert!(message.contains(says), "{line}: {message}");
    }
}

#[tokio::test]
async fn the_last_values_that_pass_pass() {
    let simulator = started().await;
    let with = |config: Value| {
        let mut body = saying("hello");
        body["generationConfig"] = config;
        body
    };
    for body in [
        with(json!({"temperature": 2, "topP": 1, "topK": 1, "candidateCount": 8})),
        with(json!({"temperature": 0, "maxOutputTokens": 65536, "seed": -1})),
        with(json!({"presencePenalty": 2, "frequencyPenalty": -2})),
        with(json!({"stopSequences": ["a", "b", "c", "d", "e"]})),
        with(json!({"responseLogprobs": true, "logprobs": 20})),
        with(json!({"responseModalities": ["TEXT"], "mediaResolution": null})),
        json!({"contents": {"parts": {"text": "one for a list"}}}),
        json!({"contents": [{"parts": [{"text": "no role"}]}], "safety_settings":
            [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]}),
        json!({"contents": [{"role": "user", "parts": [{"fileData":
            {"mimeType": "video/mp4", "fileUri": "https://www.youtube.com/watch?v=x"}}]}]}),
        with_tools("hello"),
    ] {
        let got = whole(&simulator, &body).await;
        assert_eq!(got.status, 200, "{body}: {}", got.text());
    }
}

#[tokio::test]
async fn unknown_models_methods_and_bodies_are_refused() {
    let simulator = started().await;
    let body = saying("hello");
    let got = call(&simulator, "gemini-x", "generateContent", &body).await;
    let message = got.json()["error"]["message"].to_string();
    assert_eq!(got.status, 404);
    assert!(message.contains("models/gemini-x is not found for API version v1beta"));
    let got = call(&simulator, "sim-small", "embedContent", &body).await;
    assert_eq!(got.status, 404);
    assert!(got.text().contains("is not supported for embedContent"));
    let got = call(&simulator, "sim-small", "streamGenerateContent", &json!([])).await;
    assert_eq!(got.json()[0]["error"]["status"], "INVALID_ARGUMENT");
    let path = "/v1beta/models/sim-small:generateContent";
    let got = announce(&simulator, "POST", path, KEY, 64 * 1024 * 1024 + 1).await;
    assert_eq!(
        (got.status, &got.json()["error"]["code"]),
        (400, &json!(400))
    );
}
