//! The four formats as callers read them, by hand: whole answers, errors, and what is sent back in the
//! next turn.

use serde_json::{Value, json};

use crate::client_encode::ClientFormat;
use crate::stream_fold::gathered;
use crate::test_gateway::GatewayResponse;

/// An answer, in no format.
#[derive(Debug, Clone, Default)]
pub(crate) struct DecodedAnswer {
    pub(crate) text: String,
    pub(crate) thought: String,
    pub(crate) refusal: String,
    pub(crate) calls: Vec<Call>,
    /// The format's own code.
    pub(crate) why: String,
    pub(crate) tokens: Tokens,
    /// What the usage says that it cost; none if it does not.
    pub(crate) cost: Option<f64>,
    /// And why.
    pub(crate) cost_details: Value,
    pub(crate) model: String,
    /// The answer as the format has it whole.
    pub(crate) whole: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// Usage as it is shown; input with what caches held of it, output with thoughts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cached: u64,
    pub(crate) reasoning: u64,
}

/// One frame of a stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sse {
    pub(crate) event: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) comment: Option<String>,
}

/// An error, in no format.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wrong {
    pub(crate) code: String,
    pub(crate) kind: String,
    pub(crate) request_id: Option<String>,
    /// None where the format has no place for it.
    pub(crate) charged: Option<bool>,
    pub(crate) param: Option<String>,
    pub(crate) message: String,
}

// === impl Sse ===

impl Sse {
    pub(crate) fn all(text: &str) -> Vec<Self> {
        let text = text.replace("\r\n", "\n");
        let frames = text.split("\n\n").filter(|frame| !frame.is_empty());
        frames.map(Self::one).collect()
    }

    fn one(frame: &str) -> Self {
        let mut sse = Self::default();
        for line in frame.lines() {
            if let Some(comment) = line.strip_prefix(':') {
                sse.comment = Some(comment.trim().to_owned());
            } else if let Some(event) = line.strip_prefix("event: ") {
                sse.event = Some(event.to_owned());
            } else if let Some(data) = line.strip_prefix("data: ") {
                sse.data = Some(data.to_owned());
            } else {
                panic!("a line that no stream has: {line:?}");
            }
        }
        sse
    }

    pub(crate) fn json(&self) -> Option<Value> {
        let data = self.data.as_deref().filter(|data| *data != "[DONE]")?;
        Some(serde_json::from_str(data).unwrap_or_else(|_| panic!("{data}")))
    }
}

// === impl DecodedAnswer ===

impl DecodedAnswer {
    /// Reads an answer, streamed or not.
    pub(crate) fn of(client_format: ClientFormat, got: &GatewayResponse, stream: bool) -> Self {
        let whole = if stream {
            gathered(client_format, &Sse::all(&got.text()))
        } else {
            got.json()
        };
        let mut received = match client_format {
            ClientFormat::Chat => chat(&whole),
            ClientFormat::Messages => messages(&whole),
            ClientFormat::Responses => responses(&whole),
            ClientFormat::Gemini => gemini(&whole),
        };
        let usage = match client_format {
            ClientFormat::Gemini => &whole["usageMetadata"],
            ClientFormat::Chat | ClientFormat::Messages | ClientFormat::Responses => {
                &whole["usage"]
            }
        };
        received.cost = usage["cost"].as_f64();
        received.cost_details = usage["cost_details"].clone();
        received.model = text(
            &whole[if client_format == ClientFormat::Gemini {
                "modelVersion"
            } else {
                "model"
            }],
        );
        received.whole = whole;
        received
    }

    /// Puts the answer behind the request, with a result for each of its calls.
    pub(crate) fn sent_back(&self, client_format: ClientFormat, mut body: Value) -> Value {
        let result = |call: &Call| format!("{} says 17", call.name);
        let whole = &self.whole;
        match client_format {
            ClientFormat::Chat => {
                let turns = body["messages"].as_array_mut().unwrap();
                turns.push(whole["choices"][0]["message"].clone());
                turns.extend(self.calls.iter().map(|call| {
                    json!({ "role": "tool", "tool_call_id": call.id, "content": result(call) })
                }));
            }
            ClientFormat::Messages => {
                let turns = body["messages"].as_array_mut().unwrap();
                turns.push(json!({ "role": "assistant", "content": whole["content"] }));
                let results = self.calls.iter().map(|call| {
                    json!({ "type": "tool_result", "tool_use_id": call.id, "content": result(call) })
                });
                let results: Vec<Value> = results.collect();
                if !results.is_empty() {
                    turns.push(json!({ "role": "user", "content": results }));
                }
            }
            ClientFormat::Responses => {
                let turns = body["input"].as_array_mut().unwrap();
                turns.extend(whole["output"].as_array().unwrap().iter().cloned());
                turns.extend(self.calls.iter().map(|call| {
                    json!({ "type": "function_call_output", "call_id": call.id, "output": result(call) })
                }));
            }
            ClientFormat::Gemini => {
                let turns = body["contents"].as_array_mut().unwrap();
                turns.push(whole["candidates"][0]["content"].clone());
                let results = self.calls.iter().map(|call| {
                    let mut response =
                        json!({ "name": call.name, "response": { "result": result(call) } });
                    if !call.id.is_empty() {
                        response["id"] = json!(call.id);
                    }
                    json!({ "functionResponse": response })
                });
                let results: Vec<Value> = results.collect();
                if !results.is_empty() {
                    turns.push(json!({ "role": "user", "parts": results }));
                }
            }
        }
        body
    }
}

/// The same conversation with another message of its user.
pub(crate) fn and_says(client_format: ClientFormat, mut body: Value, prompt: &str) -> Value {
    let (list, turn) = match client_format {
        ClientFormat::Chat | ClientFormat::Messages => {
            ("messages", json!({ "role": "user", "content": prompt }))
        }
        ClientFormat::Responses => ("input", json!({ "role": "user", "content": prompt })),
        ClientFormat::Gemini => (
            "contents",
            json!({ "role": "user", "parts": [{ "text": prompt }] }),
        ),
    };
    body[list].as_array_mut().unwrap().push(turn);
    body
}

/// An error as an interface has it.
pub(crate) fn wrong(client_format: ClientFormat, body: &Value) -> Wrong {
    let error = &body["error"];
    let some = |value: &Value| value.as_str().map(str::to_owned);
    match client_format {
        ClientFormat::Chat | ClientFormat::Responses => Wrong {
            code: text(&error["code"]),
            kind: text(&error["type"]),
            request_id: some(&error["request_id"]),
            charged: error["charged"].as_bool(),
            param: some(&error["param"]),
            message: text(&error["message"]),
        },
        ClientFormat::Messages => {
            assert_eq!(body["type"], "error", "{body}");
            Wrong {
                code: text(&error["code"]),
                kind: text(&error["type"]),
                request_id: some(&body["request_id"]),
                charged: None,
                param: None,
                message: text(&error["message"]),
            }
        }
        ClientFormat::Gemini => {
            let info = &error["details"][0];
            Wrong {
                code: text(&info["reason"]),
                kind: text(&error["status"]),
                request_id: some(&info["metadata"]["request_id"]),
                charged: info["metadata"]["charged"].as_str().map(|it| it == "true"),
                param: some(&info["metadata"]["param"]),
                message: text(&error["message"]),
            }
        }
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(crate) fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn parsed(arguments: &Value) -> Value {
    serde_json::from_str(&text(arguments)).unwrap_or(Value::Null)
}

fn chat(whole: &Value) -> DecodedAnswer {
    let choice = &whole["choices"][0];
    let message = &choice["message"];
    let usage = &whole["usage"];
    let calls = list(&message["tool_calls"]).iter().map(|call| Call {
        id: text(&call["id"]),
        name: text(&call["function"]["name"]),
        arguments: parsed(&call["function"]["arguments"]),
    });
    DecodedAnswer {
        text: text(&message["content"]),
        thought: text(&message["reasoning_content"]),
        refusal: text(&message["refusal"]),
        calls: calls.collect(),
        why: text(&choice["finish_reason"]),
        tokens: Tokens {
            input: count(&usage["prompt_tokens"]),
            output: count(&usage["completion_tokens"]),
            cached: count(&usage["prompt_tokens_details"]["cached_tokens"]),
            reasoning: count(&usage["completion_tokens_details"]["reasoning_tokens"]),
        },
        ..DecodedAnswer::default()
    }
}

fn messages(whole: &Value) -> DecodedAnswer {
    let usage = &whole["usage"];
    let cached = count(&usage["cache_read_input_tokens"]);
    let written = count(&usage["cache_creation_input_tokens"]);
    let mut received = DecodedAnswer {
        why: text(&whole["stop_reason"]),
        tokens: Tokens {
            input: count(&usage["input_tokens"]) + cached + written,
            output: count(&usage["output_tokens"]),
            cached,
            reasoning: count(&usage["output_tokens_details"]["thinking_tokens"]),
        },
        ..DecodedAnswer::default()
    };
    for block in list(&whole["content"]) {
        match block["type"].as_str().unwrap() {
            "text" => received.text.push_str(&text(&block["text"])),
            "thinking" => received.thought.push_str(&text(&block["thinking"])),
            "tool_use" => received.calls.push(Call {
                id: text(&block["id"]),
                name: text(&block["name"]),
                arguments: block["input"].clone(),
            }),
            _ => {}
        }
    }
    received
}

pub(crate) fn responses(whole: &Value) -> DecodedAnswer {
    let usage = &whole["usage"];
    let status = text(&whole["status"]);
    let mut received = DecodedAnswer {
        why: match whole["incomplete_details"]["reason"].as_str() {
            Some(reason) => format!("{status}: {reason}"),
            None => status,
        },
        tokens: Tokens {
            input: count(&usage["input_tokens"]),
            output: count(&usage["output_tokens"]),
            cached: count(&usage["input_tokens_details"]["cached_tokens"]),
            reasoning: count(&usage["output_tokens_details"]["reasoning_tokens"]),
        },
        ..DecodedAnswer::default()
    };
    for item in list(&whole["output"]) {
        match item["type"].as_str().unwrap() {
            "message" => {
                for part in list(&item["content"]) {
                    received.text.push_str(&text(&part["text"]));
                    received.refusal.push_str(&text(&part["refusal"]));
                }
            }
            "reasoning" => {
                // A summary where it is the vendor's own, the thought itself where a vendor shows it.
                let parts = list(&item["summary"]).iter().chain(list(&item["content"]));
                received
                    .thought
                    .extend(parts.map(|part| text(&part["text"])));
            }
            "function_call" => received.calls.push(Call {
                id: text(&item["call_id"]),
                name: text(&item["name"]),
                arguments: parsed(&item["arguments"]),
            }),
            _ => {}
        }
    }
    received
}

fn gemini(whole: &Value) -> DecodedAnswer {
    let usage = &whole["usageMetadata"];
    let candidate = &whole["candidates"][0];
    let thoughts = count(&usage["thoughtsTokenCount"]);
    let tools = count(&usage["toolUsePromptTokenCount"]);
    let mut received = DecodedAnswer {
        why: text(&candidate["finishReason"]),
        tokens: Tokens {
            input: count(&usage["promptTokenCount"]) + tools,
            output: count(&usage["candidatesTokenCount"]) + thoughts,
            cached: count(&usage["cachedContentTokenCount"]),
            reasoning: thoughts,
        },
        ..DecodedAnswer::default()
    };
    for part in list(&candidate["content"]["parts"]) {
        let reply = text(&part["text"]);
        if part["thought"] == true {
            received.thought.push_str(&reply);
        } else {
            received.text.push_str(&reply);
        }
        let call = &part["functionCall"];
        if call.is_object() {
            received.calls.push(Call {
                id: text(&call["id"]),
                name: text(&call["name"]),
                arguments: call["args"].clone(),
            });
        }
    }
    received
}
