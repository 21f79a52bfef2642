//! Bodies as a gateway writes them that translates from another vendor's format: calls that no
//! model of this vendor made, without thoughts and signatures of its own.

use serde_json::{Value, json};

use crate::vendor_clients::Vendor;

/// Who is sent what, for which model.
pub(crate) fn all() -> Vec<(Vendor, &'static str, Value)> {
    let (thinks, plain) = ("sim-reason", "sim-small");
    vec![
        (Vendor::Gemini, thinks, gemini()),
        (Vendor::Vertex, thinks, gemini()),
        (Vendor::Gemini, plain, thinking_off()),
        (Vendor::Vertex, plain, thinking_off()),
        (Vendor::Anthropic, thinks, claude()),
        (Vendor::Bedrock, thinks, claude()),
        (Vendor::VertexAnthropic, thinks, claude()),
        (Vendor::Responses, thinks, responses()),
        (Vendor::AzureResponses, thinks, responses()),
        (Vendor::Chat, thinks, chat()),
        (Vendor::AzureChat, thinks, chat()),
    ]
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}},
        "additionalProperties": false})
}

fn gemini() -> Value {
    json!({
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "go"},
                {"fileData": {"fileUri": "https://example.org/b.pdf"}}]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "f", "args": {}, "id": "call_1"},
                    "thoughtSignature": "skip_thought_signature_validator"},
                {"functionCall": {"name": "f", "args": {"a": "x"}, "id": "call_2"}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "response": {"output": "1"}, "id": "call_1"}},
                {"functionResponse": {"name": "f", "response": {"error": "no"}, "id": "call_2"}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema()}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {"maxOutputTokens": 100,
            "thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": true}},
    })
}

fn thinking_off() -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": "go"}]}],
        "generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}})
}

fn claude() -> Value {
    json!({
        "system": "be brief", "max_tokens": 2000,
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "xhigh"},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "call_1", "name": "f", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "1", "is_error": true},
                {"type": "text", "text": "and now"}]},
        ],
        "tools": [{"name": "f", "input_schema": schema()}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
    })
}

fn responses() -> Value {
    json!({
        "instructions": "be brief", "store": false, "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "high", "summary": "auto"}, "max_output_tokens": 100,
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
            {"type": "function_call", "call_id": "toolu_1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "toolu_1", "output": "1"},
        ],
        "tools": [{"type": "function", "name": "f", "parameters": schema(), "strict": false}],
        "tool_choice": "auto", "parallel_tool_calls": true,
    })
}

fn chat() -> Value {
    json!({
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "now", "tool_calls": [{"id": "toolu_1",
                "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "toolu_1", "content": "1"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": schema()}}],
        "reasoning_effort": "low", "max_completion_tokens": 100,
    })
}
