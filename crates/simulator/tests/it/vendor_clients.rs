//! How each vendor is asked and understood: one question in its words, and its answer, whole or
//! streamed, brought into one form.

use serde_json::{Value, json};
use trunkline_simulator::Simulator;

use crate::bedrock::framed;
use crate::client::{Response, ask};
use crate::stream_fold;

/// An endpoint of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vendor {
    Chat,
    AzureChat,
    Responses,
    AzureResponses,
    Anthropic,
    Bedrock,
    VertexAnthropic,
    Gemini,
    Vertex,
}

pub(crate) const ALL: [Vendor; 9] = [
    Vendor::Chat,
    Vendor::AzureChat,
    Vendor::Responses,
    Vendor::AzureResponses,
    Vendor::Anthropic,
    Vendor::Bedrock,
    Vendor::VertexAnthropic,
    Vendor::Gemini,
    Vendor::Vertex,
];

/// The messages that several endpoints share.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageFormat {
    Chat,
    Responses,
    Claude,
    Gemini,
}

/// What is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Question {
    pub(crate) prompt: String,
    pub(crate) limit: u64,
    /// Whether there are tools.
    pub(crate) tools: bool,
    /// Whether the model thinks and shows it.
    pub(crate) thinks: bool,
    /// Another model than the usual ones.
    pub(crate) model: Option<&'static str>,
    /// An answer whose calls were carried out.
    pub(crate) answered: Option<DecodedAnswer>,
    /// What the user says behind the results.
    pub(crate) behind: Option<String>,
}

/// What was answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecodedAnswer {
    pub(crate) thought: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, Value)>,
    pub(crate) ending: Ending,
    /// All input, the cache's part included.
    pub(crate) input: u64,
    pub(crate) cached: u64,
    /// All output, thoughts included.
    pub(crate) output: u64,
    /// The answer in the vendor's form, to be sent back.
    pub(crate) raw: Value,
}

/// Why it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    #[default]
    Other,
    Stop,
    Length,
    Calls,
    Refusal,
}

// === impl Question ===

impl Question {
    pub(crate) fn new(prompt: &str) -> Self {
        Self {
            prompt: prompt.to_owned(),
            limit: 500,
            ..Self::default()
        }
    }

    fn model(&self) -> &'static str {
        let usual = if self.thinks {
            "sim-reason"
        } else {
            "sim-small"
        };
        self.model.unwrap_or(usual)
    }
}

// === impl Vendor ===

impl Vendor {
    fn message_format(self) -> MessageFormat {
        match self {
            Self::Chat | Self::AzureChat => MessageFormat::Chat,
            Self::Responses | Self::AzureResponses => MessageFormat::Responses,
            Self::Anthropic | Self::Bedrock | Self::VertexAnthropic => MessageFormat::Claude,
            Self::Gemini | Self::Vertex => MessageFormat::Gemini,
        }
    }

    fn path(self, model: &str, streams: bool) -> String {
        let place = "/v1/projects/project-1/locations/us-central1/publishers";
        let (content, predict, invoke) = if streams {
            let content = "streamGenerateContent?alt=sse";
            (content, "streamRawPredict", "invoke-with-response-stream")
        } else {
            ("generateContent", "rawPredict", "invoke")
        };
        match self {
            Self::Chat => "/v1/chat/completions".to_owned(),
            Self::AzureChat => {
                format!("/openai/deployments/{model}/chat/completions?api-version=2024-10-21")
            }
            Self::Responses => "/v1/responses".to_owned(),
            Self::AzureResponses => "/openai/v1/responses".to_owned(),
            Self::Anthropic => "/v1/messages".to_owned(),
            Self::Bedrock => format!("/model/{model}/{invoke}"),
            Self::VertexAnthropic => format!("{place}/anthropic/models/{model}:{predict}"),
            Self::Gemini => format!("/v1beta/models/{model}:{content}"),
            Self::Vertex => format!("{place}/google/models/{model}:{content}"),
        }
    }

    fn head(self) -> &'static str {
        match self {
            Self::Chat | Self::Responses | Self::Bedrock | Self::VertexAnthropic | Self::Vertex => {
                "authorization: Bearer sk-test-1234\r\ncontent-type: application/json\r\n"
            }
            Self::AzureChat | Self::AzureResponses => {
                "api-key: azure-1234\r\ncontent-type: application/json\r\n"
            }
            Self::Anthropic => "x-api-key: sk-ant-1234\r\nanthropic-version: 2023-06-01\r\n",
            Self::Gemini => "x-goog-api-key: AIza-1234\r\n",
        }
    }

    /// Posts a body, with what this endpoint wants in it beside the question.
    pub(crate) async fn post(
        self,
        simulator: &Simulator,
        model: &str,
        mut body: Value,
        streams: bool,
    ) -> Response {
        match self {
            Self::Chat | Self::AzureChat => {
                body["model"] = json!(model);
                if streams {
                    body["stream"] = json!(true);
                    body["stream_options"] = json!({"include_usage": true});
                }
            }
            Self::Responses | Self::AzureResponses | Self::Anthropic => {
                body["model"] = json!(model);
                body["stream"] = json!(streams);
            }
            Self::Bedrock => body["anthropic_version"] = json!("bedrock-2023-05-31"),
            Self::VertexAnthropic => {
                body["anthropic_version"] = json!("vertex-2023-10-16");
                body["stream"] = json!(streams);
            }
            Self::Gemini | Self::Vertex => {}
        }
        let path = self.path(model, streams);
        let body = body.to_string();
        ask(simulator, "POST", &path, self.head(), body.as_bytes()).await
    }

    pub(crate) async fn send(
        self,
        simulator: &Simulator,
        question: &Question,
        streams: bool,
    ) -> Response {
        let body = match self.message_format() {
            MessageFormat::Chat => chat_body(question),
            MessageFormat::Responses => responses_body(question),
            MessageFormat::Claude => claude_body(question),
            MessageFormat::Gemini => gemini_body(question),
        };
        self.post(simulator, question.model(), body, streams).await
    }

    /// Asks and understands; anything but a good answer ends the test.
    pub(crate) async fn ask(
        self,
        simulator: &Simulator,
        question: &Question,
        streams: bool,
    ) -> DecodedAnswer {
        let got = self.send(simulator, question, streams).await;
        let reply = String::from_utf8_lossy(&got.body).into_owned();
        assert_eq!(got.status, 200, "{self:?} {}: {reply}", question.prompt);
        let answer = match (self.message_format(), streams) {
            (_, false) => got.json(),
            (MessageFormat::Chat, true) => stream_fold::chat(&got.chunks()),
            (MessageFormat::Responses, true) => stream_fold::responses(&got.events()),
            (MessageFormat::Claude, true) if self == Self::Bedrock => {
                let (messages, rest) = framed(&got.body);
                assert!(rest.is_empty(), "{rest:?}");
                let events: Vec<Value> = messages.iter().map(|one| one.event()).collect();
                stream_fold::claude(&events)
            }
            (MessageFormat::Claude, true) => {
                let events = got.events().into_iter().map(|(_, data)| data);
                stream_fold::claude(&events.collect::<Vec<Value>>())
            }
            (MessageFormat::Gemini, true) => stream_fold::gemini(&got.chunks()),
        };
        match self.message_format() {
            MessageFormat::Chat => stream_fold::hear_chat(answer),
            MessageFormat::Responses => stream_fold::hear_responses(answer),
            MessageFormat::Claude => stream_fold::hear_claude(answer),
            MessageFormat::Gemini => stream_fold::hear_gemini(answer),
        }
    }
}

/// The schemas of the two tools, in JSON Schema as a translating gateway writes it.
fn tools() -> [(&'static str, Value); 2] {
    let read = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": {"path": {"type": "string"}}, "required": ["path"],
        "additionalProperties": false});
    let list = json!({"type": "object", "properties": {"deep": {"type": "boolean"}},
        "required": ["deep"]});
    [("Read", read), ("list", list)]
}

fn chat_body(question: &Question) -> Value {
    let mut messages = vec![json!({"role": "user", "content": question.prompt})];
    if let Some(answered) = &question.answered {
        let message = &answered.raw["choices"][0]["message"];
        messages.push(message.clone());
        for call in message["tool_calls"].as_array().unwrap() {
            messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "done"}));
        }
        messages.push(json!({"role": "system", "content": "a remark of the agent"}));
    }
    let behind = question.behind.iter();
    messages.extend(behind.map(|text| json!({"role": "user", "content": text})));
    let mut body = json!({"messages": messages, "max_completion_tokens": question.limit});
    if question.tools {
        let function = |(name, schema)| json!({"type": "function", "function": {"name": name, "parameters": schema}});
        body["tools"] = tools().map(function).into_iter().collect();
    }
    if question.thinks {
        body["reasoning_effort"] = json!("high");
    }
    body
}

fn responses_body(question: &Question) -> Value {
    let mut input = vec![json!({"role": "user", "content": question.prompt})];
    if let Some(answered) = &question.answered {
        let items = answered.raw["output"].as_array().unwrap();
        input.extend(items.iter().cloned());
        for call in items.iter().filter(|item| item["type"] == "function_call") {
            input.push(
                json!({"type": "function_call_output", "call_id": call["call_id"],
                "output": "done"}),
            );
        }
        input.push(json!({"role": "developer", "content": "a remark of the agent"}));
    }
    let behind = question.behind.iter();
    input.extend(behind.map(|text| json!({"role": "user", "content": text})));
    let mut body = json!({"input": input, "max_output_tokens": question.limit, "store": false});
    if question.tools {
        let function = |(name, schema)| json!({"type": "function", "name": name, "parameters": schema, "strict": false});
        body["tools"] = tools().map(function).into_iter().collect();
    }
    if question.thinks {
        body["reasoning"] = json!({"effort": "high", "summary": "auto"});
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    body
}

fn claude_body(question: &Question) -> Value {
    let mut messages = vec![json!({"role": "user", "content": question.prompt})];
    if let Some(answered) = &question.answered {
        let blocks = &answered.raw["content"];
        messages.push(json!({"role": "assistant", "content": blocks}));
        let calls = blocks.as_array().unwrap().iter();
        let mut results: Vec<Value> = calls
            .filter(|block| block["type"] == "tool_use")
            .map(
                |call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "done"}),
            )
            .collect();
        let behind = question.behind.iter();
        results.extend(behind.map(|text| json!({"type": "text", "text": text})));
        messages.push(json!({"role": "user", "content": results}));
    }
    let mut body = json!({"messages": messages, "max_tokens": question.limit});
    if question.tools {
        let tool = |(name, schema)| json!({"name": name, "input_schema": schema});
        body["tools"] = tools().map(tool).into_iter().collect();
    }
    if question.thinks {
        body["thinking"] = json!({"type": "adaptive", "display": "summarized"});
        body["output_config"] = json!({"effort": "high"});
    }
    body
}

fn gemini_body(question: &Question) -> Value {
    let mut contents = vec![json!({"role": "user", "parts": [{"text": question.prompt}]})];
    if let Some(answered) = &question.answered {
        let content = &answered.raw["candidates"][0]["content"];
        contents.push(content.clone());
        let parts = content["parts"].as_array().unwrap().iter();
        let mut results: Vec<Value> = parts
            .filter(|part| part["functionCall"].is_object())
            .map(|part| {
                json!({"functionResponse": {"name": part["functionCall"]["name"],
                    "response": {"output": "done"}}})
            })
            .collect();
        results.push(json!({"text": "a remark of the agent"}));
        results.extend(question.behind.iter().map(|text| json!({"text": text})));
        contents.push(json!({"role": "user", "parts": results}));
    }
    let mut body = json!({"contents": contents,
        "generationConfig": {"maxOutputTokens": question.limit}});
    if question.tools {
        let function = |(name, schema)| json!({"name": name, "parametersJsonSchema": schema});
        let functions: Value = tools().map(function).into_iter().collect();
        body["tools"] = json!([{"functionDeclarations": functions}]);
    }
    if question.thinks {
        body["generationConfig"]["thinkingConfig"] =
            json!({"includeThoughts": true, "thinkingLevel": "HIGH"});
    }
    body
}
