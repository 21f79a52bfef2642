//! The bytes that reach the upstream differ from the caller's only in the fields that were named.

use bytes::Bytes;
use http::Method;
use serde_json::Value;

use crate::test_gateway::{GatewayResponse, TestGateway};

const PATH: &str = "/v1/chat/completions";
const NUMBERS: [&str; 8] = [
    "0",
    "-0.0",
    "1e-7",
    "1E+30",
    "123456789012345678901234567890",
    "0.1",
    "9007199254740993",
    "1.0",
];
const TEXTS: [&str; 7] = [
    "\"plain\"",
    "\"é\\u00e9\\n\"",
    "\"\\ud83c\\udf88🎈\"",
    "\"日本語\"",
    "\"\\\\\\\"/\\/\"",
    "\"\"",
    "\" \\t \"",
];
const SPACES: [&str; 4] = ["", " ", "\n  ", "\t"];

/// Bodies of every order, spacing and strangeness, without a name that the upstream would refuse.
fn corpus() -> Vec<String> {
    let mut bodies = Vec::new();
    for number in 0..220_usize {
        let space = SPACES[number % SPACES.len()];
        let text = TEXTS[number % TEXTS.len()];
        let seed = NUMBERS[number % NUMBERS.len()];
        let deep = format!(
            "{}{}{}",
            "[".repeat(number % 60),
            text,
            "]".repeat(number % 60)
        );
        let messages = format!(
            "\"messages\":{space}[{{\"role\":\"user\",{space}\"content\":{}}}]",
            if number % 3 == 0 {
                "\"hi\"".to_owned()
            } else {
                text.replace("\"\"", "\"x\"")
            }
        );
        let model = format!("\"model\"{space}:{space}\"sim-fast\"");
        let extra = format!("\"metadata\":{{\"a\":{text},{space}\"b{number}\":{deep}}}");
        let numbers = format!("\"presence_penalty\"{space}:{seed}");
        let mut parts = [
            model,
            messages,
            extra,
            numbers,
            "\"max_tokens\":9".to_owned(),
        ];
        parts.rotate_left(number % 5);
        if number % 2 == 0 {
            parts.swap(1, 3);
        }
        bodies.push(format!(
            "{space}{{{space}{}{space}}}{space}",
            parts.join(&format!("{space},{space}"))
        ));
    }
    bodies
}

#[tokio::test]
async fn two_hundred_strange_bodies_arrive_as_they_were_sent() {
    let harness = TestGateway::new().await;
    let bodies = corpus();
    assert!(bodies.len() >= 200);
    for body in &bodies {
        assert!(serde_json::from_str::<Value>(body).is_ok(), "{body}");
        let sent = Bytes::copy_from_slice(body.as_bytes());
        // The upstream may refuse what it does not know; what it got is what counts.
        GatewayResponse::read(harness.send(Method::POST, PATH, sent).await).await;
    }
    let served = harness.simulator.requests();
    assert_eq!(served.len(), bodies.len());
    for (body, served) in bodies.iter().zip(&served) {
        assert_eq!(std::str::from_utf8(&served.body).unwrap(), body);
    }
}

#[tokio::test]
async fn only_the_patched_fields_differ() {
    let harness = TestGateway::new().await;
    let cases = [
        (
            r#"{"stream":true ,"model":"public-name","user":"z","messages":[{"role":"user","content":"hi"}]}"#,
            r#"{"stream":true ,"model":"sim-fast","user":"z","messages":[{"role":"user","content":"hi"}],"stream_options":{"include_usage":true}}"#,
        ),
        (
            r#"{"model":"public-name", "messages":[{"role":"user","content":"hi"}]}"#,
            r#"{"model":"sim-fast", "messages":[{"role":"user","content":"hi"}],"max_completion_tokens":8192}"#,
        ),
        (
            r#"{"model":"sim-fast","reasoning_effort":"low","messages":[{"role":"user","content":"hi"}],"max_tokens":4}"#,
            r#"{"model":"sim-fast","messages":[{"role":"user","content":"hi"}],"max_tokens":4}"#,
        ),
    ];
    for (sent, _) in cases {
        GatewayResponse::read(
            harness
                .send(Method::POST, PATH, Bytes::from_static(sent.as_bytes()))
                .await,
        )
        .await;
    }
    for ((_, expected), served) in cases.iter().zip(harness.simulator.requests()) {
        assert_eq!(std::str::from_utf8(&served.body).unwrap(), *expected);
    }
}
