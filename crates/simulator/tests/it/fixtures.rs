//! Frozen answers: a change of a single byte on the wire is seen here. Ids and times are masked.
//! What in them is not certain of the vendor is marked in `fixtures/README.md`.

use serde_json::{Value, json};

use crate::client::{Response, asking, chat, started, streaming};

fn masked(got: &Response) -> String {
    let mut text = got.text().to_owned();
    let first = text
        .trim_start_matches("data: ")
        .split("\n\n")
        .next()
        .unwrap();
    let first: Value = serde_json::from_str(first).unwrap();
    let id = first["id"].as_str().unwrap();
    let digits = id.strip_prefix("chatcmpl-").unwrap();
    text = text.replace(digits, "MASKED");
    text.replace(
        &format!("\"created\":{}", first["created"]),
        "\"created\":0",
    )
}

fn with_tool(mut body: Value) -> Value {
    body["tools"] = json!([{"type": "function", "function": {"name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]);
    body
}

#[tokio::test]
async fn answers_are_byte_for_byte_those_of_the_fixtures() {
    let simulator = started().await;
    let mut reasoning = streaming("[[tokens:2]] [[reasoning:2]]");
    reasoning["model"] = json!("sim-reason");
    for (name, fixture, body) in [
        (
            "whole.json",
            include_str!("../fixtures/whole.json"),
            asking("say something to me now"),
        ),
        (
            "stream.sse",
            include_str!("../fixtures/stream.sse"),
            streaming("[[tokens:2]]"),
        ),
        (
            "tool.json",
            include_str!("../fixtures/tool.json"),
            with_tool(asking("[[tool:get_weather]]")),
        ),
        (
            "tool.sse",
            include_str!("../fixtures/tool.sse"),
            with_tool(streaming("[[tool:get_weather]]")),
        ),
        (
            "reasoning.sse",
            include_str!("../fixtures/reasoning.sse"),
            reasoning,
        ),
    ] {
        let got = chat(&simulator, &body).await;
        let text = masked(&got);
        assert_eq!(
            text.trim_end(),
            fixture.trim_end(),
            "{name} is now:\n{text}"
        );
    }
}
