//! Answers: whole and in pieces, with their cost.

use serde_json::json;

use crate::test_gateway::{INPUT, OUTPUT, TestGateway, ask, ask_streaming};

// covers: G-1-15
#[tokio::test]
async fn a_whole_answer_is_charged_by_its_usage_and_says_what_it_cost() {
    let harness = TestGateway::new().await;
    let got = harness.chat(&ask("Say something [[tokens:12]]")).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let body = got.json();
    assert_eq!(body["choices"][0]["message"]["role"], "assistant");
    let prompt = body["usage"]["prompt_tokens"].as_i64().unwrap();
    assert_eq!(body["usage"]["completion_tokens"], 12);
    let price = prompt * INPUT + 12 * OUTPUT;
    let (outcome, charged, cost, estimated) = harness.usage(&got.id()).await;
    assert_eq!(
        (outcome.as_str(), charged, estimated),
        ("complete", price, false)
    );
    assert_eq!(
        cost,
        Some(price / 2),
        "what the upstream bills is known to the operator"
    );
    assert_eq!(harness.posted_at_rest().await, 10_000_000_000 - price);
    let reply: f64 = got.header("trunkline-cost-usd").unwrap().parse().unwrap();
    assert!((reply * 1e9 - price as f64).abs() < 0.5);
    assert_eq!(got.header("request-id"), got.header("x-request-id"));
    harness.audit().await;
}

// covers: G-1-03
#[tokio::test]
async fn a_stream_passes_as_it_came_and_is_charged_before_its_last_word() {
    let harness = TestGateway::new().await;
    let got = harness
        .chat(&ask_streaming("Tell me more [[tokens:30]]"))
        .await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert!(
        got.header("content-type")
            .unwrap()
            .starts_with("text/event-stream")
    );
    let frames = got.frames();
    let words: String = frames
        .iter()
        .filter_map(|frame| frame["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(words.split_whitespace().count(), 30);
    assert!(
        frames.iter().all(|frame| frame["usage"].is_null()),
        "usage was not asked for"
    );
    assert!(got.text().ends_with("data: [DONE]\n\n"));
    let (outcome, charged, _, estimated) = harness.usage(&got.id()).await;
    assert_eq!((outcome.as_str(), estimated), ("complete", false));
    let served = harness.simulator.requests();
    let truth = served.last().unwrap();
    let price = truth.prompt_tokens as i64 * INPUT + 30 * OUTPUT;
    assert_eq!(charged, price);
    let comment = got.text();
    let comment = comment
        .lines()
        .find_map(|line| line.strip_prefix(": trunkline-cost-usd="));
    let reply: f64 = comment.unwrap().parse().unwrap();
    assert!((reply * 1e9 - price as f64).abs() < 0.5);
    harness.audit().await;
}

#[tokio::test]
async fn usage_in_a_stream_is_sent_on_request_and_carries_the_cost() {
    let harness = TestGateway::new().await;
    let mut body = ask_streaming("Count [[tokens:7]]");
    body["stream_options"] = json!({ "include_usage": true });
    let got = harness.chat(&body).await;
    let frames = got.frames();
    let last = frames.last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["completion_tokens"], 7);
    let (_, charged, _, _) = harness.usage(&got.id()).await;
    let cost = last["usage"]["cost"].as_f64().unwrap();
    assert!((cost * 1e9 - charged as f64).abs() < 0.5, "{last}");
    harness.audit().await;
}

#[tokio::test]
async fn a_model_is_called_by_its_public_name_on_both_sides() {
    let harness = TestGateway::new().await;
    for stream in [false, true] {
        let mut body = ask("Hello");
        body["model"] = "public-name".into();
        body["stream"] = stream.into();
        let got = harness.chat(&body).await;
        assert_eq!(got.status, 200, "{}", got.text());
        assert!(got.text().contains("public-name") && !got.text().contains("sim-fast"));
    }
    let models: Vec<String> = harness
        .simulator
        .requests()
        .into_iter()
        .map(|s| s.model)
        .collect();
    assert_eq!(models, ["sim-fast", "sim-fast"]);
    harness.audit().await;
}

#[tokio::test]
async fn tools_structured_output_and_pictures_pass_through() {
    let harness = TestGateway::new().await;
    let mut tools = ask("What is the weather [[tool:get_weather]]");
    tools["tools"] = json!([{ "type": "function", "function": { "name": "get_weather",
        "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] } } }]);
    let got = harness.chat(&tools).await.json();
    assert_eq!(
        got["choices"][0]["message"]["tool_calls"][0]["function"]["name"],
        "get_weather"
    );
    assert_eq!(got["choices"][0]["finish_reason"], "tool_calls");
    let mut shaped = ask("Give me a person as json");
    shaped["response_format"] = json!({ "type": "json_schema", "json_schema": { "name": "person", "strict": true,
        "schema": { "type": "object", "properties": { "name": { "type": "string" }, "age": { "type": "integer" } },
            "required": ["name", "age"], "additionalProperties": false } } });
    let got = harness.chat(&shaped).await.json();
    let content = got["choices"][0]["message"]["content"].as_str().unwrap();
    let person: serde_json::Value = serde_json::from_str(content).unwrap();
    assert!(person["age"].is_i64());
    let mut picture = ask("");
    picture["messages"][0]["content"] = json!([
        { "type": "text", "text": "What is this?" },
        { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } },
    ]);
    let got = harness.chat(&picture).await;
    assert_eq!(got.status, 200, "{}", got.text());
    harness.audit().await;
}

#[tokio::test]
async fn cached_input_is_cheaper() {
    let harness = TestGateway::new().await;
    let got = harness
        .chat(&ask("A long beginning [[cached:3]] [[tokens:5]]"))
        .await;
    let body = got.json();
    let prompt = body["usage"]["prompt_tokens"].as_i64().unwrap();
    let (_, charged, _, _) = harness.usage(&got.id()).await;
    assert_eq!(charged, (prompt - 3) * INPUT + 3 * 200 + 5 * OUTPUT);
    harness.audit().await;
}
