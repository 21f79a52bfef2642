//! What goes wrong with realtime connections on demand.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::protocol::Message;
use trunkline_simulator::{Fault, RealtimeEnd, RealtimeFault, RealtimeUsage, Rule, Simulator};

use crate::client::{always, started};
use crate::realtime_client::{BEARER, PATH, connect, logged, talking, texting, types};

/// The usage of the next response whose text asks for this fault.
async fn usage_under(simulator: &Simulator, fault: &str) -> Option<serde_json::Value> {
    let mut client = texting(simulator, "").await;
    client.ask(&format!("hello [[fault:{fault}]]")).await;
    let done = client.done().await;
    assert_eq!(done["status"], "completed");
    done.get("usage").cloned()
}

#[tokio::test]
async fn a_vendor_leaves_the_usage_out() {
    let simulator = started().await;
    assert_eq!(usage_under(&simulator, "no_usage").await, None);
    let connection = logged(&simulator, |log| log.responses[0].status.is_some()).await;
    assert_eq!(connection.responses[0].fault, Some(Fault::NoUsage));
    assert_eq!(connection.responses[0].usage.output_text, 5);
    assert!(connection.responses[0].reported.is_empty());
}

#[tokio::test]
async fn a_vendor_sends_zeros_as_usage() {
    let simulator = started().await;
    let usage = usage_under(&simulator, "zero_usage").await.unwrap();
    assert_eq!(usage["total_tokens"], 0);
    assert_eq!(usage["output_token_details"]["text_tokens"], 0);
    let connection = logged(&simulator, |log| log.responses[0].status.is_some()).await;
    let served = &connection.responses[0];
    assert_eq!(served.reported, [RealtimeUsage::default()]);
    assert!(served.usage.input() > 0 && served.usage.output() == 5);
}

#[tokio::test]
async fn a_vendor_sends_an_empty_usage() {
    let simulator = started().await;
    let usage = usage_under(&simulator, "empty_usage").await;
    assert_eq!(usage, Some(json!({})));
}

#[tokio::test]
async fn a_vendor_spells_the_details_of_usage_in_the_plural() {
    let simulator = started().await;
    let usage = usage_under(&simulator, "plural_usage").await.unwrap();
    assert_eq!(usage["output_tokens_details"]["text_tokens"], 5);
    assert_eq!(usage.get("output_token_details"), None);
}

#[tokio::test]
async fn a_vendor_multiplies_the_usage() {
    let simulator = started().await;
    let usage = usage_under(&simulator, "lying_usage:10").await.unwrap();
    assert_eq!(usage["output_tokens"], 50);
}

#[tokio::test]
async fn a_vendor_sends_the_end_and_its_usage_twice() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.ask("[[fault:usage_twice]]").await;
    let first = client.done().await;
    assert_eq!(client.event().await["response"], first);
    let connection = logged(&simulator, |log| log.responses[0].done_events == 2).await;
    assert_eq!(connection.responses[0].reported.len(), 2);
}

#[tokio::test]
async fn a_vendor_never_sends_the_end_of_a_response() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.ask("[[fault:no_done]]").await;
    client.until("response.output_item.done").await;
    client.until("conversation.item.done").await;
    assert!(client.is_silent().await);
    let connection = logged(&simulator, |log| log.responses[0].status.is_some()).await;
    assert_eq!(connection.responses[0].done_events, 0);
    // The vendor itself has ended it.
    client.ask("hello").await;
    assert_eq!(client.done().await["status"], "completed");
}

#[tokio::test]
async fn a_vendor_hangs_in_the_middle_of_a_response_and_stays_connected() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.ask("[[fault:hang_mid_stream:6]]").await;
    client.until("response.output_text.delta").await;
    assert!(client.is_silent().await);
    client.send(json!({"type": "response.create"})).await;
    let code = client.error().await["code"].clone();
    assert_eq!(code, "conversation_already_has_active_response");
    let connection = logged(&simulator, |log| !log.errors.is_empty()).await;
    let served = &connection.responses[0];
    assert_eq!((served.status, served.usage.output_text), (None, 1));
}

#[tokio::test]
async fn a_vendor_cuts_the_connection_in_the_middle_of_a_response() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.ask("[[fault:close_mid_stream:7]]").await;
    client.until("response.output_text.delta").await;
    assert_eq!(client.closed().await, None);
    let connection = logged(&simulator, |log| log.end.is_some()).await;
    assert_eq!(connection.end, Some(RealtimeEnd::Cut));
    assert_eq!(connection.responses[0].usage.output_text, 2);
}

#[tokio::test]
async fn a_vendor_closes_in_the_middle_of_a_response_with_a_code() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.ask("[[fault:close_code:1013]]").await;
    assert_eq!(client.closed().await, Some(1013));
    let connection = logged(&simulator, |log| log.end.is_some()).await;
    assert_eq!(connection.end, Some(RealtimeEnd::Closed(1013)));
}

#[tokio::test]
async fn a_session_hits_its_maximum_duration_in_the_middle_of_a_response() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.ask("[[fault:expire]]").await;
    assert_eq!(client.error().await["code"], "session_expired");
    assert_eq!(client.closed().await, Some(1001));
}

#[tokio::test]
async fn a_vendor_sends_its_frames_slowly() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    let before = Instant::now();
    client.ask("[[fault:slow_drip:20]]").await;
    client.done().await;
    // Ten events beside five words, each but the first after its pause.
    assert!(before.elapsed() >= Duration::from_millis(14 * 20));
}

#[tokio::test]
async fn a_vendor_sends_a_frame_that_is_too_large() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.ask("[[fault:gigantic_frame:20000000]]").await;
    let events = client.until("response.output_text.delta").await;
    let delta = events.last().unwrap()["delta"].as_str().unwrap();
    assert_eq!(delta.len(), 20_000_000);
    assert_eq!(client.done().await["usage"]["output_tokens"], 5);
}

#[tokio::test]
async fn a_vendor_sends_malformed_json_and_goes_on() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.write("[[fault:garbage_frame:3]]").await;
    client.until("conversation.item.done").await;
    client.send(json!({"type": "response.create"})).await;
    for _ in 0..3 {
        client.event().await;
    }
    let garbage = client
        .message()
        .await
        .unwrap()
        .unwrap()
        .into_text()
        .unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&garbage).is_err());
    assert_eq!(client.done().await["status"], "completed");
}

#[tokio::test]
async fn a_vendor_cuts_the_end_of_a_response_in_its_middle() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.ask("[[fault:truncated_json]]").await;
    client.until("response.output_item.done").await;
    client.until("conversation.item.done").await;
    let cut = client
        .message()
        .await
        .unwrap()
        .unwrap()
        .into_text()
        .unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&cut).is_err());
}

#[tokio::test]
async fn a_vendor_sends_a_binary_frame_and_goes_on() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.write("[[fault:binary_frame:2]]").await;
    client.until("conversation.item.done").await;
    client.send(json!({"type": "response.create"})).await;
    client.until("rate_limits.updated").await;
    let message = client.message().await.unwrap().unwrap();
    assert!(matches!(message, Message::Binary(_)), "{message:?}");
    assert_eq!(client.done().await["status"], "completed");
}

#[tokio::test]
async fn a_vendor_sends_audio_as_binary_frames() {
    let simulator = started().await;
    let mut client = talking(&simulator, "[[fault:binary_audio]]").await;
    client.say(500).await;
    client.until("response.output_audio_transcript.delta").await;
    let message = client.message().await.unwrap().unwrap();
    // Five characters of 60 milliseconds.
    assert_eq!(message.into_data().len(), 300 * 48);
}

#[tokio::test]
async fn a_vendor_sends_an_event_of_an_unknown_type() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.ask("[[fault:unknown_event]]").await;
    let events = client.until("response.done").await;
    assert!(types(&events).contains(&"simulator.unknown"));
}

#[tokio::test]
async fn a_response_fails_and_one_is_stopped_by_a_filter() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.ask("[[fault:response_fails]]").await;
    let done = client.done().await;
    assert_eq!(done["status"], "failed");
    assert_eq!(done["status_details"]["error"]["type"], "server_error");
    client.ask("[[fault:filtered]] [[tokens:10]]").await;
    let done = client.done().await;
    assert_eq!(done["status_details"]["reason"], "content_filter");
    assert_eq!(done["usage"]["output_tokens"], 5);
    client.ask("[[fault:error_frame_mid_stream:6]]").await;
    assert_eq!(client.error().await["type"], "server_error");
    let done = client.done().await;
    assert_eq!(
        (&done["status"], &done["usage"]["output_tokens"]),
        (&json!("failed"), &json!(1))
    );
}

#[tokio::test]
async fn a_rule_strikes_the_response_that_it_names_and_no_upgrade() {
    let simulator = started().await;
    simulator.plan(Rule {
        times: Some(1),
        model: Some("sim-voice".to_owned()),
        ..always(Fault::Realtime(RealtimeFault::ZeroUsage))
    });
    let mut client = texting(&simulator, "").await;
    client.ask("one").await;
    assert_eq!(client.done().await["usage"]["total_tokens"], 0);
    client.ask("two").await;
    assert_ne!(client.done().await["usage"]["total_tokens"], 0);
}

#[tokio::test]
async fn a_rule_refuses_the_upgrade_and_spares_responses() {
    let simulator = started().await;
    simulator.plan(Rule {
        times: Some(1),
        ..always(Fault::Status(503))
    });
    let refused = connect(&simulator, PATH, &[BEARER])
        .await
        .err()
        .map(|error| *error);
    let Some(Error::Http(response)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(response.status(), 503);
    let mut client = texting(&simulator, "").await;
    simulator.plan(always(Fault::CloseBeforeHeaders));
    client.ask("hello").await;
    assert_eq!(client.done().await["status"], "completed");
    assert!(connect(&simulator, PATH, &[BEARER]).await.is_err());
}

#[tokio::test]
async fn a_misspelled_fault_is_refused_by_an_error() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.ask("[[fault:nonsense]]").await;
    assert_eq!(client.error().await["code"], "simulator_directive");
}

#[tokio::test]
async fn a_client_that_sends_too_large_a_message_is_closed_with_1009() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    let text = "x".repeat(25 * 1024 * 1024);
    // The simulator may close before all of it was written.
    let sent = futures_util::SinkExt::send(&mut client.socket, Message::text(text)).await;
    drop(sent);
    let connection = logged(&simulator, |log| log.end.is_some()).await;
    assert_eq!(connection.end, Some(RealtimeEnd::Closed(1009)));
}

#[tokio::test]
async fn a_client_that_sends_no_event_is_told_and_its_session_goes_on() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    for text in ["not json", "[]", "{}", r#"{"type": "no.such.event"}"#] {
        client.send_text(text.to_owned()).await;
        assert_eq!(
            client.error().await["type"],
            "invalid_request_error",
            "{text}"
        );
    }
    futures_util::SinkExt::send(&mut client.socket, Message::binary(vec![1]))
        .await
        .unwrap();
    assert_eq!(client.error().await["code"], "invalid_event");
    client.ask("hello").await;
    assert_eq!(client.done().await["status"], "completed");
}

#[tokio::test]
async fn a_client_that_vanishes_is_written_down_with_what_it_got() {
    let simulator = started().await;
    let mut client = texting(&simulator, "[[tokens:1000]] [[pace:5]]").await;
    client.ask("go").await;
    client.until("response.output_text.delta").await;
    drop(client);
    let connection = logged(&simulator, |log| log.end.is_some()).await;
    assert_eq!(connection.end, Some(RealtimeEnd::ClientLeft));
    let served = &connection.responses[0];
    assert_eq!(served.status, None);
    assert!((1..1000).contains(&served.usage.output_text));
}
