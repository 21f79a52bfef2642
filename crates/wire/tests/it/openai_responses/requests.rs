//! Requests: into canon and out of it again, nothing is lost.

use bytes::Bytes;
use serde_json::{Value, json};
use trunkline_wire::canonical::{Block, BlockKind, LossKind, Role, Target, ToolKind};
use trunkline_wire::{CapName, PathParams, Request, write_request};

use crate::openai_responses::shared::{FORMAT, fixture, fixtures};

fn read(body: &[u8]) -> Request {
    Request::read(FORMAT, Bytes::copy_from_slice(body), PathParams::default()).unwrap()
}

const TARGET: Target<'_> = Target {
    model: "m",
    max_output: None,
    thinks_by_effort: false,
    channel: None,
    cap_name: CapName::Either,
    no_stream_options: false,
};

/// The long form of everything that has a short one.
fn long_form(mut body: Value) -> Value {
    if let Some(text) = body["input"].as_str() {
        body["input"] = json!([{ "role": "user", "content": text }]);
    }
    for item in body["input"].as_array_mut().unwrap() {
        if item.get("type").is_none() {
            item["type"] = json!("message");
        }
        if let Some(text) = item["content"].as_str() {
            let kind = match item["role"].as_str() {
                Some("assistant") => "output_text",
                _ => "input_text",
            };
            item["content"] = json!([{ "type": kind, "text": text }]);
        }
        if item["content"].is_null() {
            item.as_object_mut().unwrap().remove("content");
        }
    }
    body
}

#[test]
fn a_request_that_goes_through_canon_comes_out_as_it_was() {
    let all = fixtures("requests", "json");
    assert!(all.len() >= 12, "{} requests", all.len());
    for (name, body) in all {
        let request = read(&body);
        let original: Value = serde_json::from_slice(&body).unwrap();
        let model = original["model"].as_str().unwrap();
        let conversation = request.canonical().unwrap();
        let target = Target { model, ..TARGET };
        let written = write_request(FORMAT, &conversation, &target);
        assert_eq!(written.notes.all(), [], "{name}");
        let mut out: Value = serde_json::from_slice(&written.body).unwrap();
        let mut original = long_form(original);
        // Said by the absence of anything else.
        if name == "unknown_fields" {
            let format = original["text"]["format"].as_object_mut().unwrap();
            format.remove("type");
        }
        if original.get("stream") == Some(&json!(false)) {
            original.as_object_mut().unwrap().remove("stream");
        }
        out = long_form(out);
        assert_eq!(out, original, "{name}");
    }
}

#[test]
fn turns_are_those_of_a_conversation_and_not_single_items() {
    let conversation = read(&fixture("requests", "codex", "json"))
        .canonical()
        .unwrap();
    let roles: Vec<&Role> = conversation.turns.iter().map(|turn| &turn.role).collect();
    assert_eq!(
        roles,
        [
            &Role::System,
            &Role::User,
            &Role::User,
            &Role::Assistant,
            &Role::User,
            &Role::Assistant,
            &Role::User
        ]
    );
    let names: Vec<_> = conversation
        .tools
        .iter()
        .map(|tool| (tool.name.namespace.as_deref(), tool.name.name.as_str()))
        .collect();
    assert_eq!(
        names,
        [
            (None, "exec_command"),
            (None, "apply_patch"),
            (Some("mcp__docs"), "search"),
            (Some("mcp__docs"), "open"),
            (Some("mcp__other"), "search"),
            (None, "web_search")
        ]
    );
    assert!(matches!(conversation.tools[5].kind, ToolKind::Native(_)));
    assert!(conversation.reasoning.encrypted);
    assert_eq!(conversation.reasoning.visible, Some(true));
    let results = &conversation.turns[4].blocks;
    let BlockKind::ToolResult(second) = &results[1].kind else {
        panic!("a result");
    };
    let tool = second.tool.as_ref().unwrap();
    assert_eq!(
        tool.namespace.as_deref(),
        Some("mcp__docs"),
        "the call names it"
    );
    assert_eq!(second.content.len(), 2);
}

#[test]
fn a_field_that_changes_the_meaning_is_marked() {
    let conversation = read(&fixture("requests", "unknown_fields", "json"))
        .canonical()
        .unwrap();
    let matters: Vec<&str> = conversation
        .extras
        .iter()
        .filter(|extra| extra.matters)
        .map(|extra| extra.field.as_str())
        .collect();
    assert_eq!(matters, ["previous_response_id"]);
    let hosted = read(&fixture("requests", "hosted_choice", "json"))
        .canonical()
        .unwrap();
    assert!(
        hosted
            .extras
            .iter()
            .any(|extra| extra.field == "tool_choice" && extra.matters)
    );
}

#[test]
fn thoughts_of_another_upstream_are_left_out_and_said_to_be() {
    let sealed = |seal: &str| {
        let body = json!({ "model": "m", "input": [
            { "role": "user", "content": "q" },
            { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": seal },
            { "type": "message", "id": "msg_1", "role": "assistant", "content": "a" },
        ] });
        let conversation = read(body.to_string().as_bytes()).canonical().unwrap();
        let target = Target {
            channel: Some("7"),
            ..TARGET
        };
        let written = write_request(FORMAT, &conversation, &target);
        let out: Value = serde_json::from_slice(&written.body).unwrap();
        (out["input"].clone(), written.notes)
    };
    let (own, notes) = sealed("tlsig1rb7xxxgAAA");
    assert_eq!(own[1]["encrypted_content"], "gAAA");
    assert_eq!(notes.all(), []);
    for alien in ["tlsig1rb8xxxgAAA", "tlsig1mb7xxxEqQB", "tlsig1mb7xxxEqQB~"] {
        let (left, notes) = sealed(alien);
        assert_eq!(left.as_array().unwrap().len(), 2, "{alien}");
        assert_eq!(left[1]["id"], "msg_1", "labels still find their item");
        assert_eq!(notes.all()[0].loss, LossKind::Dropped);
        assert_eq!(notes.all()[0].field, "thinking");
    }
}

#[test]
fn a_seal_of_gemini_goes_back_to_the_call_it_was_on() {
    let body = json!({ "model": "m", "input": [
        { "role": "user", "content": "q" },
        { "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" },
        { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "tlsig1gb7xxxCg==" },
        { "type": "function_call", "call_id": "d", "name": "f", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "c", "output": "1" },
        { "type": "function_call_output", "call_id": "d", "output": "2" },
    ] });
    let conversation = read(body.to_string().as_bytes()).canonical().unwrap();
    let calls: &[Block] = &conversation.turns[1].blocks;
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].signature.as_ref().unwrap().data, "Cg==");
    assert_eq!(calls[1].signature, None);
    assert_eq!(conversation.turns[2].blocks.len(), 2);
}
