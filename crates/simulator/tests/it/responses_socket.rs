//! Responses over WebSocket: one socket, many responses.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_simulator::{
    RealtimeEnd, RealtimeSettings, RealtimeWork, RequestRecord, Settings, Simulator,
};

use crate::client::{post, started};
use crate::realtime_client::{BEARER, Realtime, connect, logged, types};

const PATH: &str = "/v1/responses";

async fn connected(simulator: &Simulator) -> Realtime {
    connect(simulator, PATH, &[BEARER]).await.unwrap()
}

fn create(input: &str) -> Value {
    json!({"type": "response.create", "model": "sim-small", "input": input})
}

/// The record of this name, once its response was sent whole.
async fn finished(simulator: &Simulator, marker: &str) -> RequestRecord {
    for _ in 0..400 {
        let requests = simulator.requests();
        let mut named = requests.iter();
        let one = named.find(|one| one.finished && one.marker.as_deref() == Some(marker));
        if let Some(one) = one {
            return one.clone();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("no such record: {:#?}", simulator.requests());
}

#[tokio::test]
async fn a_message_is_answered_with_the_events_of_the_stream() {
    let simulator = started().await;
    let mut client = connected(&simulator).await;
    client.send(create("[[id:a]] hello")).await;
    let events = client.until("response.completed").await;
    let body = json!({"model": "sim-small", "input": "[[id:b]] hello", "stream": true});
    let streamed = post(&simulator, PATH, &body).await.events();
    let names: Vec<&str> = streamed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(types(&events), names);
    let usage = &events.last().unwrap()["response"]["usage"];
    assert_eq!(usage["output_tokens"], 5);
    // Each message is a request of its own.
    let one = finished(&simulator, "a").await;
    assert_eq!((one.path.as_str(), one.status), (PATH, 200));
    assert_eq!(one.completion_tokens, 5);
    let connection = logged(&simulator, |_| true).await;
    assert_eq!(connection.work, RealtimeWork::Responses);
}

#[tokio::test]
async fn a_response_that_is_not_stored_is_continued_on_its_socket_and_nowhere_else() {
    let simulator = started().await;
    let mut client = connected(&simulator).await;
    let mut first = create("remember this");
    first["store"] = json!(false);
    client.send(first).await;
    let completed = client.until("response.completed").await.pop().unwrap();
    let response = &completed["response"];
    let mut next = create("and now");
    next["store"] = json!(false);
    next["previous_response_id"] = response["id"].clone();
    client.send(next.clone()).await;
    let second = client.until("response.completed").await.pop().unwrap();
    let input = |response: &Value| response["usage"]["input_tokens"].as_u64().unwrap();
    assert!(input(&second["response"]) > input(response));
    let mut other = connected(&simulator).await;
    other.send(next).await;
    let error = other.event().await;
    assert_eq!(
        (&error["type"], &error["status"]),
        (&json!("error"), &json!(400))
    );
    assert_eq!(error["error"]["code"], "previous_response_not_found");
}

#[tokio::test]
async fn streams_run_side_by_side_and_their_events_name_them() {
    let simulator = started().await;
    let mut client = connected(&simulator).await;
    let mut slow = create("[[tokens:20]] [[pace:20]]");
    slow["stream_id"] = json!("slow");
    let mut quick = create("hello");
    quick["stream_id"] = json!("quick");
    client.send(slow).await;
    client.send(quick).await;
    let first = client.until("response.completed").await.pop().unwrap();
    assert_eq!(first["stream_id"], "quick");
    let second = client.until("response.completed").await.pop().unwrap();
    assert_eq!(second["stream_id"], "slow");
    for number in 0..14 {
        let mut more = create("hello");
        more["stream_id"] = json!(format!("more{number}"));
        client.send(more).await;
        client.until("response.completed").await;
    }
    let mut many = create("hello");
    many["stream_id"] = json!("many");
    client.send(many).await;
    let error = client.error().await;
    assert_eq!(error["code"], "websocket_stream_limit_reached");
}

#[tokio::test]
async fn messages_of_one_stream_are_answered_in_turn() {
    let simulator = started().await;
    let mut client = connected(&simulator).await;
    client.send(create("[[tokens:9]] [[pace:10]]")).await;
    client.send(create("hello")).await;
    let first = client.until("response.completed").await.pop().unwrap();
    let second = client.until("response.completed").await.pop().unwrap();
    let tokens = |event: &Value| event["response"]["usage"]["output_tokens"].clone();
    assert_eq!((tokens(&first), tokens(&second)), (json!(9), json!(5)));
}

#[tokio::test]
async fn a_wrong_message_is_refused_and_the_socket_goes_on() {
    let simulator = started().await;
    let mut client = connected(&simulator).await;
    for (message, status) in [
        (json!([]), 400),
        (json!({"type": "response.steer"}), 400),
        (json!({"type": "response.create", "input": "no model"}), 400),
        (
            json!({"type": "response.create", "model": "unknown", "input": "x"}),
            400,
        ),
        (create("[[fault:status:503]]"), 503),
    ] {
        client.send(message.clone()).await;
        let error = client.event().await;
        assert_eq!(error["type"], "error", "{message}");
        assert_eq!(error["status"], status, "{message}");
        assert!(error["error"]["message"].is_string());
    }
    client.send(create("hello")).await;
    client.until("response.completed").await;
}

#[tokio::test]
async fn a_fault_in_the_middle_of_a_response_cuts_the_socket() {
    let simulator = started().await;
    let mut client = connected(&simulator).await;
    client.send(create("[[fault:close_mid_stream:3]]")).await;
    assert_eq!(client.closed().await, None);
    let connection = logged(&simulator, |log| log.end.is_some()).await;
    assert_eq!(
        (connection.end, connection.frames_out),
        (Some(RealtimeEnd::Cut), 3)
    );
}

#[tokio::test]
async fn a_connection_ends_at_its_maximum_duration() {
    let settings = Settings {
        realtime: RealtimeSettings {
            session_millis: 200,
            ..RealtimeSettings::default()
        },
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let mut client = connected(&simulator).await;
    let error = client.error().await;
    assert_eq!(error["code"], "websocket_connection_limit_reached");
    assert_eq!(client.closed().await, Some(1001));
}
