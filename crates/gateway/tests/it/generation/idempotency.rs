//! Pictures, speech and transcripts asked for again: one upstream call, one charge, the same answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use trunkline_db::SystemClock;
use trunkline_gateway::Settings;
use trunkline_ledger::stored_responses;
use trunkline_store::PolicyFields;

use crate::generation::form::{Form, wav};
use crate::generation::harness::{CHARACTER, PICTURE};
use crate::response::GatewayResponse;
use crate::test_gateway::TestGateway;

const KEY: &str = "idempotency-key";
const RETRIES: &str = "x-stainless-retry-count";
const DRAW: &str = "/v1/images/generations";
const SAY: &str = "/v1/audio/speech";

fn cat() -> Value {
    json!({ "model": "brush", "prompt": "a cat on a roof", "response_format": "b64_json" })
}

fn replayed(got: &GatewayResponse) -> bool {
    got.header("idempotent-replayed").as_deref() == Some("true")
}

async fn names(harness: &TestGateway) -> i64 {
    let count = "SELECT count(*)::text FROM ledger.idempotency";
    harness.db.ask(count).await[0].parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_pictures_at_once_over_three_nodes_are_one() {
    let harness = TestGateway::generation().await;
    let many = harness
        .make_key(PolicyFields {
            concurrent_calls: Some(1_000),
            ..PolicyFields::default()
        })
        .await;
    let settings = Settings::default;
    let second = harness.node("n2", Arc::new(SystemClock), settings()).await;
    let third = harness.node("n3", Arc::new(SystemClock), settings()).await;
    let nodes = [harness.address, second.address, third.address];
    let body = Bytes::from(cat().to_string());
    let key = [(KEY, "k")];
    let one = async |at: usize| loop {
        let to = (nodes[at % 3], many.as_str());
        let sent = harness.send_as(to, Method::POST, DRAW, body.clone(), &key);
        let got = GatewayResponse::read(sent.await).await;
        // A disk that stands still is not what is tried here.
        if got.status != 503 {
            return got;
        }
    };
    let all = join_all((0..100).map(one)).await;
    assert!(all.iter().all(|got| got.status == 200), "{}", all[0].text());
    assert!(all.iter().all(|got| got.body == all[0].body));
    assert_eq!(all.iter().filter(|got| !replayed(got)).count(), 1);
    assert_eq!(harness.simulator.image_calls().len(), 1);
    assert_eq!(harness.spent().await, PICTURE);
    harness.audit().await;
}

// covers: D-4-51
#[tokio::test]
async fn a_library_that_tries_again_joins_its_first_picture_for_two_minutes() {
    let harness = TestGateway::generation().await;
    let try_of = async |count: &str| harness.post_with(DRAW, &cat(), &[(RETRIES, count)]).await;
    let first = try_of("0").await;
    assert_eq!(first.status, 200, "{}", first.text());
    let repeated = try_of("1").await;
    assert!(replayed(&repeated));
    assert_eq!(repeated.body, first.body);
    assert_eq!(repeated.id(), first.id());
    let fresh = try_of("0").await;
    assert!(!replayed(&fresh), "without a retry it is another picture");
    assert_eq!(try_of("2").await.id(), fresh.id(), "the newest is joined");
    let mut other = cat();
    other["prompt"] = json!("a dog");
    let dog = harness.post_with(DRAW, &other, &[(RETRIES, "1")]).await;
    assert!(!replayed(&dog), "another body is another picture");
    assert_eq!(harness.simulator.image_calls().len(), 3);
    harness.db.shift_clock(121).await;
    assert_eq!(stored_responses::purge(&harness.data).await, Ok(3));
    assert!(!replayed(&try_of("1").await));
    assert_eq!(harness.simulator.image_calls().len(), 4);
    assert_eq!(harness.spent().await, 4 * PICTURE);
    // Without the count, and for keys that keep nothing, nothing is kept.
    harness.db.shift_clock(121).await;
    assert_eq!(stored_responses::purge(&harness.data).await, Ok(1));
    harness.post(DRAW, &cat()).await;
    let strict = harness
        .make_key(PolicyFields {
            zero_retention: true,
            ..PolicyFields::default()
        })
        .await;
    for count in ["0", "1"] {
        let body = Bytes::from(cat().to_string());
        let to = (harness.address, strict.as_str());
        let tries = [(RETRIES, count)];
        let sent = harness.send_as(to, Method::POST, DRAW, body, &tries);
        let got = GatewayResponse::read(sent.await).await;
        assert_eq!(got.status, 200, "{}", got.text());
        assert!(!replayed(&got));
    }
    assert_eq!(names(&harness).await, 0);
    harness.audit_but_for_the_clock().await;
}

/// The library's patience ends before the picture is there; its next try gets that picture.
#[tokio::test]
async fn a_picture_that_its_library_left_is_there_for_the_next_try() {
    let harness = TestGateway::generation().await;
    let mut slow = cat();
    slow["prompt"] = json!("a cat [[fault:slow_first_byte:4000]]");
    let body = Bytes::from(slow.to_string());
    let first = harness.send_with(Method::POST, DRAW, body, &[(RETRIES, "0")]);
    let left = tokio::time::timeout(Duration::from_millis(1_500), first).await;
    assert!(left.is_err(), "no upstream answers so soon");
    let repeated = harness.post_with(DRAW, &slow, &[(RETRIES, "1")]).await;
    assert_eq!(repeated.status, 200, "{}", repeated.text());
    assert!(replayed(&repeated));
    assert_eq!(harness.simulator.image_calls().len(), 1);
    assert_eq!(harness.spent().await, PICTURE);
    harness.audit().await;
}

#[tokio::test]
async fn speech_that_is_cut_is_given_again_whole() {
    let harness = TestGateway::generation().await;
    let body = json!({ "model": "voice", "input": "Good morning to you all.", "voice": "alloy",
        "response_format": "wav" });
    let bytes = Bytes::from(body.to_string());
    let key = [(KEY, "k")];
    let mut cut = harness.send_with(Method::POST, SAY, bytes, &key).await;
    assert_eq!(cut.status, 200);
    let seen = cut.piece().await.unwrap().unwrap();
    drop(cut);
    let repeated = harness.post_with(SAY, &body, &key).await;
    assert!(replayed(&repeated));
    assert_eq!(
        repeated.header("content-type").as_deref(),
        Some("audio/wav")
    );
    assert!(repeated.body.starts_with(&seen));
    let plain = harness.post(SAY, &body).await;
    assert_eq!(repeated.body, plain.body, "all of it");
    assert_eq!(harness.spent().await, 2 * 24 * CHARACTER);
    assert_eq!(harness.simulator.audio_calls().len(), 2);
    harness.audit().await;
}

#[tokio::test]
async fn a_repeated_recording_replays_its_transcript_and_another_conflicts() {
    let harness = TestGateway::generation().await;
    let path = "/v1/audio/transcriptions";
    let form = |samples: u32| {
        let file = wav(samples);
        Form::default()
            .text("model", "ears")
            .file("file", "talk.wav", "audio/wav", &file)
    };
    let key = [(KEY, "k")];
    let first = form(16_800).send_with(&harness, path, &key).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let repeated = form(16_800).send_with(&harness, path, &key).await;
    assert!(replayed(&repeated));
    assert_eq!(repeated.body, first.body);
    let other = form(16_801).send_with(&harness, path, &key).await;
    assert_eq!(
        (other.status.as_u16(), other.code().as_str()),
        (409, "idempotency_conflict")
    );
    assert_eq!(harness.simulator.audio_calls().len(), 1);
    harness.spent().await;
    harness.audit().await;
}

#[tokio::test]
async fn image_edits_are_fingerprinted_by_content_and_not_by_form() {
    let harness = TestGateway::generation().await;
    let path = "/v1/images/edits";
    let source = crate::generation::edits::picture(&harness).await;
    let form = |prompt: &str| {
        Form::default()
            .text("model", "fine-brush")
            .text("prompt", prompt)
            .file("image", "cat.png", "image/png", &source)
    };
    let key = [(KEY, "k")];
    let first = form("a hat").send_with(&harness, path, &key).await;
    assert_eq!(first.status, 200, "{}", first.text());
    // Every client makes up a new boundary for the same form.
    let mut rewritten = Vec::new();
    let (old, new) = (&b"----form-of-a-test"[..], &b"----sent-once-more"[..]);
    let bytes = form("a hat").bytes();
    let mut rest = &bytes[..];
    while let Some((first, after)) = rest.split_first() {
        if let Some(behind) = rest.strip_prefix(old) {
            rewritten.extend_from_slice(new);
            rest = behind;
        } else {
            rewritten.push(*first);
            rest = after;
        }
    }
    let kind = "multipart/form-data; boundary=----sent-once-more";
    let headers = [("content-type", kind), (KEY, "k")];
    let sent = harness.send_with(Method::POST, path, Bytes::from(rewritten), &headers);
    let repeated = GatewayResponse::read(sent.await).await;
    assert!(replayed(&repeated), "{}", repeated.text());
    assert_eq!(repeated.body, first.body);
    let other = form("a coat").send_with(&harness, path, &key).await;
    assert_eq!(other.status, 409, "{}", other.text());
    assert_eq!(
        harness.simulator.image_calls().len(),
        2,
        "the source, and once"
    );
    harness.spent().await;
    harness.audit().await;
}
