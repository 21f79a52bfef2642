//! Frozen answers of the Gemini API: a change of a single byte on the wire is seen here. Ids are
//! masked. What in them is not certain of the vendor is marked in `fixtures/README.md`.

use serde_json::{Value, json};

use crate::client::{Response, started};
use crate::gemini::{call, saying, with_tools};

const WHOLE: &str = "generateContent";
const EVENTS: &str = "streamGenerateContent?alt=sse";
const ARRAY: &str = "streamGenerateContent";

/// Ids are masked, and lines end as in a file.
fn masked(got: &Response) -> String {
    let text = got.text().replace("\r\n", "\n");
    let (_, behind) = text.split_once("\"responseId\":").unwrap();
    let id = behind.split('"').nth(1).unwrap();
    text.replace(id, "MASKED").replace(&id[..8], "MASKED")
}

fn thinking(mut body: Value) -> Value {
    body["generationConfig"] = json!({"thinkingConfig": {"includeThoughts": true}});
    body
}

#[tokio::test]
async fn answers_are_byte_for_byte_those_of_the_fixtures() {
    let simulator = started().await;
    let two = saying("[[tokens:2]]");
    let tools = with_tools("[[tool:get_weather]] [[tool:stop]]");
    let thoughts = thinking(saying("[[tokens:2]] [[reasoning:2]]"));
    let mut changed = Vec::new();
    for (name, fixture, model, verb, body) in [
        (
            "whole.json",
            include_str!("../fixtures/gemini/whole.json"),
            "sim-small",
            WHOLE,
            &two,
        ),
        (
            "stream.sse",
            include_str!("../fixtures/gemini/stream.sse"),
            "sim-small",
            EVENTS,
            &two,
        ),
        (
            "stream.json",
            include_str!("../fixtures/gemini/stream.json"),
            "sim-small",
            ARRAY,
            &two,
        ),
        (
            "tool.json",
            include_str!("../fixtures/gemini/tool.json"),
            "sim-reason",
            WHOLE,
            &tools,
        ),
        (
            "tool.sse",
            include_str!("../fixtures/gemini/tool.sse"),
            "sim-reason",
            EVENTS,
            &tools,
        ),
        (
            "thoughts.json",
            include_str!("../fixtures/gemini/thoughts.json"),
            "sim-reason",
            WHOLE,
            &thoughts,
        ),
        (
            "thoughts.sse",
            include_str!("../fixtures/gemini/thoughts.sse"),
            "sim-reason",
            EVENTS,
            &thoughts,
        ),
    ] {
        let got = call(&simulator, model, verb, body).await;
        let text = masked(&got);
        if text.trim_end() != fixture.trim_end() {
            changed.push(format!("=== {name} is now:\n{text}"));
        }
    }
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

#[tokio::test]
async fn events_end_their_lines_with_two_bytes() {
    let simulator = started().await;
    let got = call(&simulator, "sim-small", EVENTS, &saying("[[tokens:2]]")).await;
    let text = got.text();
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert!(text.ends_with("}\r\n\r\n"));
}
