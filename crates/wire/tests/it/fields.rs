//! The field lists over recorded requests of clients: nothing is lost but tools that vendors run, and whatever is
//! added to a request at any depth is found.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use trunkline_wire::{Format, PathParams, Request, UnlistedKind};

use crate::pairs::corpus::{Case, cases, in_path};

/// A name that no format has.
const STRAY: &str = "zq_stray";
/// What passes unread: schemas, metadata, the data of tool calls, what a vendor's tool said before.
const UNREAD: [&str; 16] = [
    "args",
    "arguments",
    "citations",
    "executableCode",
    "codeExecutionResult",
    "input_schema",
    "labels",
    "logit_bias",
    "metadata",
    "parameters",
    "parametersJsonSchema",
    "response",
    "responseJsonSchema",
    "responseSchema",
    "schema",
    "annotations",
];

fn read(format: Format, body: &Value) -> Request {
    let bytes = Bytes::from(body.to_string());
    Request::read(format, bytes, in_path(format)).unwrap_or_else(|error| panic!("{error}: {body}"))
}

fn body_of(case: &Case) -> Option<(Format, Value)> {
    case.read().ok()?;
    let (format, bytes) = &case.request;
    Some((*format, serde_json::from_slice(bytes).unwrap()))
}

fn sent(request: &Request) -> Value {
    let listed = request.without(|_| true).unwrap();
    serde_json::from_slice(listed.body()).unwrap()
}

/// A body without the tools that vendors run, told apart without a list.
fn without_vendor_tools(format: Format, body: &Value) -> Value {
    let mut body = body.clone();
    let is_own = |tool: &Value| match format {
        Format::Gemini => tool.get("functionDeclarations").is_some(),
        Format::ClaudeMessages => tool.get("input_schema").is_some(),
        Format::OpenaiChat | Format::OpenaiResponses => {
            let kind = tool["type"].as_str().unwrap();
            ["function", "custom", "namespace", "local_shell"].contains(&kind)
        }
    };
    let Some(tools) = body.get_mut("tools").and_then(Value::as_array_mut) else {
        return body;
    };
    let before = tools.len();
    tools.retain(is_own);
    if tools.is_empty() && before > 0 {
        let members = body.as_object_mut().unwrap();
        for field in ["tools", "tool_choice", "parallel_tool_calls", "toolConfig"] {
            members.remove(field);
        }
    }
    body
}

/// A request as a client sent it: who, and in which format.
struct Recorded {
    client: String,
    format: Format,
    body: Value,
}

/// What opencode and the vendors' SDKs sent (`just record-clients`).
fn recorded() -> Vec<Recorded> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/clients");
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let file: Value =
            serde_json::from_slice(&fs::read(entry.unwrap().path()).unwrap()).unwrap();
        for request in file["requests"].as_array().unwrap() {
            let word = request["format"].as_str().unwrap();
            let mut formats = Format::ALL.into_iter();
            all.push(Recorded {
                client: file["client"].as_str().unwrap().to_owned(),
                format: formats.find(|format| format.as_str() == word).unwrap(),
                body: request["body"].clone(),
            });
        }
    }
    all
}

/// Everything reaches the upstream but tools that vendors run, and those are reported.
fn assert_nothing_lost(name: &str, format: Format, body: &Value) {
    let request = read(format, body);
    for unlisted in &request.unlisted {
        let is_tool = matches!(unlisted.what, UnlistedKind::Tool { .. });
        assert!(is_tool, "{name}: {unlisted:?}");
    }
    let mut expected = without_vendor_tools(format, body);
    // Google takes both spellings of a name, and its SDK for Python writes this one in the other.
    if let Some(Value::Object(config)) = expected.pointer_mut("/generationConfig/thinkingConfig") {
        for (written, read) in [
            ("include_thoughts", "includeThoughts"),
            ("thinking_budget", "thinkingBudget"),
        ] {
            if let Some(value) = config.remove(written) {
                config.insert(read.to_owned(), value);
            }
        }
    }
    assert_eq!(sent(&request), expected, "{name}");
}

#[test]
fn what_opencode_and_the_vendors_sdks_sent_loses_nothing_but_tools_that_vendors_run() {
    let mut clients: BTreeMap<String, usize> = BTreeMap::new();
    for Recorded {
        client,
        format,
        body,
    } in recorded()
    {
        assert_nothing_lost(&client, format, &body);
        *clients.entry(client).or_default() += 1;
    }
    let expected = [
        "anthropic_node",
        "anthropic_python",
        "google_genai_node",
        "google_genai_python",
        "openai_node_chat",
        "openai_node_responses",
        "openai_python_chat",
        "openai_python_responses",
        "opencode",
    ];
    assert!(
        clients.keys().map(String::as_str).eq(expected),
        "{clients:?}"
    );
    assert!(clients.values().all(|count| *count >= 4), "{clients:?}");
}

#[test]
fn recorded_requests_of_clients_lose_nothing_but_tools_that_vendors_run() {
    let mut clients = 0;
    for case in cases() {
        let Some((format, body)) = body_of(&case) else {
            continue;
        };
        assert_nothing_lost(&case.name, format, &body);
        let by_client = ["claude_code", "codex", "gemini_cli"];
        clients += usize::from(by_client.iter().any(|name| case.name.starts_with(name)));
    }
    assert!(clients >= 10, "{clients}");
}

/// Where the objects of a body stand, but for those that pass unread.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.push(at.to_owned());
            for (key, value) in members {
                let is_tool_input = key == "input" && members.contains_key("name");
                if !UNREAD.contains(&key.as_str()) && !is_tool_input {
                    objects(value, &format!("{at}/{key}"), found);
                }
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                objects(value, &format!("{at}/{place}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn a_stray_field_in_any_object_of_any_recorded_request_is_not_sent() {
    let mut tried = 0;
    for case in cases() {
        let Some((format, body)) = body_of(&case) else {
            continue;
        };
        let expected = sent(&read(format, &body));
        let mut places = Vec::new();
        objects(&body, "", &mut places);
        for place in places {
            for stray in [
                json!(1),
                json!([{ "type": "web_search" }]),
                json!({ STRAY: {} }),
            ] {
                let mut with = body.clone();
                let object = with.pointer_mut(&place).and_then(Value::as_object_mut);
                object.unwrap().insert(STRAY.to_owned(), stray);
                let request = read(format, &with);
                assert_eq!(sent(&request), expected, "{}{place}", case.name);
                let spoken = request.without(|_| true).unwrap().canonical();
                let is_lost = spoken.is_ok_and(|it| !format!("{it:?}").contains(STRAY));
                assert!(is_lost, "{}{place}", case.name);
                tried += 1;
            }
        }
    }
    assert!(tried > 1_000, "{tried}");
}

#[test]
fn a_stray_field_of_a_pass_through_endpoint_is_not_sent() {
    use trunkline_wire::PassthroughEndpoint::{Completions, Embeddings, Moderations, Rerank};
    let text = json!({ "type": "text", "text": "hi" });
    for (endpoint, body) in [
        (Embeddings, json!({ "model": "m", "input": [text.clone()] })),
        (
            Rerank,
            json!({ "model": "m", "query": "q", "documents": ["d"] }),
        ),
        (Moderations, json!({ "model": "m", "input": [text] })),
        (
            Completions,
            json!({ "model": "m", "prompt": "p", "stream_options": {} }),
        ),
    ] {
        let mut places = Vec::new();
        objects(&body, "", &mut places);
        for place in places {
            let mut with = body.clone();
            let object: &mut Map<String, Value> =
                with.pointer_mut(&place).unwrap().as_object_mut().unwrap();
            object.insert(STRAY.to_owned(), json!(true));
            let bytes = Bytes::from(with.to_string());
            let request = Request::read_passthrough(endpoint, bytes).unwrap();
            assert_eq!(sent(&request), body, "{endpoint:?}{place}");
        }
    }
}

#[test]
fn both_spellings_of_google_are_listed_at_every_depth() {
    let body = json!({
        "contents": [{ "parts": [
            { "inline_data": { "mime_type": "image/png", "data": "AAAA" } },
            { "function_response": { "name": "f", "response": { "any": 1 } } },
        ] }],
        "tools": [{ "function_declarations": [{ "name": "f", "parameters_json_schema": { "x": 1 } }] }],
        "generation_config": { "thinking_config": { "thinking_budget": 5 } },
    });
    let path = PathParams {
        model: Some("gemini-x"),
        stream: false,
    };
    let bytes = Bytes::from(body.to_string());
    let request = Request::read(Format::Gemini, bytes, path).unwrap();
    assert_eq!(request.unlisted, []);
}
