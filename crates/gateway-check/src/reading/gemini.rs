//! Google's generateContent, whose frames have the shape of a whole answer.

use serde_json::Value;

use super::{Reading, TokenUsage, ToolCall, field, items, number, text};

pub(super) fn frame(value: &Value, reading: &mut Reading) {
    let candidate = value.pointer("/candidates/0").unwrap_or(&Value::Null);
    for part in items(field(candidate, "content"), "parts") {
        let words = text(part, "text");
        if field(part, "thought") == &Value::Bool(true) {
            reading.think(words);
        } else {
            reading.say(words);
        }
        if let Some(call) = part.get("functionCall") {
            reading.count("call");
            reading.calls.push(ToolCall {
                name: text(call, "name").to_owned(),
                arguments: field(call, "args").clone(),
            });
        }
    }
    if let Some(finish) = field(candidate, "finishReason").as_str() {
        reading.finish = Some(finish.to_owned());
    }
    if let Some(usage) = value.get("usageMetadata").filter(|usage| usage.is_object()) {
        let thoughts = number(usage, "/thoughtsTokenCount");
        // The last frame has the whole counts.
        reading.usage = Some(TokenUsage {
            input: number(usage, "/promptTokenCount"),
            output: number(usage, "/candidatesTokenCount").saturating_add(thoughts),
            cached: number(usage, "/cachedContentTokenCount"),
            reasoning: thoughts,
        });
    }
}
