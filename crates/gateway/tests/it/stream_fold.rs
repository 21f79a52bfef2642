//! Streams of the four formats, gathered by hand into the shape of a whole answer.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::client_decode::{Sse, count, list, responses, text};
use crate::client_encode::ClientFormat;

/// A stream in the shape of a whole answer.
pub(crate) fn gathered(client_format: ClientFormat, frames: &[Sse]) -> Value {
    let data: Vec<Value> = frames.iter().filter_map(Sse::json).collect();
    match client_format {
        ClientFormat::Chat => gathered_chat(&data),
        ClientFormat::Messages => gathered_messages(&data),
        ClientFormat::Responses => gathered_responses(&data),
        ClientFormat::Gemini => gathered_gemini(&data),
    }
}

fn grow(place: &mut Value, more: &Value) {
    if let Some(more) = more.as_str() {
        *place = json!(text(place) + more);
    }
}

fn gathered_chat(data: &[Value]) -> Value {
    let mut message = json!({ "role": "assistant", "content": null });
    let mut calls: BTreeMap<u64, Value> = BTreeMap::new();
    let (mut finish, mut usage, mut details) = (Value::Null, Value::Null, Vec::new());
    for chunk in data {
        let choice = &chunk["choices"][0];
        let delta = &choice["delta"];
        for field in ["content", "reasoning_content", "refusal"] {
            if delta[field].is_string() {
                grow(&mut message[field], &delta[field]);
            }
        }
        details.extend(list(&delta["reasoning_details"]).iter().cloned());
        for piece in list(&delta["tool_calls"]) {
            let place = calls.entry(count(&piece["index"]));
            let call = place
                .or_insert_with(|| json!({ "type": "function", "function": { "arguments": "" } }));
            for field in ["id", "extra_content"] {
                if !piece[field].is_null() {
                    call[field] = piece[field].clone();
                }
            }
            grow(&mut call["function"]["name"], &piece["function"]["name"]);
            let more = &piece["function"]["arguments"];
            grow(&mut call["function"]["arguments"], more);
        }
        if !choice["finish_reason"].is_null() {
            finish = choice["finish_reason"].clone();
        }
        // Some upstreams tell one half here and the other half there.
        for (field, value) in chunk["usage"].as_object().into_iter().flatten() {
            usage[field] = value.clone();
        }
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into_values().collect();
    }
    if !details.is_empty() {
        message["reasoning_details"] = Value::Array(details);
    }
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
    json!({ "model": data[0]["model"], "choices": [choice], "usage": usage })
}

fn gathered_messages(data: &[Value]) -> Value {
    let start = data.iter().find(|event| event["type"] == "message_start");
    let mut whole = start.expect("a beginning")["message"].clone();
    let mut blocks: BTreeMap<u64, Value> = BTreeMap::new();
    let mut inputs: BTreeMap<u64, String> = BTreeMap::new();
    for event in data {
        let index = count(&event["index"]);
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                blocks.insert(index, event["content_block"].clone());
            }
            "content_block_delta" => {
                let block = blocks.get_mut(&index).expect("a block was opened");
                let delta = &event["delta"];
                for field in ["text", "thinking", "signature"] {
                    if delta[field].is_string() {
                        grow(&mut block[field], &delta[field]);
                    }
                }
                let input = inputs.entry(index).or_default();
                input.push_str(&text(&delta["partial_json"]));
            }
            "message_delta" => {
                whole["stop_reason"] = event["delta"]["stop_reason"].clone();
                for (field, value) in event["usage"].as_object().unwrap() {
                    whole["usage"][field] = value.clone();
                }
            }
            _ => {}
        }
    }
    for (index, input) in inputs {
        if !input.is_empty() {
            blocks.get_mut(&index).unwrap()["input"] = serde_json::from_str(&input).unwrap();
        }
    }
    whole["content"] = blocks.into_values().collect();
    whole
}

fn gathered_responses(data: &[Value]) -> Value {
    let (mut reply, mut last) = (String::new(), Value::Null);
    for (number, event) in data.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{event}");
        match event["type"].as_str().unwrap() {
            "response.output_text.delta" => reply.push_str(&text(&event["delta"])),
            "response.completed" | "response.incomplete" => last = event["response"].clone(),
            _ => {}
        }
    }
    let received = responses(&last);
    assert_eq!(received.text, reply, "the last event repeats what was said");
    last
}

fn gathered_gemini(data: &[Value]) -> Value {
    let mut whole = data.last().unwrap().clone();
    let mut parts: Vec<Value> = Vec::new();
    for chunk in data {
        for part in list(&chunk["candidates"][0]["content"]["parts"]) {
            let alike = |last: &&mut Value| {
                let plain = |part: &Value| {
                    part["text"].is_string() && part.get("thoughtSignature").is_none()
                };
                plain(last) && plain(part) && last["thought"] == part["thought"]
            };
            match parts.last_mut().filter(alike) {
                Some(last) => grow(&mut last["text"], &part["text"]),
                None => parts.push(part.clone()),
            }
        }
    }
    whole["candidates"][0]["content"] = json!({ "role": "model", "parts": parts });
    whole
}
