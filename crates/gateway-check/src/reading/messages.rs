//! Anthropic's messages.

use serde_json::Value;

use super::{GrowingCall, Reading, TokenUsage, ToolCall, field, items, number, text};

pub(super) fn whole(value: &Value, reading: &mut Reading) {
    for block in items(value, "content") {
        match text(block, "type") {
            "text" => reading.say(text(block, "text")),
            "thinking" => reading.think(text(block, "thinking")),
            "tool_use" => reading.calls.push(ToolCall {
                name: text(block, "name").to_owned(),
                arguments: field(block, "input").clone(),
            }),
            _ => {}
        }
    }
    end(value, field(value, "usage"), reading);
}

pub(super) fn frame(value: &Value, reading: &mut Reading, calls: &mut Vec<GrowingCall>) {
    match text(value, "type") {
        "message_start" => add_usage(field(field(value, "message"), "usage"), reading),
        "content_block_start" => {
            let block = field(value, "content_block");
            if text(block, "type") == "tool_use"
                && let Some(call) = GrowingCall::at(calls, number(value, "/index"))
            {
                call.name.push_str(text(block, "name"));
            }
            reading.say(text(block, "text"));
        }
        "content_block_delta" => {
            let delta = field(value, "delta");
            reading.say(text(delta, "text"));
            reading.think(text(delta, "thinking"));
            let written = text(delta, "partial_json");
            reading.count(written);
            if text(delta, "type") == "input_json_delta"
                && let Some(call) = GrowingCall::at(calls, number(value, "/index"))
            {
                call.arguments.push_str(written);
            }
        }
        "message_delta" => end(field(value, "delta"), field(value, "usage"), reading),
        "message_stop" => reading.is_ended = true,
        _ => {}
    }
}

fn end(of: &Value, usage: &Value, reading: &mut Reading) {
    if let Some(finish) = field(of, "stop_reason").as_str() {
        reading.finish = Some(finish.to_owned());
    }
    add_usage(usage, reading);
}

/// Later counts replace earlier ones; the first output count of a stream is a beginning.
fn add_usage(usage: &Value, reading: &mut Reading) {
    if !usage.is_object() {
        return;
    }
    let reported = reading.usage.unwrap_or_default();
    let cached = number(usage, "/cache_read_input_tokens");
    let written = number(usage, "/cache_creation_input_tokens");
    let fresh = number(usage, "/input_tokens");
    let input = fresh.saturating_add(cached).saturating_add(written);
    reading.usage = Some(TokenUsage {
        input: reported.input.max(input),
        output: reported.output.max(number(usage, "/output_tokens")),
        cached: reported.cached.max(cached),
        reasoning: reported
            .reasoning
            .max(number(usage, "/output_tokens_details/thinking_tokens")),
    });
}
