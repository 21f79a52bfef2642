//! Messages of Anthropic's models: order of events, usage, blocks, and the counts of the record.

use serde_json::{Value, json};
use trunkline_simulator::Simulator;

use crate::client::{Response, ask, served, started};

pub(crate) const HEAD: &str = "x-api-key: sk-ant-1234\r\nanthropic-version: 2023-06-01\r\n\
     content-type: application/json\r\n";

pub(crate) fn asking(prompt: &str) -> Value {
    json!({"model": "sim-small", "max_tokens": 1000,
        "messages": [{"role": "user", "content": prompt}]})
}

pub(crate) fn streaming(prompt: &str) -> Value {
    let mut body = asking(prompt);
    body["stream"] = json!(true);
    body
}

pub(crate) fn with_tools(mut body: Value) -> Value {
    let tool = |name: &str| {
        json!({"name": name, "input_schema": {"type": "object",
            "properties": {"city": {"type": "string"}}, "required": ["city"]}})
    };
    body["tools"] = json!([tool("get_weather"), tool("get_tide")]);
    body
}

pub(crate) async fn message(simulator: &Simulator, body: &Value) -> Response {
    let bytes = body.to_string();
    ask(simulator, "POST", "/v1/messages", HEAD, bytes.as_bytes()).await
}

/// The events of a stream: the name on each line, and its data.
pub(crate) fn events(got: &Response) -> Vec<(String, Value)> {
    let text = String::from_utf8_lossy(&got.body).replace("\r\n", "\n");
    let frames = text.split("\n\n").filter_map(|frame| {
        let (name, data) = frame.strip_prefix("event: ")?.split_once("\ndata: ")?;
        let data = serde_json::from_str(data).unwrap_or(Value::Null);
        Some((name.to_owned(), data))
    });
    frames.collect()
}

fn names(got: &Response) -> Vec<String> {
    events(got).into_iter().map(|(name, _)| name).collect()
}

fn joined(events: &[(String, Value)], index: usize, field: &str) -> String {
    let deltas = events
        .iter()
        .filter(|(name, data)| name == "content_block_delta" && data["index"] == index);
    deltas
        .filter_map(|(_, data)| data["delta"][field].as_str())
        .collect()
}

#[tokio::test]
async fn a_whole_message_has_a_word_for_each_token_it_tells() {
    let simulator = started().await;
    let got = message(
        &simulator,
        &asking("one two three four five six [[id:abc]]"),
    )
    .await;
    let answer = got.json();
    assert_eq!(got.status, 200, "{answer}");
    assert_eq!(
        answer["content"],
        json!([{"type": "text", "text": "sim1 sim2 sim3 sim4 sim5 sim6 "}])
    );
    // 38 bytes of text, one message.
    assert_eq!(answer["usage"]["input_tokens"], 10 + 3);
    assert_eq!(answer["usage"]["output_tokens"], 6);
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!(record.marker.as_deref(), Some("abc"));
    assert_eq!(
        (record.key.as_str(), record.model.as_str()),
        ("1234", "sim-small")
    );
    assert_eq!(record.path, "/v1/messages");
    assert_eq!((record.prompt_tokens, record.completion_tokens), (13, 6));
    assert_eq!(record.told_usage, Some((13, 6)));
    let key = ("x-api-key".to_owned(), "1234".to_owned());
    assert!(record.headers.contains(&key));
}

#[tokio::test]
async fn events_come_in_the_vendors_order_and_name_their_type() {
    let simulator = started().await;
    let got = message(&simulator, &streaming("[[tokens:2]] [[citations:1]]")).await;
    assert!(got.is_whole);
    assert_eq!(
        names(&got),
        [
            "message_start",
            "content_block_start",
            "ping",
            "content_block_delta",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    let events = events(&got);
    for (name, data) in &events {
        assert_eq!(data["type"], name.as_str());
    }
    let start = &events[0].1["message"];
    assert_eq!(start["content"], json!([]));
    assert_eq!(start["stop_reason"], Value::Null);
    assert_eq!(start["usage"]["output_tokens"], 1);
    assert_eq!(joined(&events, 0, "text"), "sim1 sim2 ");
    assert_eq!(events[5].1["delta"]["type"], "citations_delta");
    let end = &events[7].1;
    assert_eq!(end["delta"]["stop_reason"], "end_turn");
    assert_eq!(end["usage"]["output_tokens"], 2);
    assert_eq!(end["usage"]["input_tokens"], start["usage"]["input_tokens"]);
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!((record.completion_tokens, record.stream), (2, true));
    assert_eq!(record.told_usage, Some((record.prompt_tokens, 2)));
}

#[tokio::test]
async fn reasoning_text_and_calls_are_separate_blocks_with_counted_tokens() {
    let simulator = started().await;
    let prompt = "[[reasoning:3]] [[redacted:2]] [[tokens:4]] [[tools:get_tide,get_weather]]";
    let mut body = with_tools(streaming(prompt));
    body["max_tokens"] = json!(5000);
    body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    let got = message(&simulator, &body).await;
    let all = events(&got);
    let kinds: Vec<&Value> = all
        .iter()
        .filter(|(name, _)| name == "content_block_start")
        .map(|(_, data)| &data["content_block"]["type"])
        .collect();
    assert_eq!(
        kinds,
        [
            "thinking",
            "redacted_thinking",
            "text",
            "tool_use",
            "tool_use"
        ]
    );
    assert_eq!(joined(&all, 0, "thinking"), "sim1 sim2 sim3 ");
    assert!(!joined(&all, 0, "signature").is_empty());
    let input: Value = serde_json::from_str(&joined(&all, 3, "partial_json")).unwrap();
    assert_eq!(input, json!({"city": "sim"}));
    // A piece that ends inside a word shows that no reader may parse pieces alone.
    let pieces: Vec<&str> = all
        .iter()
        .filter_map(|(_, data)| data["delta"]["partial_json"].as_str())
        .collect();
    assert!(pieces.contains(&"") && pieces.iter().any(|piece| piece.ends_with("\"cit")));
    let end = &all[all.len() - 2].1;
    assert_eq!(end["delta"]["stop_reason"], "tool_use");
    // 3 and 2 of thinking, 4 words, and for each call its name and four words of JSON.
    assert_eq!(end["usage"]["output_tokens"], 3 + 2 + 4 + 2 * 5);
    assert_eq!(end["usage"]["output_tokens_details"]["thinking_tokens"], 5);
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!(record.completion_tokens, 19);
}

#[tokio::test]
async fn a_tool_is_called_when_choice_or_prompt_say_so_and_once_if_asked() {
    let simulator = started().await;
    for (choice, prompt, called) in [
        (json!({"type": "auto"}), "hello", vec![]),
        (
            json!({"type": "auto"}),
            "[[tool:get_tide]]",
            vec!["get_tide"],
        ),
        (json!({"type": "none"}), "[[tool:get_tide]]", vec![]),
        (json!({"type": "any"}), "hello", vec!["get_weather"]),
        (
            json!({"type": "any"}),
            "[[tools:get_tide,get_weather]]",
            vec!["get_tide", "get_weather"],
        ),
        (
            json!({"type": "any", "disable_parallel_tool_use": true}),
            "[[tools:get_tide,get_weather]]",
            vec!["get_tide"],
        ),
        (
            json!({"type": "tool", "name": "get_tide"}),
            "hello",
            vec!["get_tide"],
        ),
    ] {
        let mut body = with_tools(asking(prompt));
        body["tool_choice"] = choice.clone();
        let answer = message(&simulator, &body).await.json();
        let blocks = answer["content"].as_array().unwrap();
        let names: Vec<&str> = blocks
            .iter()
            .filter_map(|block| block["name"].as_str())
            .collect();
        assert_eq!(names, called, "{choice} {prompt}");
        let reason = if called.is_empty() {
            "end_turn"
        } else {
            "tool_use"
        };
        assert_eq!(answer["stop_reason"], reason);
    }
}

#[tokio::test]
async fn a_cached_prefix_is_written_once_and_read_by_its_key_and_model() {
    let simulator = started().await;
    let mut body = asking("hello");
    let text = "word ".repeat(1000);
    let marked = |ttl: &str| {
        json!([{"type": "text", "text": text,
        "cache_control": {"type": "ephemeral", "ttl": ttl}}])
    };
    body["system"] = marked("1h");
    let usage = async |body: &Value| {
        let answer = message(&simulator, body).await.json();
        let usage = &answer["usage"];
        (
            usage["input_tokens"].as_u64().unwrap(),
            usage["cache_read_input_tokens"].as_u64().unwrap(),
            usage["cache_creation"]["ephemeral_5m_input_tokens"]
                .as_u64()
                .unwrap(),
            usage["cache_creation"]["ephemeral_1h_input_tokens"]
                .as_u64()
                .unwrap(),
        )
    };
    // 5005 bytes and one message are 1255 tokens; 1250 of them end at the mark.
    assert_eq!(usage(&body).await, (5, 0, 0, 1250));
    assert_eq!(usage(&body).await, (5, 1250, 0, 0));
    body["model"] = json!("sim-large");
    assert_eq!(usage(&body).await, (5, 0, 0, 1250));
    // The same blocks under another mark are the same prefix.
    body["system"] = marked("5m");
    assert_eq!(usage(&body).await, (5, 1250, 0, 0));
    body["system"][0]["text"] = json!(format!("{text}!"));
    // One byte more is rounded up at the mark, so one token less is left behind it.
    assert_eq!(usage(&body).await, (4, 0, 1251, 0));
}

#[tokio::test]
async fn a_prompt_can_set_all_parts_of_the_input_and_they_stay_disjoint() {
    let simulator = started().await;
    let prompt = "[[cached:5]] [[written_5m:4]] [[written_1h:3]] and some more words";
    let answer = message(&simulator, &asking(prompt)).await.json();
    let usage = &answer["usage"];
    let total = u64::try_from(prompt.len()).unwrap().div_ceil(4) + 3;
    assert_eq!(usage["cache_read_input_tokens"], 5);
    assert_eq!(usage["cache_creation_input_tokens"], 7);
    assert_eq!(usage["cache_creation"]["ephemeral_5m_input_tokens"], 4);
    assert_eq!(usage["cache_creation"]["ephemeral_1h_input_tokens"], 3);
    assert_eq!(usage["input_tokens"], total - 12);
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!(record.prompt_tokens, total);
    assert_eq!(
        (
            record.cache_read_tokens,
            record.cache_written_5m_tokens,
            record.cache_written_1h_tokens
        ),
        (5, 4, 3)
    );
}

#[tokio::test]
async fn a_count_is_the_prompt_of_the_same_message_and_no_completion() {
    let simulator = started().await;
    let mut body = with_tools(asking("[[fault:no_usage]] hello"));
    body["system"] = json!("be short");
    let mut counting = body.clone();
    counting.as_object_mut().unwrap().remove("max_tokens");
    let path = "/v1/messages/count_tokens?beta=true";
    let bytes = counting.to_string();
    let counted = ask(&simulator, "POST", path, HEAD, bytes.as_bytes()).await;
    assert_eq!(counted.status, 200);
    message(&simulator, &body).await;
    let truth = simulator.requests();
    assert_eq!(
        counted.json(),
        json!({"input_tokens": truth[1].prompt_tokens})
    );
    assert_eq!((truth[0].prompt_tokens, truth[0].completion_tokens), (0, 0));
    assert_eq!(truth[0].path, "/v1/messages/count_tokens");
}

#[tokio::test]
async fn limits_stop_words_and_the_prompt_each_give_their_reason() {
    let simulator = started().await;
    let tool = json!({"type": "tool", "name": "get_tide"});
    for (change, value, prompt, reason, tokens) in [
        ("max_tokens", json!(4), "[[tokens:4]]", "end_turn", 4),
        ("max_tokens", json!(3), "[[tokens:4]]", "max_tokens", 3),
        ("max_tokens", json!(3), "[[reasoning:4]]", "max_tokens", 3),
        ("tool_choice", tool, "hello", "tool_use", 5),
        (
            "stop_sequences",
            json!(["none", "sim3"]),
            "[[tokens:9]]",
            "stop_sequence",
            2,
        ),
        ("top_k", json!(1), "[[stop:refusal]]", "refusal", 5),
        ("top_k", json!(1), "[[stop:pause_turn]]", "pause_turn", 5),
        (
            "top_k",
            json!(1),
            "[[stop:model_context_window_exceeded]]",
            "model_context_window_exceeded",
            5,
        ),
    ] {
        let mut body = with_tools(asking(prompt));
        body[change] = value;
        let whole = message(&simulator, &body).await.json();
        assert_eq!(whole["stop_reason"], reason, "{whole}");
        assert_eq!(whole["usage"]["output_tokens"], tokens, "{whole}");
        body["stream"] = json!(true);
        let all = events(&message(&simulator, &body).await);
        let end = &all[all.len() - 2].1;
        assert_eq!(end["delta"]["stop_reason"], reason);
        assert_eq!(end["delta"]["stop_sequence"], whole["stop_sequence"]);
        assert_eq!(end["usage"]["output_tokens"], tokens);
    }
}

#[tokio::test]
async fn a_call_cut_by_the_limit_has_an_empty_input_and_says_so() {
    let simulator = started().await;
    let mut body = with_tools(asking("[[tool:get_tide]]"));
    body["max_tokens"] = json!(2);
    let answer = message(&simulator, &body).await.json();
    assert_eq!(answer["stop_reason"], "max_tokens");
    assert_eq!(answer["content"][0]["input"], json!({}));
    assert_eq!(answer["usage"]["output_tokens"], 2);
}

#[tokio::test]
async fn a_schema_is_obeyed() {
    let simulator = started().await;
    let mut body = asking("hello");
    body["output_config"] = json!({"effort": "low", "format": {"type": "json_schema",
        "schema": {"type": "object", "additionalProperties": false,
            "properties": {"age": {"type": "integer"}}, "required": ["age"]}}});
    let answer = message(&simulator, &body).await.json();
    let text = answer["content"][0]["text"].as_str().unwrap();
    let parsed: Value = serde_json::from_str(text).unwrap();
    assert_eq!(parsed, json!({"age": 7}));
}

#[tokio::test]
async fn a_body_as_claude_code_sends_it_is_taken() {
    let simulator = started().await;
    let mark = json!({"type": "ephemeral"});
    let mut body = with_tools(streaming("[[tokens:2]]"));
    body["tools"][1]["cache_control"] = mark.clone();
    body["system"] = json!([{"type": "text", "text": "You are a tool."},
        {"type": "text", "text": "Be short.", "cache_control": mark}]);
    body["thinking"] = json!({"type": "adaptive"});
    body["output_config"] = json!({"effort": "medium"});
    body["context_management"] = json!({"edits": [{"type": "clear_thinking_20251015"}]});
    body["metadata"] = json!({"user_id": "{\"device_id\":\"1\"}"});
    let head = format!(
        "authorization: Bearer sk-1\r\nanthropic-version: 2023-06-01\r\n\
         anthropic-beta: claude-code-20250219,context-management-2025-06-27\r\n{}",
        "content-type: application/json\r\n"
    );
    let bytes = body.to_string();
    let path = "/v1/messages?beta=true";
    let got = ask(&simulator, "POST", path, &head, bytes.as_bytes()).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let all = events(&got);
    assert_eq!(joined(&all, 0, "thinking"), "sim1 sim2 sim3 sim4 ");
    assert_eq!(joined(&all, 1, "text"), "sim1 sim2 ");
}
