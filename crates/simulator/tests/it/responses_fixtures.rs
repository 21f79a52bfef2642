//! Frozen responses and the answers of Azure and of the small endpoints: a change of a single byte
//! on the wire is seen here. Ids and times are masked.

use serde_json::{Value, json};

use crate::client::{Response, post, started};
use crate::responses::{PATH, asking, streaming};

/// The text with the digits of its id and its times taken out.
fn masked(got: &Response) -> String {
    let mut text = got.text().to_owned();
    for start in ["resp_", "chatcmpl-", "cmpl-", "modr-"] {
        let mark = format!("\"id\":\"{start}");
        if let Some((_, behind)) = text.split_once(&mark) {
            let digits = behind.split('"').next().unwrap().to_owned();
            text = text.replace(&digits, "MASKED");
        }
    }
    for name in ["created_at", "completed_at", "created"] {
        let mark = format!("\"{name}\":");
        let mut parts = text.split(&mark);
        let mut whole = parts.next().unwrap().to_owned();
        for part in parts {
            let rest = part.trim_start_matches(|character: char| character.is_ascii_digit());
            let zero = if rest.len() < part.len() { "0" } else { "" };
            whole = format!("{whole}{mark}{zero}{rest}");
        }
        text = whole;
    }
    text
}

#[tokio::test]
async fn responses_are_byte_for_byte_those_of_the_fixtures() {
    let simulator = started().await;
    let with = |mut body: Value, more: Value| {
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let tools = json!({"tools": [
        {"type": "function", "name": "get_weather", "parameters":
            {"type": "object", "properties": {"city": {"type": "string"}}}},
        {"type": "custom", "name": "run_code"}]});
    let reasoning = json!({"model": "sim-reason", "store": false,
        "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"}});
    let chat = json!({"messages": [{"role": "user", "content": "[[tokens:2]]"}]});
    let azure = "/openai/deployments/sim-small/chat/completions?api-version=2024-10-21";
    for (name, fixture, path, body) in [
        (
            "responses_whole.json",
            include_str!("../fixtures/responses_whole.json"),
            PATH,
            asking("say something to me now"),
        ),
        (
            "responses_stream.sse",
            include_str!("../fixtures/responses_stream.sse"),
            PATH,
            streaming("[[tokens:2]] [[cite:1]]"),
        ),
        (
            "responses_tools.sse",
            include_str!("../fixtures/responses_tools.sse"),
            PATH,
            with(streaming("[[tool:get_weather]] [[tool:run_code]]"), tools),
        ),
        (
            "responses_reasoning.sse",
            include_str!("../fixtures/responses_reasoning.sse"),
            PATH,
            with(streaming("[[reasoning:2]] [[tokens:1]]"), reasoning),
        ),
        (
            "responses_incomplete.json",
            include_str!("../fixtures/responses_incomplete.json"),
            PATH,
            with(asking("[[tokens:17]]"), json!({"max_output_tokens": 16})),
        ),
        (
            "responses_failed.sse",
            include_str!("../fixtures/responses_failed.sse"),
            PATH,
            streaming("[[fail:server_error]] [[tokens:1]]"),
        ),
        (
            "azure_whole.json",
            include_str!("../fixtures/azure_whole.json"),
            azure,
            chat.clone(),
        ),
        (
            "azure_stream.sse",
            include_str!("../fixtures/azure_stream.sse"),
            azure,
            with(chat, json!({"stream": true})),
        ),
        (
            "completions.sse",
            include_str!("../fixtures/completions.sse"),
            "/v1/completions",
            json!({"model": "sim-small", "prompt": "[[tokens:2]]", "stream": true,
                "stream_options": {"include_usage": true}}),
        ),
        (
            "embeddings.json",
            include_str!("../fixtures/embeddings.json"),
            "/v1/embeddings",
            json!({"model": "sim-small", "input": ["a", "b"], "dimensions": 4}),
        ),
        (
            "moderations.json",
            include_str!("../fixtures/moderations.json"),
            "/v1/moderations",
            json!({"input": "[[flag:hate]]"}),
        ),
        (
            "rerank.json",
            include_str!("../fixtures/rerank.json"),
            "/v1/rerank",
            json!({"model": "sim-small", "query": "red apple", "documents": ["a pear", "a red apple"]}),
        ),
    ] {
        let got = post(&simulator, path, &body).await;
        let text = masked(&got);
        assert_eq!(
            text.trim_end(),
            fixture.trim_end(),
            "{name} is now:\n{text}"
        );
    }
}
