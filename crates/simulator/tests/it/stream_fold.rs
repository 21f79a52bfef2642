//! A stream of any vendor put together to the answer it would have been in one piece, and such an
//! answer in one form.

use serde_json::{Value, json};

use crate::vendor_clients::{DecodedAnswer, Ending};

/// Chunks of chat completions.
pub(crate) fn chat(chunks: &[Value]) -> Value {
    let mut message = json!({"role": "assistant", "content": null});
    let mut calls: Vec<Value> = Vec::new();
    let mut answer = json!({"choices": [{"finish_reason": null}]});
    for chunk in chunks {
        if chunk["usage"].is_object() {
            answer["usage"] = chunk["usage"].clone();
        }
        let choice = &chunk["choices"][0];
        if choice["finish_reason"].is_string() {
            answer["choices"][0]["finish_reason"] = choice["finish_reason"].clone();
        }
        for name in ["content", "refusal", "reasoning_content"] {
            add_text(&mut message, name, choice["delta"][name].as_str());
        }
        for call in choice["delta"]["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let place = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            if call["id"].is_string() {
                assert_eq!(calls.len(), place, "{call}");
                calls.push(json!({"id": call["id"], "type": "function",
                    "function": call["function"]}));
            } else {
                let function = &mut calls[place]["function"];
                add_text(
                    function,
                    "arguments",
                    call["function"]["arguments"].as_str(),
                );
            }
        }
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    answer["choices"][0]["message"] = message;
    answer
}

/// The last event of the Responses API holds all.
pub(crate) fn responses(events: &[(String, Value)]) -> Value {
    let (name, data) = events.last().unwrap();
    let ends = ["response.completed", "response.incomplete"];
    assert!(ends.contains(&name.as_str()), "{name}");
    data["response"].clone()
}

/// Events of Anthropic's messages.
pub(crate) fn claude(events: &[Value]) -> Value {
    let mut answer = Value::Null;
    let mut inputs: Vec<String> = Vec::new();
    for event in events {
        let place = event["index"]
            .as_u64()
            .map(|at| usize::try_from(at).unwrap());
        match (event["type"].as_str().unwrap(), place) {
            ("message_start", _) => answer = event["message"].clone(),
            ("content_block_start", Some(at)) => {
                let blocks = answer["content"].as_array_mut().unwrap();
                assert_eq!(blocks.len(), at, "{event}");
                blocks.push(event["content_block"].clone());
                inputs.push(String::new());
            }
            ("content_block_delta", Some(at)) => {
                let delta = &event["delta"];
                let block = &mut answer["content"][at];
                for name in ["text", "thinking", "signature"] {
                    add_text(block, name, delta[name].as_str());
                }
                inputs[at].push_str(delta["partial_json"].as_str().unwrap_or(""));
            }
            ("content_block_stop", Some(at)) if answer["content"][at]["type"] == "tool_use" => {
                answer["content"][at]["input"] = serde_json::from_str(&inputs[at]).unwrap();
            }
            ("message_delta", _) => {
                answer["stop_reason"] = event["delta"]["stop_reason"].clone();
                for (name, value) in event["usage"].as_object().unwrap() {
                    answer["usage"][name] = value.clone();
                }
            }
            (_, _) => {}
        }
    }
    answer
}

/// Chunks of generated content.
pub(crate) fn gemini(chunks: &[Value]) -> Value {
    let mut parts = Vec::new();
    let mut answer = chunks.last().unwrap().clone();
    for chunk in chunks {
        let list = chunk["candidates"][0]["content"]["parts"].as_array();
        // The end of a stream may be an empty text, which no client needs to send back.
        let list = list.into_iter().flatten();
        parts.extend(list.filter(|part| part["text"] != "").cloned());
    }
    answer["candidates"][0]["content"] = json!({"role": "model", "parts": parts});
    answer
}

pub(crate) fn hear_chat(raw: Value) -> DecodedAnswer {
    let choice = &raw["choices"][0];
    let message = &choice["message"];
    let refusal = message["refusal"].as_str();
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let usage = &raw["usage"];
    DecodedAnswer {
        thought: text_of(&message["reasoning_content"]),
        text: refusal.map_or_else(|| text_of(&message["content"]), str::to_owned),
        calls: calls.map(|call| written_call(&call["function"])).collect(),
        ending: match choice["finish_reason"].as_str() {
            Some("stop") if refusal.is_some() => Ending::Refusal,
            Some("stop") => Ending::Stop,
            Some("length") => Ending::Length,
            Some("tool_calls") => Ending::Calls,
            Some(_) | None => Ending::Other,
        },
        input: number(&usage["prompt_tokens"]),
        cached: number(&usage["prompt_tokens_details"]["cached_tokens"]),
        output: number(&usage["completion_tokens"]),
        raw,
    }
}

pub(crate) fn hear_responses(raw: Value) -> DecodedAnswer {
    let ending = match (raw["status"].as_str(), &raw["incomplete_details"]["reason"]) {
        (Some("completed"), _) => Ending::Stop,
        (Some("incomplete"), reason) if reason == "max_output_tokens" => Ending::Length,
        (_, _) => Ending::Other,
    };
    let mut decoded = DecodedAnswer {
        ending,
        ..DecodedAnswer::default()
    };
    for item in raw["output"].as_array().unwrap() {
        match item["type"].as_str() {
            Some("reasoning") => {
                let parts = item["summary"].as_array().unwrap().iter();
                decoded
                    .thought
                    .extend(parts.map(|part| text_of(&part["text"])));
            }
            Some("function_call") => {
                decoded.ending = Ending::Calls;
                decoded.calls.push(written_call(item));
            }
            Some(_) | None => {
                let part = &item["content"][0];
                if part["type"] == "refusal" {
                    decoded.ending = Ending::Refusal;
                }
                decoded.text = text_of(&part["text"]) + &text_of(&part["refusal"]);
            }
        }
    }
    let usage = &raw["usage"];
    decoded.input = number(&usage["input_tokens"]);
    decoded.cached = number(&usage["input_tokens_details"]["cached_tokens"]);
    decoded.output = number(&usage["output_tokens"]);
    decoded.raw = raw;
    decoded
}

pub(crate) fn hear_claude(raw: Value) -> DecodedAnswer {
    let mut decoded = DecodedAnswer::default();
    for block in raw["content"].as_array().unwrap() {
        decoded.thought += &text_of(&block["thinking"]);
        decoded.text += &text_of(&block["text"]);
        if block["type"] == "tool_use" {
            decoded
                .calls
                .push((text_of(&block["name"]), block["input"].clone()));
        }
    }
    decoded.ending = match raw["stop_reason"].as_str() {
        Some("end_turn") => Ending::Stop,
        Some("max_tokens") => Ending::Length,
        Some("tool_use") => Ending::Calls,
        Some("refusal") => Ending::Refusal,
        Some(_) | None => Ending::Other,
    };
    let usage = &raw["usage"];
    decoded.cached = number(&usage["cache_read_input_tokens"]);
    decoded.input = number(&usage["input_tokens"])
        + decoded.cached
        + number(&usage["cache_creation_input_tokens"]);
    decoded.output = number(&usage["output_tokens"]);
    decoded.raw = raw;
    decoded
}

pub(crate) fn hear_gemini(raw: Value) -> DecodedAnswer {
    let mut decoded = DecodedAnswer::default();
    let candidate = &raw["candidates"][0];
    for part in candidate["content"]["parts"].as_array().unwrap() {
        if part["thought"] == true {
            decoded.thought += &text_of(&part["text"]);
        } else {
            decoded.text += &text_of(&part["text"]);
        }
        let call = &part["functionCall"];
        if call.is_object() {
            decoded
                .calls
                .push((text_of(&call["name"]), call["args"].clone()));
        }
    }
    decoded.ending = match candidate["finishReason"].as_str() {
        Some("STOP") if decoded.calls.is_empty() => Ending::Stop,
        Some("STOP") => Ending::Calls,
        Some("MAX_TOKENS") => Ending::Length,
        Some("SAFETY") => Ending::Refusal,
        Some(_) | None => Ending::Other,
    };
    let usage = &raw["usageMetadata"];
    decoded.input = number(&usage["promptTokenCount"]);
    decoded.cached = number(&usage["cachedContentTokenCount"]);
    decoded.output = number(&usage["candidatesTokenCount"]) + number(&usage["thoughtsTokenCount"]);
    decoded.raw = raw;
    decoded
}

fn written_call(call: &Value) -> (String, Value) {
    let arguments = call["arguments"].as_str().unwrap();
    (
        text_of(&call["name"]),
        serde_json::from_str(arguments).unwrap(),
    )
}

fn add_text(object: &mut Value, name: &str, more: Option<&str>) {
    if let Some(more) = more {
        let before = object[name].as_str().unwrap_or("");
        object[name] = json!(format!("{before}{more}"));
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or("").to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}
