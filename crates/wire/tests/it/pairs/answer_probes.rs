//! Answers of every format that together say all that it can.

use serde_json::{Value, json};
use trunkline_wire::Format;

/// Answers that together say all that a format can.
pub(crate) fn probes(format: Format) -> Vec<Value> {
    match format {
        Format::OpenaiChat => chat(),
        Format::ClaudeMessages => claude(),
        Format::OpenaiResponses => responses(),
        Format::Gemini => gemini(),
    }
}

fn chat() -> Vec<Value> {
    let usage = json!({
        "prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
        "prompt_tokens_details": { "cached_tokens": 20, "audio_tokens": 10, "image_tokens": 5, "cache_write_tokens": 8 },
        "completion_tokens_details": { "reasoning_tokens": 12, "audio_tokens": 6, "image_tokens": 4 },
    });
    let answer = |message: Value, finish: &str| {
        json!({ "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
            "choices": [{ "index": 0, "message": message, "finish_reason": finish }] })
    };
    let answered =
        |text: &str, finish: &str| answer(json!({ "role": "assistant", "content": text }), finish);
    let mut two = answered("one", "stop");
    two["choices"].as_array_mut().unwrap().push(json!({ "index": 1, "message": { "role": "assistant", "content": "two" }, "finish_reason": "stop" }));
    vec![
        answer(
            json!({ "role": "assistant", "content": "ho", "reasoning_content": "hm",
            "annotations": [{ "type": "url_citation", "url_citation": { "url": "https://example.com", "title": "E", "start_index": 0, "end_index": 2 } }],
            "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "f", "arguments": "{\"a\":1}" } }] }),
            "tool_calls",
        ),
        answer(
            json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "c1", "type": "custom", "custom": { "name": "f", "input": "words" } }] }),
            "tool_calls",
        ),
        answer(
            json!({ "role": "assistant", "content": "ho", "reasoning_details": [{ "type": "reasoning.text", "text": "hm", "signature": "sealed" }, { "type": "reasoning.encrypted", "data": "hidden" }] }),
            "stop",
        ),
        answer(
            json!({ "role": "assistant", "content": null, "refusal": "no" }),
            "stop",
        ),
        answered("ho", "stop"),
        answered("ho", "length"),
        answered("ho", "content_filter"),
        two,
    ]
}

fn claude() -> Vec<Value> {
    let usage = json!({
        "input_tokens": 60, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 20,
        "cache_creation": { "ephemeral_5m_input_tokens": 18, "ephemeral_1h_input_tokens": 12 },
        "output_tokens": 40, "output_tokens_details": { "thinking_tokens": 9 },
    });
    let answer = |content: Value, stop: &str, text: Value| {
        json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": stop, "stop_sequence": text, "usage": usage })
    };
    let answered =
        |stop: &str| answer(json!([{ "type": "text", "text": "ho" }]), stop, Value::Null);
    vec![
        answer(
            json!([
                { "type": "thinking", "thinking": "hm", "signature": "sealed" },
                { "type": "text", "text": "one", "citations": [{ "type": "web_search_result_location", "url": "https://example.com", "title": "E", "encrypted_index": "x", "cited_text": "h" }] },
                { "type": "tool_use", "id": "c1", "name": "f", "input": { "a": 1 } },
                { "type": "text", "text": "two" },
                { "type": "tool_use", "id": "c2", "name": "f", "input": { "a": 2 } },
            ]),
            "tool_use",
            Value::Null,
        ),
        answer(
            json!([{ "type": "redacted_thinking", "data": "hidden" }, { "type": "text", "text": "ho" }]),
            "end_turn",
            Value::Null,
        ),
        answered("max_tokens"),
        answered("refusal"),
        answered("pause_turn"),
        answered("model_context_window_exceeded"),
        answer(
            json!([{ "type": "text", "text": "ho" }]),
            "stop_sequence",
            json!("END"),
        ),
    ]
}

fn responses() -> Vec<Value> {
    let usage = json!({
        "input_tokens": 100, "input_tokens_details": { "cached_tokens": 20, "cache_write_tokens": 8 },
        "output_tokens": 50, "output_tokens_details": { "reasoning_tokens": 12 }, "total_tokens": 150,
    });
    let answer = |output: Value, status: &str, why: Value| {
        json!({ "id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "m",
            "error": null, "incomplete_details": why, "output": output, "usage": usage })
    };
    let message = |part: Value| json!({ "id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part] });
    let text = || message(json!({ "type": "output_text", "text": "ho", "annotations": [] }));
    vec![
        answer(
            json!([
                { "id": "rs_1", "type": "reasoning", "summary": [{ "type": "summary_text", "text": "hm" }], "encrypted_content": "sealed" },
                message(json!({ "type": "output_text", "text": "one", "annotations": [{ "type": "url_citation", "url": "https://example.com", "title": "E", "start_index": 0, "end_index": 2 }] })),
                { "id": "fc_1", "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\":1}", "status": "completed" },
                { "id": "msg_2", "type": "message", "role": "assistant", "status": "completed", "content": [{ "type": "output_text", "text": "two", "annotations": [] }] },
                { "id": "fc_2", "type": "function_call", "call_id": "c2", "name": "f", "arguments": "{\"a\":2}", "status": "completed" },
            ]),
            "completed",
            Value::Null,
        ),
        answer(
            json!([{ "id": "ct_1", "type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "words", "status": "completed" }]),
            "completed",
            Value::Null,
        ),
        answer(
            json!([{ "id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "hidden" }, text()]),
            "completed",
            Value::Null,
        ),
        answer(
            json!([message(json!({ "type": "refusal", "refusal": "no" }))]),
            "completed",
            Value::Null,
        ),
        answer(json!([text()]), "completed", Value::Null),
        answer(
            json!([text()]),
            "incomplete",
            json!({ "reason": "max_output_tokens" }),
        ),
        answer(
            json!([text()]),
            "incomplete",
            json!({ "reason": "content_filter" }),
        ),
    ]
}

fn gemini() -> Vec<Value> {
    let usage = json!({
        "promptTokenCount": 100, "candidatesTokenCount": 40, "thoughtsTokenCount": 12, "totalTokenCount": 152, "cachedContentTokenCount": 20,
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": 85 }, { "modality": "IMAGE", "tokenCount": 9 }, { "modality": "AUDIO", "tokenCount": 6 }],
        "cacheTokensDetails": [{ "modality": "TEXT", "tokenCount": 20 }],
        "candidatesTokensDetails": [{ "modality": "TEXT", "tokenCount": 30 }, { "modality": "IMAGE", "tokenCount": 7 }, { "modality": "AUDIO", "tokenCount": 3 }],
    });
    let candidate = |parts: Value, finish: &str| json!({ "content": { "role": "model", "parts": parts }, "finishReason": finish, "index": 0 });
    let answer = |candidates: Value| json!({ "candidates": candidates, "usageMetadata": usage, "modelVersion": "m", "responseId": "r" });
    let answered = |finish: &str| answer(json!([candidate(json!([{ "text": "ho" }]), finish)]));
    let mut cited = candidate(json!([{ "text": "ho" }]), "STOP");
    cited["citationMetadata"] =
        json!({ "citations": [{ "startIndex": 0, "endIndex": 2, "uri": "https://example.com" }] });
    let mut second = candidate(json!([{ "text": "two" }]), "STOP");
    second["index"] = json!(1);
    vec![
        answer(json!([candidate(
            json!([
                { "text": "hm", "thought": true, "thoughtSignature": "QUJD" },
                { "text": "one" },
                { "functionCall": { "id": "c1", "name": "f", "args": { "a": 1 } } },
                { "text": "two" },
                { "functionCall": { "id": "c2", "name": "f", "args": { "a": 2 } } },
            ]),
            "STOP"
        )])),
        answer(json!([cited])),
        answer(json!([candidate(
            json!([{ "text": "ho" }, { "inlineData": { "mimeType": "image/png", "data": "iVBORw0KGgo=" } }]),
            "STOP"
        )])),
        answered("MAX_TOKENS"),
        answered("SAFETY"),
        answer(json!([
            candidate(json!([{ "text": "one" }]), "STOP"),
            second
        ])),
    ]
}
