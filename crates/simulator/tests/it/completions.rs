//! Good answers: counts that a client can check, directives, tools, structured output.

use serde_json::{Value, json};

use crate::client::{asking, chat, served, started, streaming};

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

#[tokio::test]
async fn a_whole_answer_has_a_word_for_each_token_it_tells() {
    let simulator = started().await;
    let got = chat(
        &simulator,
        &asking("one two three four five six [[id:abc]]"),
    )
    .await;
    assert_eq!(got.status, 200);
    let answer = got.json();
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(content, "sim1 sim2 sim3 sim4 sim5 sim6 ");
    // 38 bytes of text, one message.
    assert_eq!(answer["usage"]["prompt_tokens"], 10 + 3);
    assert_eq!(answer["usage"]["completion_tokens"], 6);
    assert_eq!(answer["usage"]["total_tokens"], 19);
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!(record.number, 1);
    assert_eq!(record.marker.as_deref(), Some("abc"));
    assert_eq!(record.key, "1234");
    assert_eq!(record.model, "sim-small");
    assert_eq!(record.path, "/v1/chat/completions");
    assert_eq!((record.prompt_tokens, record.completion_tokens), (13, 6));
    assert_eq!(record.told_usage, Some((13, 6)));
    assert_eq!((record.status, record.client_left), (200, false));
    assert!(record.body.starts_with(b"{\"messages\""));
    let key = ("authorization".to_owned(), "1234".to_owned());
    assert!(record.headers.contains(&key));
}

#[tokio::test]
async fn a_stream_opens_speaks_finishes_tells_usage_and_says_done() {
    let simulator = started().await;
    let got = chat(&simulator, &streaming("[[tokens:3]]")).await;
    assert!(got.is_whole);
    let chunks = got.chunks();
    assert_eq!(chunks.len(), 6);
    let opening = json!({"role": "assistant", "content": "", "refusal": null});
    assert_eq!(chunks[0]["choices"][0]["delta"], opening);
    assert_eq!(got.content(), "sim1 sim2 sim3 ");
    assert_eq!(chunks[4]["choices"][0]["finish_reason"], "stop");
    assert_eq!(chunks[4]["choices"][0]["delta"], json!({}));
    assert_eq!(chunks[5]["choices"], json!([]));
    assert_eq!(chunks[5]["usage"]["completion_tokens"], 3);
    for chunk in &chunks[..5] {
        assert!(chunk.as_object().unwrap().contains_key("usage"));
        assert_eq!(chunk["usage"], Value::Null);
    }
    assert_eq!(got.frames().last().unwrap(), "[DONE]");
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!((record.completion_tokens, record.stream), (3, true));
    assert_eq!(record.told_usage, Some((record.prompt_tokens, 3)));
}

#[tokio::test]
async fn without_the_option_no_frame_speaks_of_usage() {
    let simulator = started().await;
    let mut body = streaming("hello");
    body.as_object_mut().unwrap().remove("stream_options");
    let got = chat(&simulator, &body).await;
    assert!(!got.text().contains("usage"));
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!((record.completion_tokens, record.told_usage), (5, None));
}

#[tokio::test]
async fn headers_are_those_of_the_vendor() {
    let simulator = started().await;
    let whole = chat(&simulator, &asking("hello")).await;
    let stream = chat(&simulator, &streaming("hello")).await;
    assert_eq!(whole.header("content-type"), Some("application/json"));
    let kind = "text/event-stream; charset=utf-8";
    assert_eq!(stream.header("content-type"), Some(kind));
    for got in [&whole, &stream] {
        assert_eq!(got.header("openai-version"), Some("2020-10-01"));
        assert!(got.header("x-request-id").unwrap().starts_with("req_"));
        for name in [
            "openai-processing-ms",
            "x-ratelimit-limit-requests",
            "x-ratelimit-limit-tokens",
            "x-ratelimit-remaining-requests",
            "x-ratelimit-remaining-tokens",
            "x-ratelimit-reset-requests",
            "x-ratelimit-reset-tokens",
        ] {
            assert!(got.header(name).is_some(), "{name}");
        }
    }
}

#[tokio::test]
async fn limits_cut_the_answer_and_say_so() {
    let simulator = started().await;
    for (name, limit, requested, reason) in [
        ("max_tokens", 4, 4, "stop"),
        ("max_tokens", 3, 4, "length"),
        ("max_completion_tokens", 3, 4, "length"),
    ] {
        let mut body = asking(&format!("[[tokens:{requested}]]"));
        body[name] = json!(limit);
        let answer = chat(&simulator, &body).await.json();
        assert_eq!(answer["choices"][0]["finish_reason"], reason);
        assert_eq!(answer["usage"]["completion_tokens"], limit.min(requested));
    }
}

#[tokio::test]
async fn several_choices_multiply_the_tokens() {
    let simulator = started().await;
    let mut body = streaming("[[tokens:4]]");
    body["n"] = json!(3);
    let got = chat(&simulator, &body).await;
    let chunks = got.chunks();
    assert_eq!(chunks.last().unwrap()["usage"]["completion_tokens"], 12);
    let last = chunks.iter().rev().nth(1).unwrap();
    assert_eq!(last["choices"][0]["index"], 2);
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!(record.completion_tokens, 12);
}

#[tokio::test]
async fn reasoning_is_counted_everywhere_and_shown_by_reasoning_models() {
    let simulator = started().await;
    let prompt = "[[tokens:2]] [[reasoning:3]] [[cached:1]]";
    for (model, response) in [
        ("sim-small", None),
        ("sim-reason-x", Some("sim1 sim2 sim3 ")),
    ] {
        simulator.clear_requests();
        let mut body = asking(prompt);
        body["model"] = json!(model);
        let answer = chat(&simulator, &body).await.json();
        let message = &answer["choices"][0]["message"];
        assert_eq!(message["reasoning_content"].as_str(), response);
        let usage = &answer["usage"];
        assert_eq!(usage["completion_tokens"], 5);
        assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 3);
        assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 1);
        simulator.clear_requests();
        let mut body = streaming(prompt);
        body["model"] = json!(model);
        let got = chat(&simulator, &body).await;
        assert_eq!(got.text().contains("reasoning_content"), response.is_some());
        let record = served(&simulator, |served| served.finished).await;
        assert_eq!(record.completion_tokens, 5);
    }
}

#[tokio::test]
async fn a_tool_is_called_when_the_prompt_or_the_choice_says_so() {
    let simulator = started().await;
    let tool = json!({"type": "function", "function": {"name": "get_weather", "parameters":
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}});
    let named = json!({"type": "function", "function": {"name": "get_weather"}});
    for (prompt, choice, calls) in [
        ("[[tool:get_weather]]", json!("auto"), true),
        ("[[tool:other]]", json!("auto"), false),
        ("[[tool:get_weather]]", json!("none"), false),
        ("hello", json!("auto"), false),
        ("hello", json!("required"), true),
        ("hello", named, true),
    ] {
        simulator.clear_requests();
        let mut body = streaming(prompt);
        body["tools"] = json!([tool]);
        body["tool_choice"] = choice.clone();
        let got = chat(&simulator, &body).await;
        let chunks = got.chunks();
        let opening = &chunks[0]["choices"][0]["delta"];
        assert_eq!(opening["tool_calls"].is_array(), calls, "{prompt} {choice}");
        if !calls {
            continue;
        }
        assert_eq!(opening["tool_calls"][0]["function"]["name"], "get_weather");
        assert_eq!(opening["content"], Value::Null);
        let call = |chunk: &Value| chunk["choices"][0]["delta"]["tool_calls"][0].clone();
        let arguments: String = chunks
            .iter()
            .filter_map(|chunk| {
                call(chunk)["function"]["arguments"]
                    .as_str()
                    .map(str::to_owned)
            })
            .collect();
        let read: Value = serde_json::from_str(&arguments).unwrap();
        assert_eq!(read, json!({"city": "sim"}));
        let reported = &chunks.last().unwrap()["usage"]["completion_tokens"];
        assert_eq!(reported.as_u64().unwrap(), 1 + words(&arguments) as u64);
        let record = served(&simulator, |served| served.finished).await;
        assert_eq!(Some(record.completion_tokens), reported.as_u64());
    }
}

#[tokio::test]
async fn a_tool_is_not_called_again_after_its_result() {
    let simulator = started().await;
    let body = json!({"model": "sim-small", "tools": [
        {"type": "function", "function": {"name": "f"}}], "messages": [
        {"role": "user", "content": "[[tool:f]]"},
        {"role": "assistant", "content": null, "annotations": [], "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "fine"}]});
    let answer = chat(&simulator, &body).await.json();
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
}

#[tokio::test]
async fn structured_output_fits_its_schema_and_counts_its_words() {
    let simulator = started().await;
    let mut body = asking("a document");
    body["response_format"] = json!({"type": "json_schema", "json_schema": {"name": "doc",
        "strict": true, "schema": {"type": "object", "required": ["a"],
        "properties": {"a": {"type": "integer"}}}}});
    let answer = chat(&simulator, &body).await.json();
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(content).unwrap(),
        json!({"a": 7})
    );
    assert_eq!(answer["usage"]["completion_tokens"], words(content));
    let mut body = asking("some JSON please");
    body["response_format"] = json!({"type": "json_object"});
    let answer = chat(&simulator, &body).await.json();
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(serde_json::from_str::<Value>(content).unwrap().is_object());
}

#[tokio::test]
async fn an_image_costs_its_tokens() {
    let simulator = started().await;
    let body = json!({"model": "sim-vision", "messages": [{"role": "user", "content": [
        {"type": "text", "text": "what is this"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}]}]});
    let answer = chat(&simulator, &body).await.json();
    assert_eq!(answer["usage"]["prompt_tokens"], 3 + 3 + 85);
}

#[tokio::test]
async fn a_pace_spaces_the_frames() {
    let simulator = started().await;
    let before = std::time::Instant::now();
    let got = chat(&simulator, &streaming("[[tokens:5]] [[pace:20]]")).await;
    assert!(got.is_whole);
    // Nine frames, eight pauses.
    assert!(before.elapsed().as_millis() >= 160);
}
