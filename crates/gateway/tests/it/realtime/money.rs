//! What turns of a connection hold and cost.

use std::time::{Duration, Instant};

use serde_json::json;

use super::harness::{cost, price};
use crate::test_gateway::{TestGateway, TestOptions};

const TEN_USD: i64 = 10_000_000_000;

// covers: G-4-05, G-2.6-40, D-2-79, D-4-54, D-4-55
#[tokio::test]
async fn two_responses_of_one_connection_are_two_charges_of_what_the_vendor_served() {
    let harness = TestGateway::realtime(TEN_USD).await;
    let mut client = harness.connect().await;
    let created = client.until("session.created").await;
    assert_eq!(created["session"]["model"], "live-voice");
    client.text_session("Answer.").await;
    let mut charged = Vec::new();
    let mut ids = Vec::new();
    for words in ["Hello there", "And again"] {
        let done = client.ask(words).await;
        charged.push(cost(&done));
        let id = done["trunkline"]["request_id"].as_str().unwrap().to_owned();
        let (outcome, paid, _, estimated) = harness.usage(&id).await;
        assert_eq!(
            (outcome.as_str(), paid, estimated),
            ("complete", cost(&done), false)
        );
        ids.push(id);
    }
    assert_ne!(ids[0], ids[1]);
    client.close().await;
    let spent = TEN_USD - harness.at_rest().await;
    let served = harness.served();
    let prices: Vec<i64> = served
        .responses
        .iter()
        .map(|one| price(&one.usage))
        .collect();
    assert_eq!(charged, prices);
    assert_eq!(spent, prices.iter().sum::<i64>());
}

// covers: D-2-79
#[tokio::test]
async fn the_end_of_a_response_is_withheld_until_its_charge_is_written() {
    let harness = TestGateway::realtime_of(TestOptions {
        breakable: true,
        ..TestOptions::default()
    })
    .await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    client.text_session("Answer.").await;
    client.write("Slowly [[tokens:40]] [[pace:20]]").await;
    client.send(json!({ "type": "response.create" })).await;
    client.until("response.created").await;
    let wire = harness.wire.as_ref().unwrap();
    wire.delay(Duration::from_millis(700));
    client.until("response.output_text.done").await;
    let began = Instant::now();
    let done = client.until("response.done").await;
    let waited = began.elapsed();
    assert!(waited > Duration::from_millis(600), "{waited:?}");
    wire.pass();
    let id = done["trunkline"]["request_id"].as_str().unwrap();
    assert_eq!(harness.usage(id).await.1, cost(&done));
    client.close().await;
    harness.at_rest().await;
}

// covers: D-4-56
#[tokio::test]
async fn the_worst_case_of_the_next_response_is_held_before_a_client_can_begin_it() {
    let harness = TestGateway::realtime(TEN_USD).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    let [_, held, ..] = harness.wallets().await;
    // 4,096 tokens of speech, and input ahead.
    assert!(held >= 4_096 * 64_000 + 300 * 32_000, "{held}");
    client.text_session("Answer.").await;
    client.ask("Hello [[tokens:20]]").await;
    // The next one is held when it is asked for.
    client.write("And now? [[pace:100]] [[tokens:40]]").await;
    client.send(json!({ "type": "response.create" })).await;
    client.until("response.created").await;
    let [_, held, ..] = harness.wallets().await;
    assert!(held >= 4_096 * 24_000, "{held}");
    client.until("response.done").await;
    client.close().await;
    harness.at_rest().await;
}

#[tokio::test]
async fn a_wallet_of_one_dollar_holds_a_voice_conversation_of_ten_turns() {
    let harness = TestGateway::realtime(1_000_000_000).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    let session = json!({
        "type": "realtime", "instructions": "Be brief. [[tokens:4]]",
        "audio": { "input": { "transcription": { "model": "live-ears" } } },
    });
    client
        .send(json!({ "type": "session.update", "session": session }))
        .await;
    let updated = client.until("session.updated").await;
    let input = &updated["session"]["audio"]["input"];
    assert_eq!(input["transcription"]["model"], "live-ears");
    let longest = updated["session"]["max_output_tokens"].as_u64().unwrap();
    assert!(
        (64..4_096).contains(&longest),
        "a tenth of the wallet: {longest}"
    );
    let mut charged = 0;
    for _ in 0..10 {
        client.speak(500).await;
        let mut missing = vec![
            "response.done",
            "conversation.item.input_audio_transcription.completed",
        ];
        while !missing.is_empty() {
            let event = client.next().await.unwrap();
            assert_ne!(event["type"], "error", "{event}");
            if missing.contains(&event["type"].as_str().unwrap()) {
                missing.retain(|kind| *kind != event["type"]);
                charged += cost(&event);
            }
        }
    }
    client.close().await;
    let spent = 1_000_000_000 - harness.at_rest().await;
    let served = harness.served();
    assert_eq!(
        (served.responses.len(), served.transcriptions.len()),
        (10, 10)
    );
    let responses: i64 = served.responses.iter().map(|one| price(&one.usage)).sum();
    let seconds = served
        .transcriptions
        .iter()
        .map(|one| one.audio_millis.div_ceil(1_000));
    // A thousand tokens a minute, 6,000 nano-USD each.
    let seconds = i64::try_from(seconds.sum::<u64>()).unwrap();
    assert_eq!(spent, charged);
    assert_eq!(spent, responses + seconds * 100_000);
}

// covers: D-4-57, D-3-06
#[tokio::test]
async fn a_small_wallet_sees_cancel_error_and_close_in_this_order() {
    let wallet = 60_000_000;
    let harness = TestGateway::realtime(wallet).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    let session = json!({
        "type": "realtime", "instructions": "Talk. [[tokens:8]]",
        "audio": { "input": { "turn_detection": null } },
    });
    client
        .send(json!({ "type": "session.update", "session": session }))
        .await;
    client.until("session.updated").await;
    for _ in 0..20 {
        client.write("Go on").await;
        client.send(json!({ "type": "response.create" })).await;
    }
    let (events, code) = client.rest().await;
    let last = events.last().unwrap();
    assert_eq!(
        (last["type"].as_str(), code),
        (Some("error"), Some(1008)),
        "{last}"
    );
    assert_eq!(last["error"]["code"], "insufficient_balance");
    assert_eq!(last["error"]["type"], "insufficient_quota");
    let served = harness.ended().await;
    let cancels = served
        .events_in
        .iter()
        .find(|(kind, _)| kind == "response.cancel");
    assert_eq!(cancels.map(|(_, count)| *count), Some(1));
    let done = events
        .iter()
        .filter(|event| event["type"] == "response.done");
    let charged: i64 = done.map(cost).sum();
    assert!(charged > 0);
    assert_eq!(wallet - harness.at_rest().await, charged);
}

// covers: D-4-55
#[tokio::test]
async fn a_vendor_that_reports_no_usage_or_zero_is_counted_and_marked_estimated() {
    for fault in ["no_usage", "empty_usage", "zero_usage"] {
        let harness = TestGateway::realtime(TEN_USD).await;
        let mut client = harness.connect().await;
        client.until("session.created").await;
        client.text_session("Answer.").await;
        let words = format!("Count this [[fault:{fault}]] [[tokens:400]]");
        let done = client.ask(&words).await;
        let id = done["trunkline"]["request_id"].as_str().unwrap();
        let (outcome, paid, _, estimated) = harness.usage(id).await;
        assert_eq!((outcome.as_str(), estimated), ("complete", true), "{fault}");
        client.close().await;
        let spent = TEN_USD - harness.at_rest().await;
        assert_eq!(spent, paid, "{fault}");
        let truth = price(&harness.served().responses[0].usage);
        assert!(
            paid * 2 > truth && paid < truth * 2,
            "{fault}: {paid} of {truth}"
        );
    }
}

#[tokio::test]
async fn a_response_that_ends_twice_is_charged_once() {
    let harness = TestGateway::realtime(TEN_USD).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    client.text_session("Answer.").await;
    let first = client.ask("Twice [[fault:usage_twice]]").await;
    let second = client.until("response.done").await;
    assert!(second.get("trunkline").is_none());
    client.close().await;
    assert_eq!(TEN_USD - harness.at_rest().await, cost(&first));
}
