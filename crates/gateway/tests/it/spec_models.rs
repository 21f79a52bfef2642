//! Lines of the specification about models as data: what a record says is what the endpoints do. Expected values are
//! the specification's own.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::test_gateway::{GatewayResponse, TestGateway, ask};
use crate::videos::{ended, generation, made, make, quick, spent};

/// Section 4 of the specification: the format of each chat path, and its endpoint type.
const FORMATS: [(&str, &str); 4] = [
    ("openai", "/v1/chat/completions"),
    ("anthropic", "/v1/messages"),
    ("openai-response", "/v1/responses"),
    ("gemini", "/v1beta/models/{model}:generateContent"),
];

fn record(name: &str, more: &str) -> String {
    format!(
        "[models.\"{name}\"]\ngroups = [\"default\"]\n{more}\n[models.\"{name}\".prices]\n\
         billing_unit = \"tokens\"\nstandard = {{ input = 2000000, output = 8000000 }}\n"
    )
}

async fn sell(harness: &TestGateway, name: &str, upstream: &str, more: &str) {
    harness.sell(&record(name, more)).await;
    let base = harness.simulator.base_url();
    let channel = format!("of {}", name.replace('/', " "));
    let models = [(name, upstream)];
    harness.channel(&channel, &base, 10, &models).await;
}

fn body_of(endpoint: &str, model: &str) -> Value {
    let turn = json!([{ "role": "user", "content": "Hello [[tokens:3]]" }]);
    match endpoint {
        "openai" => json!({ "model": model, "messages": turn }),
        "anthropic" => json!({ "model": model, "messages": turn, "max_tokens": 50 }),
        "openai-response" => json!({ "model": model, "input": "Hello [[tokens:3]]" }),
        "gemini" => {
            json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hello [[tokens:3]]" }] }] })
        }
        other => panic!("{other} is no format"),
    }
}

async fn call(harness: &TestGateway, endpoint: &str, model: &str) -> GatewayResponse {
    let (_, path) = FORMATS.into_iter().find(|one| one.0 == endpoint).unwrap();
    let path = path.replace("{model}", model);
    harness.post(&path, &body_of(endpoint, model)).await
}

async fn chat_with_model(harness: &TestGateway, model: &str, prompt: &str) -> GatewayResponse {
    let mut body = ask(prompt);
    body["model"] = json!(model);
    harness.chat(&body).await
}

// covers: G-0-01, G-9-05, G-9-06
#[tokio::test]
async fn a_record_with_an_invented_identifier_is_called_and_keeps_it_while_the_model_behind_it_changes()
 {
    let harness = TestGateway::new().await;
    for name in ["invented-this/7b", "invented-2026-11-18"] {
        let got = chat_with_model(&harness, name, "Hello").await;
        assert_eq!(got.code(), "model_not_found", "before there is a record");
        sell(&harness, name, "sim-fast", "").await;
        let got = chat_with_model(&harness, name, "Hello [[tokens:3]]").await;
        assert_eq!(got.status, 200, "{}", got.text());
        assert_eq!(got.json()["model"], name);
    }
    // A date is a part of the name like any other: neither the bare name nor another day finds it.
    for near in ["invented", "invented-2026-11-19"] {
        let got = chat_with_model(&harness, near, "Hello").await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (404, "model_not_found")
        );
    }
    let upstream = |harness: &TestGateway| {
        let last = harness.simulator.requests().pop().unwrap();
        let body: Value = serde_json::from_slice(&last.body).unwrap();
        body["model"].clone()
    };
    assert_eq!(upstream(&harness), "sim-fast");
    let base = harness.simulator.base_url();
    let newer = [("invented-2026-11-18", "sim-reason")];
    harness.channel("newer", &base, 1, &newer).await;
    let got = chat_with_model(&harness, "invented-2026-11-18", "Hello [[tokens:3]]").await;
    assert_eq!(
        (got.status.as_u16(), &got.json()["model"]),
        (200, &json!("invented-2026-11-18"))
    );
    assert_eq!(upstream(&harness), "sim-reason");
    harness.audit().await;
}

// covers: G-0-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invented_identifier_bound_to_a_family_follows_its_rules() {
    let harness = generation(quick()).await;
    let record = "[models.own-clip]\ngroups = [\"default\"]\nendpoints = [\"openai-video\"]\n\
        specs = { type = \"video\", video_family = \"a_text\", min_duration_seconds = 2, max_duration_seconds = 15 }\n\
        [models.own-clip.prices]\nbilling_unit = \"per_second\"\nstandard = { video_second = 70_000_000_000 }\n";
    harness.sell(record).await;
    let base = format!("http://{}/api/v1", harness.simulator.address());
    let options = crate::test_gateway::ChannelOptions {
        provider: Some("dashscope_native"),
        ..crate::test_gateway::ChannelOptions::default()
    };
    let models = [("own-clip", "wan2.7-t2v")];
    harness.channel_with("own", &base, &models, options).await;
    let crossed = json!({ "model": "own-clip", "prompt": "a cat", "size": "1280x720" });
    let got = make(&harness, &crossed).await;
    assert_eq!(got.status, 400);
    let message = got.json()["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(message, "invalid size: 1280x720, example: 1280*720");
    // Without size and duration: five seconds of 1280*720.
    let id = made(&harness, &json!({ "model": "own-clip", "prompt": "a cat" })).await;
    let task = ended(&harness, &id).await;
    assert_eq!(
        (&task["size"], &task["seconds"]),
        (&json!("1280*720"), &json!("5"))
    );
    assert_eq!(spent(&harness).await, 5 * 70_000_000);
    harness.audit().await;
}

// covers: G-1-09, G-2.6-33, G-2.6-34, G-2.6-35, G-2.6-41, D-3-31
#[tokio::test]
async fn a_model_takes_the_formats_that_its_record_publishes_and_no_others() {
    let harness = TestGateway::new().await;
    for (only, _) in FORMATS {
        let name = format!("gemini-only-{only}");
        sell(
            &harness,
            &name,
            "sim-fast",
            &format!("endpoints = [\"{only}\"]"),
        )
        .await;
        let card = harness.get(&format!("/v1/models/{name}")).await.json();
        assert_eq!(card["supported_endpoint_types"], json!([only]));
        for (endpoint, _) in FORMATS {
            let got = call(&harness, endpoint, &name).await;
            if endpoint == only {
                assert_eq!(got.status, 200, "{name} at {endpoint}: {}", got.text());
                continue;
            }
            assert_eq!(got.status, 400, "{name} at {endpoint}: {}", got.text());
            assert!(
                got.text().contains("endpoint_not_supported"),
                "{}",
                got.text()
            );
        }
    }
    // One that leaves nothing out takes all three.
    sell(&harness, "takes-three", "sim-fast", "").await;
    for (endpoint, _) in &FORMATS[..3] {
        assert_eq!(
            call(&harness, endpoint, "takes-three").await.status,
            200,
            "{endpoint}"
        );
    }
    harness.audit().await;
}

// covers: G-1-19
#[tokio::test]
async fn a_model_billed_per_call_costs_the_same_for_short_and_long_input() {
    let harness = TestGateway::new().await;
    harness
        .sell(
            "[models.by-the-call]\ngroups = [\"default\"]\n[models.by-the-call.prices]\n\
             billing_unit = \"per_call\"\nstandard = { per_call = 30_000_000_000 }\n",
        )
        .await;
    let base = harness.simulator.base_url();
    harness
        .channel("calls", &base, 10, &[("by-the-call", "sim-fast")])
        .await;
    for prompt in [
        "Hi [[tokens:1]]".to_owned(),
        format!("{} [[tokens:60]]", "long ".repeat(2_000)),
    ] {
        let got = chat_with_model(&harness, "by-the-call", &prompt).await;
        assert_eq!(got.status, 200, "{}", got.text());
        assert_eq!(harness.usage(&got.id()).await.1, 30_000_000);
    }
    harness.audit().await;
}

// covers: G-2.1-09
#[tokio::test]
async fn a_streamed_reply_has_the_framing_of_the_format_that_was_called() {
    let harness = TestGateway::new().await;
    let all = "endpoints = [\"openai\", \"anthropic\", \"openai-response\", \"gemini\"]";
    sell(&harness, "gemini-streams", "sim-fast", all).await;
    let streamed = |endpoint: &str| {
        let mut body = body_of(endpoint, "gemini-streams");
        if endpoint != "gemini" {
            body["stream"] = json!(true);
        }
        body
    };
    for (endpoint, path, first, last) in [
        (
            "openai",
            "/v1/chat/completions",
            "data: {",
            "data: [DONE]\n\n",
        ),
        (
            "anthropic",
            "/v1/messages",
            "event: message_start\ndata: {",
            "}\n\n",
        ),
        (
            "openai-response",
            "/v1/responses",
            "event: response.created\ndata: {",
            "}\n\n",
        ),
        (
            "gemini",
            "/v1beta/models/gemini-streams:streamGenerateContent?alt=sse",
            "data: {",
            "}\n\n",
        ),
    ] {
        let got = harness.post(path, &streamed(endpoint)).await;
        assert_eq!(got.status, 200, "{endpoint}: {}", got.text());
        let kind = got.header("content-type").unwrap();
        assert!(kind.starts_with("text/event-stream"), "{endpoint}: {kind}");
        let text: String = got
            .text()
            .lines()
            .filter(|line| !line.starts_with(':'))
            .fold(String::new(), |text, line| text + line + "\n");
        assert!(text.trim_start().starts_with(first), "{endpoint}: {text}");
        assert!(
            text.ends_with(last) || text.ends_with(&last[..last.len() - 1]),
            "{endpoint}: {text}"
        );
        let end = match endpoint {
            "openai" => "\"finish_reason\":\"stop\"",
            "anthropic" => "event: message_stop",
            "openai-response" => "event: response.completed",
            _ => "\"finishReason\":\"STOP\"",
        };
        assert!(text.contains(end), "{endpoint}: {text}");
    }
    harness.audit().await;
}

// covers: G-2.1-11
#[tokio::test]
async fn a_reasoning_effort_of_the_models_own_list_is_accepted_and_another_is_refused() {
    let harness = TestGateway::new().await;
    let own =
        "tasks = [\"chat\", \"reasoning\"]\nspecs = { reasoning_efforts = [\"none\", \"xhigh\"] }";
    sell(&harness, "thinks-its-own-way", "sim-reason", own).await;
    for (effort, status) in [("none", 200), ("xhigh", 200), ("high", 400), ("most", 400)] {
        let mut body = ask("Think [[tokens:3]]");
        body["model"] = json!("thinks-its-own-way");
        body["reasoning_effort"] = json!(effort);
        let got = harness.chat(&body).await;
        assert_eq!(got.status.as_u16(), status, "{effort}: {}", got.text());
        if status == 200 {
            let last = harness.simulator.requests().pop().unwrap();
            let sent: Value = serde_json::from_slice(&last.body).unwrap();
            assert_eq!(sent["reasoning_effort"], effort);
        } else {
            assert_eq!(got.json()["error"]["param"], "reasoning_effort");
        }
    }
    harness.audit().await;
}

// covers: G-2.1-15, G-2.1-16, G-2.1-17
#[tokio::test]
async fn a_model_that_keeps_no_conversation_refuses_both_fields_and_takes_all_of_it_in_the_input() {
    let harness = TestGateway::new().await;
    let rules = "rules = [\n\
        { code = \"no_previous\", must = { field = \"previous_response_id\", present = false }, fix = \"send all of it\" },\n\
        { code = \"no_conversation\", must = { field = \"conversation\", present = false }, fix = \"send all of it\" },\n]";
    sell(&harness, "forgets", "sim-fast", rules).await;
    let first = json!({ "model": "forgets", "input": "Remember seven [[tokens:4]]" });
    let got = harness.post("/v1/responses", &first).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let before = harness.simulator.requests().len();
    for (field, value) in [
        ("previous_response_id", got.json()["id"].clone()),
        ("conversation", json!("conv_1")),
    ] {
        let mut body = json!({ "model": "forgets", "input": "And now?" });
        body[field] = value;
        let refused = harness.post("/v1/responses", &body).await;
        assert_eq!(refused.status, 400, "{field}: {}", refused.text());
        assert_eq!(refused.json()["error"]["param"], field);
    }
    assert_eq!(
        harness.simulator.requests().len(),
        before,
        "nothing was sent"
    );
    let answered = got.json()["output"][0]["content"][0]["text"].clone();
    let whole = json!({ "model": "forgets", "input": [
        { "role": "user", "content": "Remember seven" },
        { "role": "assistant", "content": answered },
        { "role": "user", "content": "And now? [[tokens:3]]" },
    ] });
    let next = harness.post("/v1/responses", &whole).await;
    assert_eq!(next.status, 200, "{}", next.text());
    let last = harness.simulator.requests().pop().unwrap();
    assert!(String::from_utf8_lossy(&last.body).contains("Remember seven"));
    harness.audit().await;
}

#[tokio::test]
async fn a_model_past_its_last_day_is_refused_with_its_replacement_and_not_listed() {
    let harness = TestGateway::new().await;
    let tags = "icon = \"mark\"\ntags = [\"Chat\", \"Old\"]\nreplaced_by = \"sim-fast\"\n";
    sell(
        &harness,
        "is-gone",
        "sim-fast",
        &format!("{tags}sunset_on = \"2020-02-29\""),
    )
    .await;
    sell(
        &harness,
        "goes-late",
        "sim-fast",
        &format!("{tags}sunset_on = \"2999-12-31\""),
    )
    .await;
    let got = chat_with_model(&harness, "is-gone", "Hello").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (404, "model_shut_down")
    );
    let error = got.json()["error"].clone();
    assert_eq!(
        (&error["replacement"], &error["shutdown_date"]),
        (&json!("sim-fast"), &json!("2020-02-29"))
    );
    assert!(
        error["message"].as_str().unwrap().contains("sim-fast"),
        "{error}"
    );
    let quoted = json!({ "endpoint": "chat", "body": body_of("openai", "is-gone") });
    assert_eq!(
        harness.post("/v1/quotes", &quoted).await.code(),
        "model_shut_down"
    );
    assert!(harness.simulator.requests().is_empty());
    let listed = harness.get("/v1/models").await.json();
    let find = |name: &str| {
        let data = listed["data"].as_array().unwrap();
        data.iter().find(|model| model["id"] == name).cloned()
    };
    assert_eq!(find("is-gone"), None);
    let late = find("goes-late").unwrap();
    assert_eq!(
        (&late["shutdown_date"], &late["replacement"]),
        (&json!("2999-12-31"), &json!("sim-fast"))
    );
    assert_eq!(
        (&late["icon"], &late["tags"]),
        (&json!("mark"), &json!("Chat,Old"))
    );
    assert_eq!(find("sim-fast").unwrap().get("shutdown_date"), None);
    assert_eq!(
        chat_with_model(&harness, "goes-late", "Hello [[tokens:2]]")
            .await
            .status,
        200
    );
    let sent = harness.send(Method::GET, "/v1/models/is-gone", Bytes::new());
    assert_eq!(GatewayResponse::read(sent.await).await.status, 404);
    harness.audit().await;
}
