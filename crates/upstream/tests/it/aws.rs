//! Bedrock's answers through the client, and its signatures as they arrive.

use bytes::Bytes;
use http::HeaderValue;
use serde_json::Value;
use trunkline_types::{Secret, Timestamp};
use trunkline_upstream::{
    Ask, Auth, BodyError, Client, Credential, Format, Protocol, Providers, Task,
};

use crate::calls::{LONG, call};
use crate::recording::{Recording, ScriptedAnswer};

const NOW: Timestamp = Timestamp::from_micros(1_794_745_845_000_000);
const FRAMES: &str = "application/vnd.amazon.eventstream";
const MOST_BYTES: usize = 1 << 20;
const FIXTURES: &str = include_str!("../fixtures/eventstream.json");

fn fixture(name: &str) -> String {
    let all: Value = serde_json::from_str(FIXTURES).unwrap();
    all[name].as_str().unwrap().to_owned()
}

fn frames() -> Vec<u8> {
    let hex = fixture("bedrock");
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// An answer in frames, in pieces of a length that ends in the middle of things.
fn scripted(frames: &[u8]) -> ScriptedAnswer {
    ScriptedAnswer {
        content_type: FRAMES,
        pieces: frames.chunks(37).map(Bytes::copy_from_slice).collect(),
        ..ScriptedAnswer::json(200, "")
    }
}

#[tokio::test]
async fn an_answer_in_frames_is_read_as_server_sent_events() {
    let server = Recording::start(scripted(&frames())).await;
    let client = Client::new(LONG).unwrap();
    let ask = || {
        call(
            &server.at("/model/x/invoke-with-response-stream"),
            Protocol::Http1,
        )
    };
    let mut answer = client.send(ask()).await.unwrap();
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let mut events = Vec::new();
    while let Some(piece) = answer.piece().await.unwrap() {
        assert!(!piece.is_empty());
        events.extend(piece);
    }
    assert_eq!(String::from_utf8(events).unwrap(), fixture("sse"));

    let mut answer = client.send(ask()).await.unwrap();
    let mut events = Vec::new();
    while let Some(piece) = answer.next_piece().await.unwrap() {
        events.extend(piece);
    }
    assert_eq!(String::from_utf8(events).unwrap(), fixture("sse"));

    let mut answer = client.send(ask()).await.unwrap();
    assert_eq!(answer.whole(MOST_BYTES).await.unwrap(), fixture("sse"));
    let length = fixture("sse").len();
    let mut answer = client.send(ask()).await.unwrap();
    assert_eq!(answer.whole(length).await.unwrap().len(), length);
    let mut answer = client.send(ask()).await.unwrap();
    let most = length - 1;
    assert_eq!(answer.whole(most).await, Err(BodyError::TooLarge(most)));
}

#[tokio::test]
async fn a_truncated_or_broken_frame_is_an_error_after_the_good_ones() {
    let client = Client::new(LONG).unwrap();
    let all = frames();
    let mut damaged = all.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    for (bytes, words) in [
        (&all[..last], "the event stream ended inside a frame"),
        (&damaged, "a frame of the event stream is damaged"),
    ] {
        let server = Recording::start(scripted(bytes)).await;
        let request = call(&server.at("/"), Protocol::Http1);
        let mut answer = client.send(request).await.unwrap();
        let mut events = Vec::new();
        let ended = loop {
            match answer.piece().await {
                Ok(Some(piece)) => events.extend(piece),
                other => break other,
            }
        };
        assert_eq!(ended, Err(BodyError::Broken(words.to_owned())));
        let text = String::from_utf8(events).unwrap();
        assert!(fixture("sse").starts_with(&text));
        assert!(text.contains("event: message_delta") && !text.contains("message_stop"));
    }
}

#[tokio::test]
async fn other_answers_are_not_touched() {
    let server = Recording::start(ScriptedAnswer::json(200, "{\"id\":\"msg_1\"}")).await;
    let client = Client::new(LONG).unwrap();
    let request = call(&server.at("/model/x/invoke"), Protocol::Http1);
    let mut answer = client.send(request).await.unwrap();
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!(
        answer.whole(MOST_BYTES).await.unwrap(),
        "{\"id\":\"msg_1\"}"
    );
}

#[tokio::test]
async fn what_arrives_is_what_was_signed() {
    let server = Recording::start(ScriptedAnswer::json(200, "{}")).await;
    let client = Client::new(LONG).unwrap();
    let all = Providers::builtin().unwrap();
    let bedrock = all.get("bedrock").unwrap();
    let secret = Secret::new("AKIDEXAMPLE:canary-secret:canary-session@eu-west-1".to_owned());
    let opened = Credential::new(&bedrock.auth, &secret).unwrap();
    let ask = Ask {
        format: Format::ClaudeMessages,
        task: Task::Generate,
        model: "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.x-v1:0",
        stream: true,
        id: None,
    };
    let mut sent = call("http://x/", Protocol::Http1);
    sent.uri = bedrock.address(&server.at(""), &ask).unwrap();
    let json = HeaderValue::from_static("application/json");
    sent.headers.insert("content-type", json);
    let made = opened.headers(&client, &sent, NOW).await.unwrap();
    assert!(!format!("{made:?} {opened:?}").contains("canary"));
    sent.headers.extend(made);
    client.send(sent).await.unwrap();

    let came = server.came().remove(0);
    let host = came.headers["host"].to_str().unwrap();
    let mut repeated = call(&format!("http://{host}{}", came.path), Protocol::Http1);
    repeated.body = came.body.clone().into();
    for name in ["content-type", "x-amz-date", "x-amz-security-token"] {
        let value = came.headers[name].clone();
        repeated.headers.insert(name, value);
    }
    let made = opened.headers(&client, &repeated, NOW).await.unwrap();
    let signed = made
        .iter()
        .find(|(name, _)| name == "authorization")
        .unwrap();
    assert_eq!(came.headers["authorization"], signed.1);
    assert!(matches!(bedrock.auth, Auth::SigV4(_)));
}
