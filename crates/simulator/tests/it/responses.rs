//! Good responses: counts that a client can check, the order of the events, what is refused.

use serde_json::{Value, json};
use trunkline_simulator::Simulator;

use crate::client::{Response, post, served, started};

pub(crate) const PATH: &str = "/v1/responses";

pub(crate) fn asking(prompt: &str) -> Value {
    json!({"model": "sim-small", "input": prompt})
}

pub(crate) fn streaming(prompt: &str) -> Value {
    json!({"model": "sim-small", "input": prompt, "stream": true})
}

pub(crate) async fn respond(simulator: &Simulator, body: &Value) -> Response {
    post(simulator, PATH, body).await
}

pub(crate) fn names(got: &Response) -> Vec<String> {
    got.events().into_iter().map(|(name, _)| name).collect()
}

/// All text of a stream, joined.
pub(crate) fn text(got: &Response) -> String {
    let events = got.events();
    let deltas = events
        .iter()
        .filter(|(name, _)| name == "response.output_text.delta");
    deltas
        .filter_map(|(_, data)| data["delta"].as_str())
        .collect()
}

#[tokio::test]
async fn a_whole_response_has_a_word_for_each_token_it_tells() {
    let simulator = started().await;
    let prompt = "one two three four five six [[id:abc]]";
    let got = respond(&simulator, &asking(prompt)).await;
    assert_eq!(got.status, 200);
    let answer = got.json();
    assert_eq!(answer["status"], "completed");
    let content = &answer["output"][0]["content"][0];
    assert_eq!(content["text"], "sim1 sim2 sim3 sim4 sim5 sim6 ");
    // 38 bytes of text, one item.
    assert_eq!(answer["usage"]["input_tokens"], 10 + 3);
    assert_eq!(answer["usage"]["output_tokens"], 6);
    assert_eq!(answer["usage"]["total_tokens"], 19);
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!(record.marker.as_deref(), Some("abc"));
    assert_eq!(record.model, "sim-small");
    assert_eq!(record.path, PATH);
    assert_eq!((record.prompt_tokens, record.completion_tokens), (13, 6));
    assert_eq!(record.told_usage, Some((13, 6)));
    assert!(got.header("x-ratelimit-limit-tokens").is_some());
}

#[tokio::test]
async fn events_are_numbered_named_and_end_without_a_mark() {
    let simulator = started().await;
    let mut body = streaming("[[reasoning:2]] [[tokens:2]] [[cite:1]]");
    body["model"] = json!("sim-reason");
    body["reasoning"] = json!({"summary": "auto"});
    let got = respond(&simulator, &body).await;
    assert!(got.is_whole && !got.text().contains("[DONE]"));
    let kind = "text/event-stream; charset=utf-8";
    assert_eq!(got.header("content-type"), Some(kind));
    for (number, (name, data)) in got.events().iter().enumerate() {
        assert_eq!(data["type"], name.as_str());
        assert_eq!(data["sequence_number"], number);
    }
    assert_eq!(
        names(&got),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.done",
            "response.reasoning_summary_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.delta",
            "response.output_text.annotation.added",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!((record.completion_tokens, record.stream), (4, true));
    assert_eq!(record.told_usage, Some((record.prompt_tokens, 4)));
}

#[tokio::test]
async fn a_streamed_response_ends_with_what_a_whole_one_says() {
    let simulator = started().await;
    let tools = json!([
        {"type": "function", "name": "f", "parameters": {"type": "object",
            "properties": {"a": {"type": "integer"}}}},
        {"type": "custom", "name": "g"},
        {"type": "web_search"},
        {"type": "local_shell"},
    ]);
    for (prompt, tokens) in [
        ("[[tokens:7]] [[cite:2]]", 7),
        ("[[refusal:3]]", 3),
        ("[[tool:f]] [[tool:g]]", 1 + 4 + 1 + 3),
        ("[[tool:web_search]] [[tokens:2]]", 2),
        ("[[tool:local_shell]]", 1 + 2),
        ("[[reasoning:5]] [[tokens:2]]", 7),
        ("[[tokens:40]]", 16),
    ] {
        simulator.clear_requests();
        let mut body = asking(prompt);
        body["tools"] = tools.clone();
        body["max_output_tokens"] = json!(16);
        let mut whole = respond(&simulator, &body).await.json();
        body["stream"] = json!(true);
        let streamed = respond(&simulator, &body).await;
        let (_, last) = streamed.events().pop().unwrap();
        let mut last = last["response"].clone();
        // Ids and times are those of two responses.
        for answer in [&mut whole, &mut last] {
            let id = answer["id"].as_str().unwrap().replace("resp_", "");
            let text = answer.to_string().replace(&id, "MASKED");
            *answer = serde_json::from_str(&text).unwrap();
            answer["created_at"] = json!(0);
            answer["completed_at"] = json!(0);
        }
        assert_eq!(whole, last, "{prompt}");
        assert_eq!(whole["usage"]["output_tokens"], tokens, "{prompt}");
        let record = simulator.requests().pop().unwrap();
        assert_eq!(record.completion_tokens, tokens, "{prompt}");
    }
}

#[tokio::test]
async fn a_limit_cuts_and_names_its_reason() {
    let simulator = started().await;
    for (requested, status, reason) in [
        (16, "completed", Value::Null),
        (17, "incomplete", json!({"reason": "max_output_tokens"})),
    ] {
        let mut body = asking(&format!("[[tokens:{requested}]]"));
        body["max_output_tokens"] = json!(16);
        let answer = respond(&simulator, &body).await.json();
        assert_eq!(answer["status"], status);
        assert_eq!(answer["incomplete_details"], reason);
        assert_eq!(answer["output"][0]["status"], status);
        assert_eq!(answer["usage"]["output_tokens"], 16);
    }
}

#[tokio::test]
async fn every_bad_request_is_refused_with_its_parameter_and_code() {
    let simulator = started().await;
    for line in include_str!("../fixtures/responses_refusals.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect(line);
        let mut body = asking("hello");
        for (name, value) in case["with"].as_object().unwrap() {
            body[name] = value.clone();
        }
        for name in case["without"].as_array().unwrap_or(&Vec::new()) {
            body.as_object_mut().unwrap().remove(name.as_str().unwrap());
        }
        let got = respond(&simulator, &body).await;
        let status = case["status"].as_u64().unwrap_or(400);
        assert_eq!(u64::from(got.status), status, "{line}: {}", got.text());
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
    // What Codex sends.
    let codex = json!([
        {"type": "function", "name": "shell", "strict": false, "parameters": {}},
        {"type": "namespace", "name": "mcp", "description": "d",
            "tools": [{"type": "function", "name": "f"}, {"type": "custom", "name": "g"}]},
        {"type": "web_search", "external_web_access": false},
        {"type": "custom", "name": "patch",
            "format": {"type": "grammar", "syntax": "lark", "definition": "start: /a/"}},
    ]);
    for (name, value) in [
        ("temperature", json!(2)),
        ("max_output_tokens", json!(16)),
        ("truncation", json!("auto")),
        ("metadata", json!(null)),
        ("client_metadata", json!({"a": "b"})),
        ("prompt_cache_key", json!("k")),
        ("tools", codex),
        ("tools", json!([])),
        ("tool_choice", json!("auto")),
        ("include", json!(["message.output_text.logprobs"])),
        ("text", json!({"format": null, "verbosity": "high"})),
        ("reasoning", json!({"effort": null, "summary": null})),
        ("stream_options", json!(null)),
        ("store", json!(null)),
        (
            "input",
            json!([{"role": "developer", "content": "a"}, {"role": "user", "content": [
            {"type": "input_text", "text": "b"}]}]),
        ),
        (
            "input",
            json!([{"type": "message", "role": "assistant", "id": "msg_1",
            "status": "completed", "content": [{"type": "output_text", "text": "a",
            "annotations": []}]}]),
        ),
    ] {
        let mut body = asking("hello");
        body[name] = value.clone();
        let got = respond(&simulator, &body).await;
        assert_eq!(got.status, 200, "{name} {value}: {}", got.text());
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_below_responses_are_refused() {
    let simulator = started().await;
    let head = "authorization: Bearer k\r\n";
    for (method, path, status) in [
        ("GET", "/v1/responses", 405),
        ("PUT", "/v1/responses/resp_1", 405),
        ("GET", "/v1/responses/resp_1/cancel", 405),
        ("GET", "/v1/responses/resp_1", 404),
        ("DELETE", "/v1/responses/resp_1", 404),
        ("POST", "/v1/responses/resp_1/cancel", 404),
        ("GET", "/v1/responses/resp_1/input_items", 404),
        ("GET", "/v1/responses/resp_1/else", 404),
        ("POST", "/v1/responsesmore", 404),
    ] {
        let got = crate::client::ask(&simulator, method, path, head, b"").await;
        assert_eq!(got.status, status, "{method} {path}: {}", got.text());
    }
}
