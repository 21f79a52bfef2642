//! The lines of the specification about chat, keys and errors that one call can show.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_simulator::{Fault, Simulator};

use crate::test_gateway::{CANARY, GatewayResponse, TestGateway, ask, ask_streaming};
use crate::upstreams::always;

const PATH: &str = "/v1/chat/completions";
const ALL: i64 = 10_000_000_000;

fn with(field: &str, value: Value) -> Value {
    let mut body = ask("Hello [[tokens:3]]");
    body[field] = value;
    body
}

fn without(field: &str) -> Value {
    let mut body = ask("Hello");
    body.as_object_mut().unwrap().remove(field);
    body
}

async fn refused(harness: &TestGateway, body: &Value, param: &str) {
    let got = harness.chat(body).await;
    assert_eq!(got.status, 400, "{body}: {}", got.text());
    assert_eq!(got.json()["error"]["param"], param, "{body}");
    assert!(harness.simulator.requests().is_empty(), "{body}");
}

// covers: G-2.1-03, G-2.1-04, G-4.1-01, G-4.1-02, D-7-CHAT-01, D-7-CHAT-03, D-7-CHAT-04
#[tokio::test]
async fn model_and_messages_are_required_and_a_message_has_a_role_and_content() {
    let harness = TestGateway::new().await;
    refused(&harness, &without("model"), "model").await;
    refused(&harness, &with("model", json!(7)), "model").await;
    refused(&harness, &without("messages"), "messages").await;
    refused(&harness, &with("messages", json!("Hello")), "messages").await;
    let one = |message: Value| with("messages", json!([message]));
    let unknown = one(json!({ "content": "Hello" }));
    refused(&harness, &unknown, "messages[0].role").await;
    for silent in [
        json!({ "role": "user" }),
        json!({ "role": "user", "content": null }),
    ] {
        refused(&harness, &one(silent), "messages[0].content").await;
    }
    let call = json!([{ "id": "c1", "type": "function",
        "function": { "name": "look", "arguments": "{}" } }]);
    let result = json!({ "role": "tool", "tool_call_id": "c1", "content": "seen" });
    let user = json!({ "role": "user", "content": "Look" });
    for acted in [
        json!({ "role": "assistant", "content": null, "tool_calls": call }),
        json!({ "role": "assistant", "tool_calls": call }),
    ] {
        let body = with("messages", json!([user, acted, result]));
        let got = harness.chat(&body).await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
}

// covers: G-2.1-05, G-2.1-06, G-2.1-07, G-2.1-08, G-4-01
#[tokio::test]
async fn numbers_are_handed_on_and_other_types_are_refused() {
    let harness = TestGateway::new().await;
    for (field, wrong) in [
        ("temperature", json!("warm")),
        ("top_p", json!("most")),
        ("max_tokens", json!(1.5)),
        ("stream", json!("yes")),
    ] {
        refused(&harness, &with(field, wrong), field).await;
    }
    let mut body = with("temperature", json!(0.25));
    body["top_p"] = json!(0.5);
    body["max_tokens"] = json!(77);
    let got = harness.chat(&body).await;
    assert_eq!(got.json()["object"], "chat.completion", "no stream");
    body["stream"] = json!(true);
    let got = harness.chat(&body).await;
    assert!(got.text().ends_with("data: [DONE]\n\n"));
    for served in harness.simulator.requests() {
        let seen: Value = serde_json::from_slice(&served.body).unwrap();
        assert_eq!(seen["temperature"], json!(0.25));
        assert_eq!(seen["top_p"], json!(0.5));
        assert_eq!(seen["max_tokens"], json!(77));
    }
}

// covers: G-4.1-04, G-4.1-05, G-4.1-06, G-4.1-07, G-4.1-08, G-4.1-09
#[tokio::test]
async fn what_a_model_does_not_take_is_refused_for_this_model_alone() {
    let harness = TestGateway::new().await;
    let tool = json!([{ "type": "function", "function": { "name": "look" } }]);
    let request = |model: &str, effort: Option<&str>, choice: Value| {
        let mut body = ask("Look [[tokens:3]]");
        body["model"] = model.into();
        body["tools"] = tool.clone();
        if let Some(effort) = effort {
            body["reasoning_effort"] = effort.into();
        }
        if !choice.is_null() {
            body["tool_choice"] = choice;
        }
        body
    };
    let named = json!({ "type": "function", "function": { "name": "look" } });
    let none = Value::Null;
    for effort in [None, Some("high")] {
        let body = request("sim-picky", effort, none.clone());
        refused(&harness, &body, "reasoning_effort").await;
    }
    for choice in [json!("any"), json!("required"), named.clone()] {
        let body = request("sim-picky", Some("none"), choice);
        refused(&harness, &body, "tool_choice").await;
    }
    for choice in [none, json!("auto"), json!("none")] {
        let body = request("sim-picky", Some("none"), choice);
        let got = harness.chat(&body).await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
    // The same on a model without these rules.
    let got = harness
        .chat(&request("sim-reason", Some("high"), named))
        .await;
    assert_eq!(got.status, 200, "{}", got.text());
}

// covers: G-7-11, G-4.1-10, G-4.1-11, G-4.1-12, G-4.1-13, G-4.1-14
#[tokio::test]
async fn roles_of_role_play_need_a_name_where_the_model_says_so() {
    let harness = TestGateway::new().await;
    let roles = [
        "user_system",
        "group",
        "sample_message_user",
        "sample_message_ai",
    ];
    let playing = |messages: Vec<Value>| {
        let mut body = with("messages", json!(messages));
        body["model"] = "sim-picky".into();
        body
    };
    for role in roles {
        let nameless = json!({ "role": role, "content": "A quiet street" });
        let got = harness.chat(&playing(vec![nameless])).await;
        let error = got.json()["error"].clone();
        assert_eq!((got.status.as_u16(), &error["code"]), (400, &json!("2013")));
        assert_eq!(error["charged"], false);
    }
    assert!(harness.simulator.requests().is_empty());
    let mut all: Vec<Value> = roles
        .iter()
        .map(|role| json!({ "role": role, "name": "Mara", "content": "A quiet street" }))
        .collect();
    all.push(json!({ "role": "user", "content": "Go on" }));
    let body = playing(all.clone());
    harness.chat(&body).await;
    // OpenAI's simulator knows no such roles and says so; what it was sent is what counts here.
    let served = harness.simulator.requests();
    let seen: Value = serde_json::from_slice(&served[0].body).unwrap();
    assert_eq!(seen["messages"], json!(all));
    assert_eq!(harness.posted_at_rest().await, ALL);
}

// covers: D-7-CHAT-11, D-7-CHAT-12, D-7-CHAT-13
#[tokio::test]
async fn error_2013_is_a_400_and_free_wherever_the_upstream_puts_it() {
    for stream in [false, true] {
        let harness = TestGateway::new().await;
        harness.simulator.plan(always(Fault::BaseResp(2013)));
        let mut body = ask("Hello");
        body["stream"] = stream.into();
        let got = harness.chat(&body).await;
        let error = got.json()["error"].clone();
        assert_eq!((got.status.as_u16(), &error["code"]), (400, &json!("2013")));
        assert_eq!(error["charged"], false);
        let (outcome, charged, _, _) = harness.usage(&got.id()).await;
        assert_eq!((outcome.as_str(), charged), ("refused", 0));
        assert_eq!(harness.posted_at_rest().await, ALL);
        harness.audit().await;
        // Another code of the same shape is the upstream's failure.
        harness.simulator.clear_plans();
        harness.simulator.plan(always(Fault::BaseResp(1000)));
        assert_eq!(harness.chat(&body).await.status, 502);
    }
}

// covers: G-5-01, D-1-21, D-1-22, D-1-23, D-3-08
#[tokio::test]
async fn a_key_is_taken_wherever_a_client_puts_it() {
    let harness = TestGateway::new().await;
    let send = async |path: &str, name: &'static str, value: &str| {
        let body = Bytes::from(ask("Hello [[tokens:2]]").to_string());
        // An empty `authorization` stands for none.
        let extra = [("authorization", ""), (name, value)];
        GatewayResponse::read(harness.send_with(Method::POST, path, body, &extra).await).await
    };
    let bearer = format!("Bearer {}", harness.key);
    assert_eq!(send(PATH, "authorization", &bearer).await.status, 200);
    assert_eq!(send(PATH, "x-api-key", &harness.key).await.status, 200);
    assert_eq!(send(PATH, "x-goog-api-key", &harness.key).await.status, 200);
    let named = format!("{PATH}?alt=sse&key={}", harness.key);
    assert_eq!(send(&named, "accept", "*/*").await.status, 200);
    let none = send(PATH, "accept", "*/*").await;
    assert_eq!(
        (none.status.as_u16(), none.code().as_str()),
        (401, "invalid_api_key")
    );
}

// covers: D-1-30, D-1-31, D-1-32, D-1-38, D-1-41
#[tokio::test]
async fn every_answer_names_its_call_and_says_what_it_cost() {
    let harness = TestGateway::new().await;
    let page = [("origin", "https://app.example")];
    let whole = harness.chat_with(&ask("Hello [[tokens:4]]"), &page).await;
    let streamed = ask_streaming("Hello [[tokens:4]]");
    let stream = harness.chat_with(&streamed, &page).await;
    let wrong = harness.chat_with(&without("model"), &page).await;
    for got in [&whole, &stream, &wrong] {
        assert!(got.header("x-request-id").is_some());
        assert_eq!(got.header("x-request-id"), got.header("request-id"));
        let exposed = got.header("access-control-expose-headers").unwrap();
        for name in ["x-request-id", "request-id", "trunkline-cost-usd"] {
            assert!(exposed.contains(name), "{exposed}");
        }
    }
    let charged = |usd: &str| usd.parse::<trunkline_types::Money>().unwrap().nanos();
    let reply = whole.header("trunkline-cost-usd").unwrap();
    assert_eq!(charged(&reply), harness.usage(&whole.id()).await.1);
    assert_eq!(stream.header("trunkline-cost-usd"), None);
    let text = stream.text();
    let (_, comment) = text.split_once(": trunkline-cost-usd=").unwrap();
    let (reply, rest) = comment.split_once("\n\n").unwrap();
    assert_eq!(charged(reply), harness.usage(&stream.id()).await.1);
    assert_eq!(rest, "data: [DONE]\n\n", "ahead of the terminal frame");
    assert_eq!(wrong.header("trunkline-cost-usd"), None);
}

// covers: D-3-36, D-3-37, D-3-38
#[tokio::test]
async fn things_stored_elsewhere_are_refused_with_the_way_out() {
    let harness = TestGateway::new().await;
    let file = json!([{ "role": "user",
        "content": [{ "type": "file", "file": { "file_id": "file-1" } }] }]);
    for (field, value) in [
        ("conversation", json!("conv_1")),
        ("container", json!("c_1")),
        ("prompt", json!({ "id": "pmpt_1" })),
        ("background", json!(true)),
        ("messages", file),
    ] {
        let got = harness.chat(&with(field, value)).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (400, "reference_not_supported"),
            "{field}"
        );
        let message = got.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("; "), "{field}: {message}");
    }
    assert!(harness.simulator.requests().is_empty());
}

// covers: D-3-48, D-3-49
#[tokio::test]
async fn an_upstreams_word_about_the_request_keeps_its_status_code_and_text() {
    let harness = TestGateway::new().await;
    harness.simulator.plan(always(Fault::Status(422)));
    let got = harness.chat(&ask("Hello")).await;
    assert_eq!(got.status, 422, "{}", got.text());
    let reply = got.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(!reply.is_empty() && !got.text().contains(CANARY));
    assert_eq!(got.json()["error"]["charged"], false);
    assert_eq!(harness.posted_at_rest().await, ALL);
}

// covers: D-3-52, D-3-71, D-3-72, D-3-73, D-3-74
#[tokio::test]
async fn failover_after_refusal_failure_and_timeout_charges_once() {
    for fault in [
        Fault::Status(429),
        Fault::Status(503),
        Fault::Status(529),
        Fault::Status(500),
        Fault::HangBeforeHeaders,
    ] {
        let settings = trunkline_gateway::Settings {
            whole_wait: std::time::Duration::from_millis(800),
            ..trunkline_gateway::Settings::default()
        };
        let harness = TestGateway::with(settings, ALL, 0).await;
        let broken = Simulator::start(trunkline_simulator::Settings::default())
            .await
            .unwrap();
        broken.plan(always(fault));
        harness
            .channel("broken", &broken.base_url(), 0, &[("sim-fast", "sim-fast")])
            .await;
        let got = harness.chat(&ask("Hello [[tokens:4]]")).await;
        assert_eq!(got.status, 200, "{fault:?}: {}", got.text());
        let charged = harness.usage(&got.id()).await.1;
        assert_eq!(harness.posted_at_rest().await, ALL - charged, "{fault:?}");
        let query = "SELECT jsonb_array_length(attempts::jsonb)::text FROM ledger.usage";
        assert_eq!(harness.db.ask(query).await, ["2"], "{fault:?}");
        broken.stop().await;
    }
}

// covers: D-3-70
#[tokio::test]
async fn a_stale_upstream_connection_costs_no_second_attempt() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let answer = json!({
        "id": "c1", "object": "chat.completion", "created": 1, "model": "sim-fast",
        "choices": [{ "index": 0, "finish_reason": "stop",
            "message": { "role": "assistant", "content": "Hi" } }],
        "usage": { "prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4 },
    })
    .to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        answer.len()
    );
    // Says that it keeps the connection, and closes it behind its answer.
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    let server = tokio::spawn(async move {
        let mut served = 0;
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 65_536];
            if client.read(&mut request).await.unwrap() == 0 {
                continue;
            }
            served += 1;
            client.write_all(head.as_bytes()).await.unwrap();
            client.write_all(answer.as_bytes()).await.unwrap();
            if served == 5 {
                return served;
            }
        }
    });
    let harness = TestGateway::new().await;
    harness
        .channel("closing", &base, 0, &[("unserved", "sim-fast")])
        .await;
    for _ in 0..5 {
        let mut body = ask("Hello");
        body["model"] = "unserved".into();
        let got = harness.chat(&body).await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
    assert_eq!(server.await.unwrap(), 5, "each call was served once");
}

// covers: D-7-ERR-01, D-7-ERR-06, D-7-ERR-07, D-3-22
#[tokio::test]
async fn errors_have_one_shape_and_a_type_of_the_eight() {
    const TYPES: [&str; 8] = [
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "insufficient_quota",
        "rate_limit_error",
        "upstream_error",
        "server_error",
    ];
    const FIELDS: [&str; 8] = [
        "message",
        "type",
        "param",
        "code",
        "request_id",
        "charged",
        "retryable",
        "doc_url",
    ];
    let harness = TestGateway::with(trunkline_gateway::Settings::default(), 1_000_000, 0).await;
    let mut poor = ask("Hello");
    poor["max_tokens"] = 10_000.into();
    let mut unknown = ask("Hello");
    unknown["model"] = "nobody".into();
    let mut nowhere = ask("Hello");
    nowhere["model"] = "unserved".into();
    let all = [
        harness.chat(&poor).await,
        harness.chat(&unknown).await,
        harness.chat(&nowhere).await,
        harness.chat(&without("messages")).await,
        harness
            .chat_with(&ask("Hello"), &[("authorization", "Bearer x")])
            .await,
        harness.get("/v1/nothing").await,
        harness.get(PATH).await,
        harness.chat(&ask("[[fault:status:500]]")).await,
        harness.chat(&ask("[[fault:rate_limited]]")).await,
    ];
    for got in &all {
        let error = got.json()["error"].clone();
        for field in FIELDS {
            assert!(error.get(field).is_some(), "{field} in {error}");
        }
        let kind = error["type"].as_str().unwrap();
        assert!(TYPES.contains(&kind), "{error}");
        assert_eq!(error["request_id"].as_str(), Some(got.id().as_str()));
    }
    let money = all[0].json()["error"].clone();
    assert_eq!(all[0].status, 402);
    for field in ["required_usd", "available_usd", "reserved_usd"] {
        assert!(money[field].is_string(), "{money}");
    }
    assert!(all[1].text().contains("/v1/models"));
    assert!(all[5].text().contains("POST /v1/chat/completions"));
    assert_eq!(
        (all[6].status.as_u16(), all[6].code().as_str()),
        (405, "method_not_allowed")
    );
}
