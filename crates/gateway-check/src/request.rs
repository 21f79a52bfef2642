//! The request of a check, as a client of each format writes it.

use serde_json::{Map, Value, json};

use crate::check::{Check, Turn};
use crate::format::Format;

/// A request before it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) body: String,
}

/// The id of the one call that a history holds.
const CALL_ID: &str = "call_gateway_check_1";
const TOOL: &str = "get_weather";
/// Anthropic's clients must send one.
const USUAL_MAX_TOKENS: u32 = 4_000;
const THINKING_TOKENS: u32 = 1_024;

/// The request of a check for a model at a path. `marker` names it in the simulator's records.
pub(crate) fn request(check: &Check, path: &str, model: &str, marker: &str) -> Request {
    let prompt = format!("{} [[id:{marker}]]", check.scenario.prompt);
    let mut body = match check.client {
        Format::Chat => chat(check, &prompt),
        Format::Messages => messages(check, &prompt),
        Format::Responses => responses(check, &prompt),
        Format::Gemini => gemini(check, &prompt),
    };
    if check.client != Format::Gemini {
        body.insert("model".to_owned(), json!(model));
        if check.streamed {
            body.insert("stream".to_owned(), json!(true));
        }
    }
    if let Some(fields) = check.scenario.fields.get(&check.client) {
        body.extend(fields.clone());
    }
    let method = match check.streamed {
        true => "streamGenerateContent?alt=sse",
        false => "generateContent",
    };
    let mut body = Value::Object(body).to_string();
    if check.scenario.broken_body {
        body.truncate(body.floor_char_boundary(body.len() / 2));
    }
    Request {
        path: path.replace("{model}", model).replace("{method}", method),
        body,
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] })
}

fn description(tool: &str) -> String {
    format!("Tells what {tool} knows of a city.")
}

fn chat(check: &Check, prompt: &str) -> Map<String, Value> {
    let scenario = &check.scenario;
    let mut turns = Vec::new();
    if let Some(system) = &scenario.system {
        turns.push(json!({ "role": "system", "content": system }));
    }
    for turn in &scenario.history {
        turns.push(match turn {
            Turn::User(text) => json!({ "role": "user", "content": text }),
            Turn::Assistant(text) => json!({ "role": "assistant", "content": text }),
            Turn::Call(city) => json!({ "role": "assistant", "content": null, "tool_calls": [{
                "id": CALL_ID, "type": "function",
                "function": { "name": TOOL, "arguments": json!({ "city": city }).to_string() },
            }]}),
            Turn::Result(text) => {
                json!({ "role": "tool", "tool_call_id": CALL_ID, "content": text })
            }
        });
    }
    turns.push(json!({ "role": "user", "content": prompt }));
    let mut body = object(json!({ "messages": turns }));
    let tool = |name: &String| {
        json!({ "type": "function", "function": {
            "name": name, "description": description(name), "parameters": schema(),
        }})
    };
    add_tools(&mut body, scenario.tools.iter().map(tool).collect());
    if scenario.thinking {
        body.insert("reasoning_effort".to_owned(), json!("low"));
    }
    if let Some(most) = scenario.max_tokens {
        body.insert("max_completion_tokens".to_owned(), json!(most));
    }
    if check.streamed {
        let options = json!({ "include_usage": true });
        body.insert("stream_options".to_owned(), options);
    }
    body
}

fn messages(check: &Check, prompt: &str) -> Map<String, Value> {
    let scenario = &check.scenario;
    let mut turns = Vec::new();
    for turn in &scenario.history {
        turns.push(match turn {
            Turn::User(text) => json!({ "role": "user", "content": text }),
            Turn::Assistant(text) => json!({ "role": "assistant", "content": text }),
            Turn::Call(city) => json!({ "role": "assistant", "content": [{
                "type": "tool_use", "id": CALL_ID, "name": TOOL, "input": { "city": city },
            }]}),
            Turn::Result(text) => json!({ "role": "user", "content": [{
                "type": "tool_result", "tool_use_id": CALL_ID, "content": text,
            }]}),
        });
    }
    turns.push(json!({ "role": "user", "content": prompt }));
    let most = scenario.max_tokens.unwrap_or(USUAL_MAX_TOKENS);
    let mut body = object(json!({ "messages": turns, "max_tokens": most }));
    if let Some(system) = &scenario.system {
        body.insert("system".to_owned(), json!(system));
    }
    let tool = |name: &String| json!({ "name": name, "description": description(name), "input_schema": schema() });
    add_tools(&mut body, scenario.tools.iter().map(tool).collect());
    if scenario.thinking {
        let thinking = json!({ "type": "enabled", "budget_tokens": THINKING_TOKENS });
        body.insert("thinking".to_owned(), thinking);
    }
    body
}

fn responses(check: &Check, prompt: &str) -> Map<String, Value> {
    let scenario = &check.scenario;
    let mut items = Vec::new();
    for turn in &scenario.history {
        items.push(match turn {
            Turn::User(text) => json!({ "role": "user", "content": text }),
            Turn::Assistant(text) => json!({ "role": "assistant", "content": text }),
            Turn::Call(city) => json!({
                "type": "function_call", "call_id": CALL_ID, "name": TOOL,
                "arguments": json!({ "city": city }).to_string(),
            }),
            Turn::Result(text) => {
                json!({ "type": "function_call_output", "call_id": CALL_ID, "output": text })
            }
        });
    }
    items.push(json!({ "role": "user", "content": prompt }));
    let mut body = object(json!({ "input": items }));
    if let Some(system) = &scenario.system {
        body.insert("instructions".to_owned(), json!(system));
    }
    let tool = |name: &String| json!({ "type": "function", "name": name, "description": description(name), "parameters": schema() });
    add_tools(&mut body, scenario.tools.iter().map(tool).collect());
    if scenario.thinking {
        let reasoning = json!({ "effort": "low", "summary": "auto" });
        body.insert("reasoning".to_owned(), reasoning);
    }
    if let Some(most) = scenario.max_tokens {
        body.insert("max_output_tokens".to_owned(), json!(most));
    }
    body
}

fn gemini(check: &Check, prompt: &str) -> Map<String, Value> {
    let scenario = &check.scenario;
    let mut turns = Vec::new();
    for turn in &scenario.history {
        turns.push(match turn {
            Turn::User(text) => json!({ "role": "user", "parts": [{ "text": text }] }),
            Turn::Assistant(text) => json!({ "role": "model", "parts": [{ "text": text }] }),
            Turn::Call(city) => json!({ "role": "model", "parts": [{
                "functionCall": { "name": TOOL, "args": { "city": city } },
            }]}),
            Turn::Result(text) => json!({ "role": "user", "parts": [{
                "functionResponse": { "name": TOOL, "response": { "result": text } },
            }]}),
        });
    }
    turns.push(json!({ "role": "user", "parts": [{ "text": prompt }] }));
    let mut body = object(json!({ "contents": turns }));
    if let Some(system) = &scenario.system {
        let system = json!({ "parts": [{ "text": system }] });
        body.insert("systemInstruction".to_owned(), system);
    }
    let tool = |name: &String| json!({ "name": name, "description": description(name), "parameters": schema() });
    let tools: Vec<Value> = scenario.tools.iter().map(tool).collect();
    if !tools.is_empty() {
        add_tools(&mut body, vec![json!({ "functionDeclarations": tools })]);
    }
    let mut options = Map::new();
    if scenario.thinking {
        let thinking = json!({ "includeThoughts": true, "thinkingBudget": THINKING_TOKENS });
        options.insert("thinkingConfig".to_owned(), thinking);
    }
    if let Some(most) = scenario.max_tokens {
        options.insert("maxOutputTokens".to_owned(), json!(most));
    }
    if !options.is_empty() {
        body.insert("generationConfig".to_owned(), Value::Object(options));
    }
    body
}

fn add_tools(body: &mut Map<String, Value>, tools: Vec<Value>) {
    if !tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(tools));
    }
}
