//! Frozen messages: a change of a single byte on the wire is seen here. Ids are masked. What in
//! them is not certain of the vendor is marked in `fixtures/anthropic/README.md`.

use serde_json::{Value, json};

use crate::anthropic::{asking, message, streaming, with_tools};
use crate::client::started;

/// The ids of messages and calls, masked.
pub(crate) fn masked(text: &str) -> String {
    let mut text = text.to_owned();
    for kind in ["\"msg_", "\"toolu_"] {
        let mut parts = text.split(kind);
        let mut made = parts.next().unwrap().to_owned();
        for part in parts {
            let end = part.find('"').expect("an id ends");
            made = format!("{made}{kind}MASKED{}", &part[end..]);
        }
        text = made;
    }
    text
}

fn thinking(mut body: Value) -> Value {
    body["max_tokens"] = json!(2000);
    body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    body
}

#[tokio::test]
async fn messages_are_byte_for_byte_those_of_the_fixtures() {
    let simulator = started().await;
    for (name, fixture, body) in [
        (
            "whole.json",
            include_str!("../fixtures/anthropic/whole.json"),
            asking("say something to me now [[cached:3]] [[written_1h:2]]"),
        ),
        (
            "stream.sse",
            include_str!("../fixtures/anthropic/stream.sse"),
            streaming("[[tokens:2]] [[citations:1]]"),
        ),
        (
            "tool.json",
            include_str!("../fixtures/anthropic/tool.json"),
            with_tools(asking("[[tools:get_weather,get_tide]]")),
        ),
        (
            "tool.sse",
            include_str!("../fixtures/anthropic/tool.sse"),
            with_tools(streaming("[[tool:get_weather]] [[tokens:1]]")),
        ),
        (
            "thinking.json",
            include_str!("../fixtures/anthropic/thinking.json"),
            thinking(asking("[[tokens:1]] [[reasoning:2]]")),
        ),
        (
            "thinking.sse",
            include_str!("../fixtures/anthropic/thinking.sse"),
            thinking(streaming("[[tokens:1]] [[reasoning:2]]")),
        ),
        (
            "refusal.json",
            include_str!("../fixtures/anthropic/refusal.json"),
            asking("[[stop:refusal]] [[tokens:1]]"),
        ),
    ] {
        let got = message(&simulator, &body).await;
        let text = masked(got.text());
        assert_eq!(
            text.trim_end(),
            fixture.trim_end(),
            "{name} is now:\n{text}"
        );
    }
}
