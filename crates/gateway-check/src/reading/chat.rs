//! Chat completions.

use serde_json::Value;

use super::{GrowingCall, Reading, TokenUsage, ToolCall, arguments, field, items, number, text};

pub(super) fn whole(value: &Value, reading: &mut Reading) {
    let choice = value.pointer("/choices/0").unwrap_or(&Value::Null);
    let message = field(choice, "message");
    reading.say(text(message, "content"));
    reading.say(text(message, "refusal"));
    thoughts(message, reading);
    for call in items(message, "tool_calls") {
        let function = field(call, "function");
        reading.calls.push(ToolCall {
            name: text(function, "name").to_owned(),
            arguments: arguments(text(function, "arguments")),
        });
    }
    end(choice, value, reading);
}

pub(super) fn frame(value: &Value, reading: &mut Reading, calls: &mut Vec<GrowingCall>) {
    let choice = value.pointer("/choices/0").unwrap_or(&Value::Null);
    let delta = field(choice, "delta");
    reading.say(text(delta, "content"));
    reading.say(text(delta, "refusal"));
    thoughts(delta, reading);
    for piece in items(delta, "tool_calls") {
        let function = field(piece, "function");
        let written = text(function, "arguments");
        reading.count(written);
        if let Some(call) = GrowingCall::at(calls, number(piece, "/index")) {
            call.name.push_str(text(function, "name"));
            call.arguments.push_str(written);
        }
    }
    end(choice, value, reading);
}

/// Chat completions define no field for thoughts. Most gateways and upstreams use one, TensorZero documents another.
fn thoughts(of: &Value, reading: &mut Reading) {
    reading.think(text(of, "reasoning_content"));
    for block in items(of, "tensorzero_extra_content") {
        reading.think(text(block, "text"));
    }
}

fn end(choice: &Value, value: &Value, reading: &mut Reading) {
    if let Some(finish) = field(choice, "finish_reason").as_str() {
        reading.finish = Some(finish.to_owned());
    }
    if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
        // Usage may come in parts; a part that is not there is not zero.
        let mut reported = reading.usage.unwrap_or_default();
        reported = TokenUsage {
            input: reported.input.max(number(usage, "/prompt_tokens")),
            output: reported.output.max(number(usage, "/completion_tokens")),
            cached: reported
                .cached
                .max(number(usage, "/prompt_tokens_details/cached_tokens")),
            reasoning: reported
                .reasoning
                .max(number(usage, "/completion_tokens_details/reasoning_tokens")),
        };
        reading.usage = Some(reported);
    }
}
