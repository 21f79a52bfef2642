//! OpenAI's Responses.

use serde_json::Value;

use super::{GrowingCall, Reading, TokenUsage, ToolCall, arguments, field, items, number, text};

pub(super) fn whole(value: &Value, reading: &mut Reading) {
    for item in items(value, "output") {
        match text(item, "type") {
            "message" => {
                for part in items(item, "content") {
                    reading.say(text(part, "text"));
                    reading.say(text(part, "refusal"));
                }
            }
            "reasoning" => {
                for part in items(item, "summary").chain(items(item, "content")) {
                    reading.think(text(part, "text"));
                }
            }
            "function_call" => reading.calls.push(ToolCall {
                name: text(item, "name").to_owned(),
                arguments: arguments(text(item, "arguments")),
            }),
            _ => {}
        }
    }
    end(value, reading);
}

pub(super) fn frame(value: &Value, reading: &mut Reading, calls: &mut Vec<GrowingCall>) {
    let delta = text(value, "delta");
    match text(value, "type") {
        "response.output_text.delta" | "response.refusal.delta" => reading.say(delta),
        "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
            reading.think(delta);
        }
        "response.output_item.added" if text(field(value, "item"), "type") == "function_call" => {
            if let Some(call) = GrowingCall::at(calls, number(value, "/output_index")) {
                call.name.push_str(text(field(value, "item"), "name"));
            }
        }
        "response.function_call_arguments.delta" => {
            reading.count(delta);
            if let Some(call) = GrowingCall::at(calls, number(value, "/output_index")) {
                call.arguments.push_str(delta);
            }
        }
        "response.completed" | "response.incomplete" => {
            end(field(value, "response"), reading);
            reading.is_ended = true;
        }
        _ => {}
    }
}

fn end(response: &Value, reading: &mut Reading) {
    // Why it is incomplete says more than that it is.
    let reason = response.pointer("/incomplete_details/reason");
    let reason = reason.or_else(|| response.get("status"));
    reading.finish = reason.and_then(Value::as_str).map(str::to_owned);
    if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
        reading.usage = Some(TokenUsage {
            input: number(usage, "/input_tokens"),
            output: number(usage, "/output_tokens"),
            cached: number(usage, "/input_tokens_details/cached_tokens"),
            reasoning: number(usage, "/output_tokens_details/reasoning_tokens"),
        });
    }
}
