//! Google's Gemini API over a real socket: answers, streams, tools, counts and models.

use serde_json::{Value, json};
use trunkline_simulator::{Settings, Simulator};

use crate::client::{Response, ask, served, started};

pub(crate) const KEY: &str = "x-goog-api-key: AIza-test-1234\r\n";

pub(crate) async fn call(simulator: &Simulator, model: &str, verb: &str, body: &Value) -> Response {
    let path = format!("/v1beta/models/{model}:{verb}");
    ask(simulator, "POST", &path, KEY, body.to_string().as_bytes()).await
}

pub(crate) async fn whole(simulator: &Simulator, body: &Value) -> Response {
    call(simulator, "sim-small", "generateContent", body).await
}

pub(crate) async fn events(simulator: &Simulator, body: &Value) -> Response {
    call(
        simulator,
        "sim-small",
        "streamGenerateContent?alt=sse",
        body,
    )
    .await
}

pub(crate) fn saying(prompt: &str) -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": prompt}]}]})
}

pub(crate) fn with_tools(prompt: &str) -> Value {
    let mut body = saying(prompt);
    body["tools"] = json!([{"functionDeclarations": [
        {"name": "get_weather", "parameters": {"type": "OBJECT",
            "properties": {"city": {"type": "STRING"}}, "required": ["city"]}},
        {"name": "get_time", "parametersJsonSchema": {"type": "object",
            "properties": {"zone": {"type": "string"}}}},
        {"name": "stop"}]}]);
    body
}

/// All text of a stream that is no thought.
pub(crate) fn text_of(chunks: &[Value]) -> String {
    let parts = chunks
        .iter()
        .map(|chunk| &chunk["candidates"][0]["content"]["parts"][0])
        .filter(|part| part["thought"] != true);
    parts.filter_map(|part| part["text"].as_str()).collect()
}

#[tokio::test]
async fn a_whole_answer_has_the_vendors_shape() {
    let simulator = started().await;
    let got = whole(&simulator, &saying("say seven words to me right now")).await;
    let answer = got.json();
    assert_eq!(got.status, 200, "{answer}");
    assert_eq!(
        got.header("content-type"),
        Some("application/json; charset=UTF-8")
    );
    assert_eq!(got.header("openai-version"), None);
    let candidate = &answer["candidates"][0];
    assert_eq!(candidate["finishReason"], "STOP");
    assert_eq!(candidate["content"]["role"], "model");
    assert_eq!(
        candidate["content"]["parts"],
        json!([{"text": "sim1 sim2 sim3 sim4 sim5 sim6 sim7 "}])
    );
    // 31 bytes are 8 tokens, and a message is 3.
    assert_eq!(
        answer["usageMetadata"],
        json!({"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 11}]})
    );
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!(
        (record.key.as_str(), record.model.as_str()),
        ("1234", "sim-small")
    );
    assert_eq!((record.prompt_tokens, record.completion_tokens), (11, 7));
    assert_eq!(record.told_usage, Some((11, 7)));
    assert!(!format!("{:?}", record.headers).contains("AIza"));
}

#[tokio::test]
async fn a_stream_tells_growing_counts_in_every_chunk_and_has_no_end_mark() {
    let simulator = started().await;
    let got = events(&simulator, &saying("[[tokens:3]]")).await;
    assert_eq!(got.header("content-type"), Some("text/event-stream"));
    assert!(got.is_whole && !got.text().contains("[DONE]"));
    let chunks = got.chunks();
    let reported: Vec<_> = chunks
        .iter()
        .map(|chunk| chunk["usageMetadata"]["candidatesTokenCount"].as_u64())
        .collect();
    assert_eq!(reported, [Some(1), Some(2), Some(3), Some(3)]);
    let reasons: Vec<_> = chunks
        .iter()
        .map(|chunk| chunk["candidates"][0]["finishReason"].as_str())
        .collect();
    assert_eq!(reasons, [None, None, None, Some("STOP")]);
    assert_eq!(text_of(&chunks), "sim1 sim2 sim3 ");
    let ids: Vec<_> = chunks.iter().map(|chunk| &chunk["responseId"]).collect();
    assert!(ids.iter().all(|id| *id == ids[0] && id.is_string()));
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!((record.stream, record.completion_tokens), (true, 3));
}

#[tokio::test]
async fn without_events_a_stream_is_one_array_in_pieces() {
    let simulator = started().await;
    let body = saying("[[tokens:3]]");
    let got = call(&simulator, "sim-small", "streamGenerateContent", &body).await;
    assert_eq!(
        got.header("content-type"),
        Some("application/json; charset=UTF-8")
    );
    assert!(got.pieces.len() >= 4, "{:?}", got.pieces.len());
    let chunks = got.json();
    assert_eq!(text_of(chunks.as_array().unwrap()), "sim1 sim2 sim3 ");
    assert_eq!(chunks[3]["candidates"][0]["finishReason"], "STOP");
}

#[tokio::test]
async fn both_versions_and_a_key_in_the_query_are_accepted() {
    let simulator = started().await;
    for path in [
        "/v1/models/sim-small:generateContent?key=AIza-5678",
        "/v1beta/models/sim-small:generateContent?key=AIza-5678",
    ] {
        let body = saying("hello").to_string();
        let got = ask(&simulator, "POST", path, "", body.as_bytes()).await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
    let truth = simulator.requests();
    assert!(
        truth
            .iter()
            .all(|served| served.key == "5678" && !served.path.contains("AIza"))
    );
}

#[tokio::test]
async fn several_tools_are_called_at_once_and_answered_together() {
    let simulator = started().await;
    let body = with_tools("[[tool:get_weather]] [[tool:get_time]] [[tool:stop]] [[tool:missing]]");
    for verb in ["generateContent", "streamGenerateContent"] {
        let got = call(&simulator, "sim-small", verb, &body).await.json();
        let chunks = got.as_array().cloned().unwrap_or(vec![got]);
        let parts = chunks.iter().flat_map(|chunk| {
            let parts = chunk["candidates"][0]["content"]["parts"].as_array();
            parts.unwrap().clone()
        });
        let calls: Vec<Value> = parts
            .filter(|part| part.get("functionCall").is_some())
            .collect();
        let names: Vec<_> = calls
            .iter()
            .map(|part| &part["functionCall"]["name"])
            .collect();
        assert_eq!(names, ["get_weather", "get_time", "stop"]);
        assert_eq!(calls[0]["functionCall"]["args"], json!({"city": "sim"}));
        assert_eq!(calls[2]["functionCall"]["args"], json!({}));
        let ids: Vec<_> = calls
            .iter()
            .map(|part| part["functionCall"]["id"].as_str())
            .collect();
        assert!(ids[0].is_some() && ids[0] != ids[1], "{ids:?}");
        assert!(calls[0].get("thoughtSignature").is_none());
        let results: Vec<Value> = calls
            .iter()
            .map(|part| {
                json!({"functionResponse": {"name": part["functionCall"]["name"],
                "id": part["functionCall"]["id"], "response": {"ok": true}}})
            })
            .collect();
        let mut next = body.clone();
        let contents = next["contents"].as_array_mut().unwrap();
        contents.push(json!({"role": "model", "parts": calls}));
        contents.push(json!({"role": "user", "parts": results}));
        let answer = whole(&simulator, &next).await.json();
        let part = &answer["candidates"][0]["content"]["parts"][0];
        assert!(part["text"].is_string(), "{answer}");
    }
    let got = whole(&simulator, &with_tools("[[tool:stop]] [[ids:off]]"))
        .await
        .json();
    let part = &got["candidates"][0]["content"]["parts"][0];
    assert_eq!(*part, json!({"functionCall": {"name": "stop", "args": {}}}));
}

#[tokio::test]
async fn a_mode_decides_whether_a_function_is_called() {
    let simulator = started().await;
    for (config, prompt, called) in [
        (json!({"mode": "NONE"}), "[[tool:stop]]", Value::Null),
        (json!({"mode": "ANY"}), "hello", json!("get_weather")),
        (json!({"mode": "ANY"}), "[[tool:stop]]", json!("stop")),
        (
            json!({"mode": "any", "allowed_function_names": ["get_time"]}),
            "[[tool:stop]]",
            json!("get_time"),
        ),
        (json!({"mode": "VALIDATED"}), "hello", Value::Null),
        (json!({"mode": "AUTO"}), "[[tool:stop]]", json!("stop")),
    ] {
        let mut body = with_tools(prompt);
        body["tool_config"] = json!({"function_calling_config": config});
        let answer = whole(&simulator, &body).await.json();
        let part = &answer["candidates"][0]["content"]["parts"][0];
        assert_eq!(part["functionCall"]["name"], called, "{config}: {answer}");
    }
}

#[tokio::test]
async fn structured_output_fits_its_schema() {
    let simulator = started().await;
    let own = json!({"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "minimum": 9}}});
    let standard = json!({"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"const": 9}}});
    for (name, schema) in [("responseSchema", own), ("response_json_schema", standard)] {
        let mut body = saying("hello");
        body["generationConfig"] = json!({"responseMimeType": "application/json"});
        body["generationConfig"][name] = schema;
        let answer = whole(&simulator, &body).await.json();
        let text = answer["candidates"][0]["content"]["parts"][0]["text"].as_str();
        let made: Value = serde_json::from_str(text.unwrap()).unwrap();
        assert_eq!(made["n"].as_f64(), Some(9.0), "{answer}");
    }
    let mut body = saying("hello");
    body["generationConfig"] = json!({"responseMimeType": "text/x.enum",
        "responseSchema": {"type": "STRING", "enum": ["red", "blue"]}});
    let answer = whole(&simulator, &body).await.json();
    assert_eq!(
        answer["candidates"][0]["content"]["parts"][0]["text"],
        "red"
    );
}

#[tokio::test]
async fn limits_candidates_reasons_and_blocks_are_told_in_the_vendors_words() {
    let simulator = started().await;
    let mut body = saying("[[tokens:50]]");
    body["generationConfig"] = json!({"maxOutputTokens": 4, "candidateCount": 2});
    let answer = whole(&simulator, &body).await.json();
    assert_eq!(answer["candidates"][1]["finishReason"], "MAX_TOKENS");
    assert_eq!(answer["candidates"][1]["index"], 1);
    assert_eq!(answer["usageMetadata"]["candidatesTokenCount"], 8);
    let answer = whole(&simulator, &saying("[[finish:SAFETY]] [[tokens:0]]"))
        .await
        .json();
    assert_eq!(
        answer["candidates"],
        json!([{"finishReason": "SAFETY", "index": 0}])
    );
    let chunks = events(&simulator, &saying("[[finish:RECITATION]] [[tokens:1]]"))
        .await
        .chunks();
    assert_eq!(
        chunks[1]["candidates"],
        json!([{"finishReason": "RECITATION", "index": 0}])
    );
    for got in [
        whole(&simulator, &saying("[[block:PROHIBITED_CONTENT]]"))
            .await
            .json(),
        events(&simulator, &saying("[[block:PROHIBITED_CONTENT]]"))
            .await
            .chunks()[0]
            .clone(),
    ] {
        assert_eq!(got["promptFeedback"]["blockReason"], "PROHIBITED_CONTENT");
        assert!(got.get("candidates").is_none());
        assert!(got["usageMetadata"].get("candidatesTokenCount").is_none());
        assert!(got["usageMetadata"]["promptTokenCount"].as_u64().unwrap() > 0);
    }
}

#[tokio::test]
async fn kinds_of_tokens_are_settable_and_media_have_their_own() {
    let simulator = started().await;
    let mut body = saying("[[tokens:2]] [[cached:5]] [[prompt_detail:AUDIO:40]]");
    body["contents"][0]["parts"]
        .as_array_mut()
        .unwrap()
        .push(json!({"inline_data": {"mime_type": "image/png", "data": "iVBORw0KGgo="}}));
    let usage = whole(&simulator, &body).await.json()["usageMetadata"].clone();
    assert_eq!(
        usage["promptTokensDetails"],
        json!([{"modality": "TEXT", "tokenCount": 16}, {"modality": "IMAGE", "tokenCount": 258},
            {"modality": "AUDIO", "tokenCount": 40}])
    );
    assert_eq!(
        (
            &usage["promptTokenCount"],
            &usage["cachedContentTokenCount"]
        ),
        (&json!(314), &json!(5))
    );
    let body =
        saying("[[tokens:2]] [[answer_detail:IMAGE:1290]] [[tool_prompt:7]] [[reasoning:4]]");
    simulator.clear_requests();
    let got = events(&simulator, &body).await;
    let usage = got.chunks().last().unwrap()["usageMetadata"].clone();
    assert_eq!(usage["candidatesTokenCount"], 1292);
    assert_eq!(
        usage["candidatesTokensDetails"][1],
        json!({"modality": "IMAGE", "tokenCount": 1290})
    );
    assert_eq!(
        (
            &usage["thoughtsTokenCount"],
            &usage["toolUsePromptTokenCount"]
        ),
        (&json!(4), &json!(7))
    );
    let prompt = usage["promptTokenCount"].as_u64().unwrap();
    assert_eq!(usage["totalTokenCount"], prompt + 1292 + 4 + 7);
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!(record.told_usage, Some((prompt, 1296)));
    assert_eq!(record.completion_tokens, 1296);
}

#[tokio::test]
async fn a_beginning_that_was_seen_before_is_cached() {
    let simulator = started().await;
    let long = "a".repeat(9000);
    let cached = async |body: &Value| {
        let answer = whole(&simulator, body).await.json();
        answer["usageMetadata"]["cachedContentTokenCount"].as_u64()
    };
    assert_eq!(cached(&saying(&long)).await, None);
    assert_eq!(
        cached(&saying(&format!("{long} and more"))).await,
        Some(2048)
    );
    let mut other = saying(&long);
    other["systemInstruction"] = json!({"parts": [{"text": "be brief"}]});
    assert_eq!(cached(&other).await, None);
    assert_eq!(cached(&saying("short")).await, None);
    assert_eq!(cached(&saying("short")).await, None);
}

#[tokio::test]
async fn tokens_are_counted_as_they_are_told() {
    let simulator = started().await;
    let mut body = saying("say something");
    body["systemInstruction"] = json!({"parts": [{"text": "be brief"}]});
    let answer = whole(&simulator, &body).await.json();
    let inner = json!({"generateContentRequest": {"model": "models/sim-small",
        "contents": body["contents"], "systemInstruction": body["systemInstruction"]}});
    let got = call(&simulator, "sim-small", "countTokens", &inner)
        .await
        .json();
    assert_eq!(
        got["totalTokens"],
        answer["usageMetadata"]["promptTokenCount"]
    );
    let got = call(
        &simulator,
        "sim-small",
        "countTokens",
        &saying("say something"),
    )
    .await;
    assert_eq!(
        got.json(),
        json!({"totalTokens": 7, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 7}]})
    );
}

#[tokio::test]
async fn models_are_listed_in_this_vendors_shape_to_its_clients() {
    let simulator = started().await;
    for path in ["/v1beta/models?pageSize=50", "/v1/models"] {
        let list = ask(&simulator, "GET", path, KEY, b"").await.json();
        assert_eq!(list["models"][0]["name"], "models/sim-small");
        assert_eq!(
            list["models"][0]["supportedGenerationMethods"],
            json!(["generateContent", "countTokens"])
        );
        assert_eq!(list["models"][3]["thinking"], true);
    }
    let one = ask(&simulator, "GET", "/v1beta/models/sim-x", KEY, b"").await;
    assert_eq!(one.json()["name"], "models/sim-x");
    let none = ask(&simulator, "GET", "/v1beta/models/other", KEY, b"").await;
    assert_eq!(
        (none.status, &none.json()["error"]["status"]),
        (404, &json!("NOT_FOUND"))
    );
    // The same path is another vendor's for its own clients.
    let bearer = "authorization: Bearer k\r\n";
    let list = ask(&simulator, "GET", "/v1/models", bearer, b"")
        .await
        .json();
    assert_eq!(list["object"], "list");
}

#[tokio::test]
async fn a_key_is_needed_and_must_be_known() {
    let settings = Settings {
        keys: vec!["AIza-good-0001".to_owned()],
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let path = "/v1beta/models/sim-small:generateContent";
    let body = saying("hello").to_string();
    let none = ask(&simulator, "POST", path, "", body.as_bytes()).await;
    assert_eq!(
        (none.status, &none.json()["error"]["status"]),
        (403, &json!("PERMISSION_DENIED"))
    );
    let wrong = ask(&simulator, "POST", path, KEY, body.as_bytes()).await;
    let error = &wrong.json()["error"];
    assert_eq!(
        (wrong.status, &error["status"]),
        (400, &json!("INVALID_ARGUMENT"))
    );
    assert_eq!(error["details"][0]["reason"], "API_KEY_INVALID");
    let head = "x-goog-api-key: AIza-good-0001\r\n";
    let good = ask(&simulator, "POST", path, head, body.as_bytes()).await;
    assert_eq!(good.status, 200);
}

#[tokio::test]
async fn remarks_of_an_agent_belong_to_the_turn_they_follow() {
    let simulator = started().await;
    let mut body = with_tools("[[call:get_weather {\"city\": \"a\"}]] [[tokens:3]]");
    let remark = json!({"role": "user", "parts": [{"text": "a remark of the agent"}]});
    body["contents"]
        .as_array_mut()
        .unwrap()
        .push(remark.clone());
    let called = whole(&simulator, &body).await.json();
    let content = called["candidates"][0]["content"].clone();
    assert_eq!(content["parts"][0]["functionCall"]["args"]["city"], "a");
    let result = json!({"role": "user", "parts": [{"functionResponse":
        {"name": "get_weather", "response": {"output": "rain"}}}]});
    let contents = body["contents"].as_array_mut().unwrap();
    contents.extend([content, result, remark]);
    let answer = whole(&simulator, &body).await.json();
    let parts = &answer["candidates"][0]["content"]["parts"];
    assert_eq!(parts[0]["text"], "sim1 sim2 sim3 ", "{answer}");
    let repeated = json!({"role": "user", "parts": [{"text": "[[tool:stop]]"}]});
    body["contents"].as_array_mut().unwrap().push(repeated);
    let answer = whole(&simulator, &body).await.json();
    let parts = &answer["candidates"][0]["content"]["parts"];
    assert_eq!(parts[0]["functionCall"]["name"], "stop", "{answer}");
}
