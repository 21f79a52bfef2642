//! Responses over WebSocket, over real sockets: what turns cost, what a connection keeps, and how it ends.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_edge::settings::AcceptSettings;
use trunkline_gateway::{RealtimeSettings, Settings};
use trunkline_store::{PolicyFields, keys};
use trunkline_types::KeyId;

use crate::format_pairs;
use crate::realtime::harness::{Client, Refused};
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions};

const PATH: &str = "/v1/responses";
const MONEY: i64 = 10_000_000_000;
/// Models whose channel speaks Claude's, the chat and the Responses format.
const MODELS: [&str; 3] = [
    "gemini-to-messages",
    "gemini-to-chat",
    "gemini-to-responses",
];

async fn gateway(paid: i64) -> TestGateway {
    format_pairs::harness(TestOptions {
        paid,
        ..TestOptions::default()
    })
    .await
}

impl TestGateway {
    async fn responses(&self) -> Client {
        let key = self.key.clone();
        self.responses_as(&key).await.unwrap()
    }

    async fn responses_as(&self, key: &str) -> Result<Client, Refused> {
        let bearer = format!("Bearer {key}");
        self.connect_as(PATH, &[("authorization", &bearer)]).await
    }
}

impl Client {
    /// One turn to its last event.
    async fn turn(&mut self, body: &Value) -> Value {
        self.send(create(body)).await;
        self.until("response.completed").await
    }

    /// The error that a message is answered with.
    async fn refused(&mut self, message: Value) -> Value {
        self.send(message).await;
        let error = self.next().await.unwrap();
        assert_eq!(error["type"], "error", "{error}");
        error
    }
}

fn create(body: &Value) -> Value {
    let mut message = body.clone();
    message["type"] = json!("response.create");
    message
}

fn ask(model: &str, input: &str) -> Value {
    json!({ "model": model, "store": false, "input": input })
}

fn after(id: &str, model: &str, input: &str) -> Value {
    json!({ "model": model, "store": false, "input": input, "previous_response_id": id })
}

fn id_of(completed: &Value) -> String {
    completed["response"]["id"].as_str().unwrap().to_owned()
}

/// What the row of a turn says that it was charged.
async fn charged(harness: &TestGateway, completed: &Value) -> i64 {
    let id = completed["trunkline"]["request_id"].as_str();
    let id = id.unwrap_or_else(|| panic!("{completed}"));
    let (outcome, charged, _, estimated) = harness.usage(id).await;
    assert_eq!((outcome.as_str(), estimated), ("complete", false));
    let cost = completed["response"]["usage"]["cost"].as_f64().unwrap();
    assert!((cost * 1e9 - charged as f64).abs() < 0.5, "{completed}");
    charged
}

// covers: D-4-25
#[tokio::test]
async fn two_turns_of_a_caller_are_two_charges_and_the_second_continues_the_first_at_any_upstream()
{
    for model in MODELS {
        let harness = gateway(MONEY).await;
        let mut client = harness.responses().await;
        let first = client
            .turn(&ask(model, "Remember seven [[tokens:4]]"))
            .await;
        let words_of_first = &first["response"]["output"][0]["content"][0]["text"];
        let words_of_first = words_of_first.as_str().unwrap_or_else(|| panic!("{first}"));
        let next = after(&id_of(&first), model, "And now? [[tokens:3]]");
        let second = client.turn(&next).await;
        assert_ne!(id_of(&second), id_of(&first));
        let previous = &second["response"]["previous_response_id"];
        assert_eq!(previous, &first["response"]["id"], "{model}");
        let third = after(&id_of(&second), model, "And then? [[tokens:2]]");
        let third = client.turn(&third).await;
        client.close().await;
        let mut paid = Vec::new();
        for completed in [&first, &second, &third] {
            paid.push(charged(&harness, completed).await);
        }
        let spent = MONEY - harness.at_rest().await;
        assert_eq!(spent, paid.iter().sum::<i64>(), "{model}");
        let truth = harness.simulator.requests();
        assert_eq!(truth.len(), 3, "{model}");
        let sent = String::from_utf8_lossy(&truth[2].body).into_owned();
        for words in ["Remember seven", words_of_first, "And now?", "And then?"] {
            assert!(sent.contains(words), "{model}: {words} in {sent}");
        }
        let reported = truth.iter().map(|one| one.told_usage.unwrap());
        let due: Vec<i64> = reported
            .map(|(input, output)| i64::try_from(input * 2_000 + output * 8_000).unwrap())
            .collect();
        assert_eq!(paid, due, "{model}");
    }
}

#[tokio::test]
async fn a_caller_gets_the_events_of_the_stream_over_http_as_messages() {
    let harness = gateway(MONEY).await;
    for model in MODELS {
        let body = ask(model, "Say it [[tokens:6]]");
        let mut streamed = body.clone();
        streamed["stream"] = json!(true);
        let bytes = Bytes::from(streamed.to_string());
        let sent = harness.send(Method::POST, PATH, bytes).await;
        let over_http = GatewayResponse::read(sent).await;
        let text = over_http.text();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let types = data.map(|data| {
            let event: Value = serde_json::from_str(data).unwrap();
            event["type"].as_str().unwrap().to_owned()
        });
        let types: Vec<String> = types.collect();
        let mut client = harness.responses().await;
        client.send(create(&body)).await;
        for expected in &types {
            let event = client.next().await.unwrap();
            assert_eq!(event["type"], expected.as_str(), "{model}: {event}");
            assert_eq!(event.get("stream_id"), None);
        }
        client.close().await;
    }
    harness.at_rest().await;
}

#[tokio::test]
async fn a_response_that_its_upstream_stores_is_continued_there_from_the_socket() {
    let harness = gateway(MONEY).await;
    let model = "gemini-to-responses";
    let mut client = harness.responses().await;
    let mut body = ask(model, "Keep this [[tokens:4]]");
    body["store"] = json!(true);
    let first = client.turn(&body).await;
    let second = client
        .turn(&after(&id_of(&first), model, "Go on [[tokens:3]]"))
        .await;
    let truth = harness.simulator.requests();
    let sent: Value = serde_json::from_slice(&truth[1].body).unwrap();
    assert!(sent["previous_response_id"].is_string(), "{sent}");
    // The second is stored nowhere, and the connection knows all that came before it.
    let third = client
        .turn(&after(&id_of(&second), model, "And on [[tokens:3]]"))
        .await;
    let truth = harness.simulator.requests();
    let sent = String::from_utf8_lossy(&truth[2].body).into_owned();
    assert!(
        sent.contains("Keep this") && sent.contains("Go on"),
        "{sent}"
    );
    // Another connection does not know it.
    let mut other = harness.responses().await;
    let error = other
        .refused(create(&after(&id_of(&third), model, "Go on")))
        .await;
    assert_eq!(error["error"]["code"], "previous_response_not_found");
    assert_eq!(error["status"], 400);
    other.close().await;
    client.close().await;
    harness.at_rest().await;
}

#[tokio::test]
async fn a_message_that_is_refused_is_answered_with_an_error_and_the_socket_stays() {
    let harness = gateway(MONEY).await;
    let model = MODELS[0];
    let mut client = harness.responses().await;
    let mut unknown = create(&ask("unknown", "Hello"));
    unknown["stream_id"] = json!("a1");
    let mut background = create(&ask(model, "Hello"));
    background["background"] = json!(true);
    for (message, status, code) in [
        (json!([]), 400, "invalid_request"),
        (json!({ "type": "response.steer" }), 400, "invalid_request"),
        (json!({ "type": "response.create" }), 400, "invalid_request"),
        (background, 400, "reference_not_supported"),
        (
            create(&after("resp_unknown", model, "Hello")),
            400,
            "previous_response_not_found",
        ),
        (unknown, 404, "model_not_found"),
    ] {
        let lane = message.get("stream_id").cloned();
        let error = client.refused(message).await;
        assert_eq!(error["status"], status, "{error}");
        assert_eq!(error["error"]["code"], code, "{error}");
        assert_eq!(error.get("stream_id").cloned(), lane, "{error}");
        assert!(error["error"]["message"].is_string(), "{error}");
    }
    assert!(harness.simulator.requests().is_empty());
    let done = client.turn(&ask(model, "Hello [[tokens:3]]")).await;
    client.close().await;
    let paid = charged(&harness, &done).await;
    assert_eq!(MONEY - harness.at_rest().await, paid);
}

#[tokio::test]
async fn an_upstream_that_breaks_off_ends_the_turn_of_its_caller_and_not_the_socket() {
    let harness = gateway(MONEY).await;
    let model = MODELS[0];
    let mut client = harness.responses().await;
    let broken = ask(model, "Broken [[fault:close_mid_stream:4]] [[tokens:60]]");
    client.send(create(&broken)).await;
    let failed = client.until("response.failed").await;
    assert_eq!(failed["response"]["error"]["code"], "upstream_error");
    let done = client.turn(&ask(model, "Whole [[tokens:3]]")).await;
    client.close().await;
    let paid = charged(&harness, &done).await;
    assert_eq!(MONEY - harness.at_rest().await, paid);
}

#[tokio::test]
async fn a_caller_whose_wallet_is_too_small_is_told_so_and_the_socket_stays() {
    let harness = gateway(1_000).await;
    let mut client = harness.responses().await;
    for _ in 0..2 {
        let error = client.refused(create(&ask(MODELS[0], "Hello"))).await;
        assert_eq!(error["status"], 402, "{error}");
        assert_eq!(error["error"]["code"], "insufficient_balance", "{error}");
    }
    client.close().await;
    assert!(harness.simulator.requests().is_empty());
    assert_eq!(harness.at_rest().await, 1_000);
}

#[tokio::test]
async fn a_caller_that_vanishes_pays_for_what_was_made_and_the_upstream_is_left() {
    let harness = gateway(MONEY).await;
    let mut client = harness.responses().await;
    let body = ask(MODELS[0], "At length [[tokens:400]] [[pace:20]]");
    client.send(create(&body)).await;
    client.until("response.output_text.delta").await;
    drop(client);
    let spent = MONEY - harness.at_rest().await;
    assert!(spent > 0 && spent < 400 * 8_000, "{spent}");
    let outcomes = "SELECT outcome FROM ledger.usage";
    assert_eq!(harness.db.ask(outcomes).await, ["client_gone"]);
}

#[tokio::test]
async fn turns_of_one_stream_run_in_order_and_those_of_two_side_by_side() {
    let harness = gateway(MONEY).await;
    let model = MODELS[0];
    let mut client = harness.responses().await;
    let lane = |lane: &str, input: &str| {
        let mut message = create(&ask(model, input));
        message["stream_id"] = json!(lane);
        message
    };
    client
        .send(lane("slow", "One [[tokens:30]] [[pace:30]]"))
        .await;
    client.send(lane("slow", "Two [[tokens:2]]")).await;
    client.send(lane("fast", "Three [[tokens:2]]")).await;
    let mut ended = Vec::new();
    while ended.len() < 3 {
        let event = client.next().await.unwrap();
        let lane = event["stream_id"]
            .as_str()
            .unwrap_or_else(|| panic!("{event}"));
        assert_ne!(event["type"], "error", "{event}");
        if event["type"] == "response.completed" {
            let tokens = event["response"]["usage"]["output_tokens"].as_u64();
            ended.push((lane.to_owned(), tokens.unwrap()));
        }
    }
    let ended: Vec<(&str, u64)> = ended.iter().map(|(lane, n)| (lane.as_str(), *n)).collect();
    assert_eq!(ended, [("fast", 2), ("slow", 30), ("slow", 2)]);
    client.close().await;
    harness.at_rest().await;
}

#[tokio::test]
async fn a_message_that_generates_nothing_costs_its_caller_nothing_and_is_continued() {
    let harness = gateway(MONEY).await;
    let model = MODELS[0];
    let mut client = harness.responses().await;
    let mut warm = ask(model, "You are brief");
    warm["generate"] = json!(false);
    let warmed = client.turn(&warm).await;
    assert_eq!(warmed["response"]["output"], json!([]));
    assert_eq!(warmed["response"]["usage"]["total_tokens"], 0);
    assert!(harness.simulator.requests().is_empty());
    let done = client
        .turn(&after(&id_of(&warmed), model, "Hello [[tokens:3]]"))
        .await;
    client.close().await;
    let paid = charged(&harness, &done).await;
    assert_eq!(MONEY - harness.at_rest().await, paid);
    let truth = harness.simulator.requests();
    let sent = String::from_utf8_lossy(&truth[0].body).into_owned();
    assert!(
        sent.contains("You are brief") && sent.contains("Hello"),
        "{sent}"
    );
    assert!(!sent.contains("generate"), "{sent}");
}

#[tokio::test]
async fn a_caller_is_refused_before_the_upgrade_and_a_revoked_key_begins_nothing() {
    let harness = gateway(MONEY).await;
    let chat = PolicyFields {
        endpoints: Some(vec!["chat".to_owned()]),
        ..PolicyFields::default()
    };
    let chat = harness.make_key(chat).await;
    for (key, status, code) in [
        ("sk-tl-unknown", 401, "invalid_api_key"),
        (chat.as_str(), 403, "endpoint_not_allowed"),
    ] {
        let refused = harness.responses_as(key).await.err().unwrap();
        assert_eq!(refused.status, status, "{}", refused.body);
        assert_eq!(refused.body["error"]["code"], code);
    }
    // Clients that try a WebSocket first go on with `POST` after this.
    let plain = harness.get(PATH).await;
    assert_eq!(plain.status, 426, "{}", plain.text());
    assert_eq!(plain.code(), "websocket_not_supported");

    let mut client = harness.responses().await;
    client.turn(&ask(MODELS[0], "Hello [[tokens:2]]")).await;
    let id = harness.get("/v1/key").await.json()["id"].as_i64().unwrap();
    let mut tx = harness.console.begin().await.unwrap();
    keys::revoke(&mut tx, KeyId::new(id)).await.unwrap();
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
    let (events, code) = client.rest().await;
    assert_eq!((events.len(), code), (1, Some(1008)));
    assert_eq!(events[0]["error"]["code"], "revoked_api_key");
    harness.at_rest().await;
}

#[tokio::test]
async fn a_connection_ends_after_its_longest_time_but_not_in_the_middle_of_a_turn() {
    let harness = format_pairs::harness(TestOptions {
        paid: MONEY,
        settings: Settings {
            realtime: RealtimeSettings {
                longest: Duration::from_millis(700),
                ..RealtimeSettings::default()
            },
            ..Settings::default()
        },
        ..TestOptions::default()
    })
    .await;
    let mut client = harness.responses().await;
    let long = ask(MODELS[0], "Slowly [[tokens:60]] [[pace:30]]");
    let done = client.turn(&long).await;
    let (events, code) = client.rest().await;
    assert_eq!((events.len(), code), (1, Some(1001)), "{events:?}");
    let code = &events[0]["error"]["code"];
    assert_eq!(code, "websocket_connection_limit_reached");
    let paid = charged(&harness, &done).await;
    assert_eq!(MONEY - harness.at_rest().await, paid);
}

#[tokio::test]
async fn a_draining_node_ends_a_connection_when_its_turns_have_ended() {
    let harness = gateway(MONEY).await;
    let mut client = harness.responses().await;
    let body = ask(MODELS[0], "Before the end [[tokens:20]] [[pace:20]]");
    client.send(create(&body)).await;
    client.until("response.created").await;
    harness.gateway.drain();
    let done = client.until("response.completed").await;
    let (events, code) = client.rest().await;
    assert_eq!((events.len(), code), (1, Some(1012)), "{events:?}");
    assert_eq!(events[0]["error"]["code"], "temporarily_unavailable");
    let paid = charged(&harness, &done).await;
    assert_eq!(MONEY - harness.at_rest().await, paid);
}

#[tokio::test]
async fn a_conversation_that_is_kept_is_memory_of_its_node_and_gives_way_when_there_is_none() {
    let accept = AcceptSettings {
        max_buffered_bytes: 300_000,
        ..AcceptSettings::default()
    };
    let harness = format_pairs::harness(TestOptions {
        paid: MONEY,
        settings: Settings {
            accept,
            ..Settings::default()
        },
        ..TestOptions::default()
    })
    .await;
    let buffered = || harness.gateway.edge().buffered_bytes();
    assert_eq!(buffered(), 0);
    let mut client = harness.responses().await;
    let long = "word ".repeat(12_000);
    // What a turn itself takes is given back soon after its last event.
    let kept = async || {
        let mut bytes = buffered();
        for _ in 0..200 {
            if bytes < 200_000 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            bytes = buffered();
        }
        bytes
    };
    let first = client.turn(&ask(MODELS[0], &long)).await;
    let bytes = kept().await;
    assert!((100_000..200_000).contains(&bytes), "{bytes}");
    let second = client.turn(&ask(MODELS[0], &long)).await;
    let bytes = kept().await;
    assert!((100_000..200_000).contains(&bytes), "{bytes}");
    let gone = after(&id_of(&first), MODELS[0], "And then?");
    let error = client.refused(create(&gone)).await;
    assert_eq!(error["error"]["code"], "previous_response_not_found");
    client
        .turn(&after(&id_of(&second), MODELS[0], "And then?"))
        .await;
    client.close().await;
    harness.at_rest().await;
    assert_eq!(buffered(), 0);
}
