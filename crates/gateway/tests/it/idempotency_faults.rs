//! A call with a key where something breaks: its node, its database, its money.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use trunkline_edge::settings::{AcceptSettings, LimitSettings};
use trunkline_gateway::Settings;
use trunkline_ledger::recovery;
use trunkline_types::{Money, NodeId};

use crate::idempotency::{ALL, KEY, PATH, post, replayed, three};
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions, ask, ask_streaming};

/// The node is replaced while a call with a key runs: what it held is let go and its key is free, so the
/// repetition runs anew, elsewhere, and is charged once.
#[tokio::test]
async fn a_node_that_dies_with_a_call_frees_its_key() {
    let harness = TestGateway::new().await;
    let (_nodes, addresses) = three(&harness).await;
    let body = ask_streaming("Slowly [[tokens:20]] [[pace:50]]");
    let bytes = Bytes::from(body.to_string());
    let key = [(KEY, "k")];
    let mut first = harness.send_with(Method::POST, PATH, bytes, &key).await;
    first.piece().await.unwrap();
    let node = NodeId::new("n1").unwrap();
    let (_, voided) = recovery::register(&harness.data, &node).await.unwrap();
    assert_eq!(voided, 1);
    let repeated = post(&harness, (addresses[1], &harness.key), &body, "k").await;
    assert_eq!(repeated.status, 200, "{}", repeated.text());
    assert!(!replayed(&repeated));
    let lost = GatewayResponse::read(first).await;
    assert!(!lost.text().contains("[DONE]"), "nothing of it was charged");
    let (_, charged, ..) = harness.usage(&repeated.id()).await;
    assert_eq!(harness.posted_at_rest().await, ALL - charged);
    let kept = post(&harness, (addresses[2], &harness.key), &body, "k").await;
    assert_eq!(
        kept.body, repeated.body,
        "the late end of the first changed nothing"
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_ledger_outage_at_settlement_charges_nothing_and_frees_the_key() {
    let harness = TestGateway::through_a_wire().await;
    let wire = harness.wire.as_ref().unwrap();
    let body = ask_streaming("Go on [[tokens:40]] [[pace:50]]");
    let bytes = Bytes::from(body.to_string());
    let key = [(KEY, "k")];
    let mut answer = harness.send_with(Method::POST, PATH, bytes, &key).await;
    answer.piece().await.unwrap();
    wire.refuse();
    let lost = GatewayResponse::read(answer).await;
    assert!(lost.text().contains("temporarily_unavailable"));
    assert!(!lost.text().contains("[DONE]"));
    wire.pass();
    assert_eq!(harness.posted_at_rest().await, ALL);
    let losses = harness.db.ask("SELECT reason FROM ledger.write_off").await;
    assert_eq!(losses, ["database_away"]);
    let mut repeated = harness.chat_with(&body, &key).await;
    for _ in 0..100 {
        if repeated.status != 503 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        repeated = harness.chat_with(&body, &key).await;
    }
    assert_eq!(repeated.status, 200, "{}", repeated.text());
    assert!(!replayed(&repeated));
    let (_, charged, ..) = harness.usage(&repeated.id()).await;
    assert_eq!(harness.posted_at_rest().await, ALL - charged);
    harness.audit().await;
}

/// What is kept says what was charged, also where the money did not reach for all that was used.
#[tokio::test]
async fn an_answer_that_took_all_the_money_is_given_again_with_what_was_charged() {
    let settings = Settings {
        tranche_tokens: 40,
        ..Settings::default()
    };
    let harness = TestGateway::with(settings, 1_500_000, 0).await;
    let body = ask_streaming("Go on [[tokens:5000]] [[pace:1]]");
    let key = [(KEY, "k")];
    let first = harness.chat_with(&body, &key).await;
    let (outcome, charged, ..) = harness.usage(&first.id()).await;
    assert_eq!(outcome, "balance_exhausted");
    let reported = Money::from_nanos(charged);
    let comment = format!(": trunkline-cost-usd={reported}\n");
    assert!(first.text().contains(&comment), "{}", first.text());
    let repeated = harness.chat_with(&body, &key).await;
    assert!(replayed(&repeated));
    assert_eq!(repeated.body, first.body);
    assert_eq!(harness.posted_at_rest().await, 1_500_000 - charged);
    harness.audit().await;
}

#[tokio::test]
async fn what_is_used_beyond_the_money_is_the_operators_loss_and_in_no_answer() {
    let harness = TestGateway::with(Settings::default(), 400_000, 0).await;
    let mut body = ask("Short [[tokens:5]] [[fault:lying_usage:1000]]");
    body["max_tokens"] = 10.into();
    let key = [(KEY, "k")];
    let first = harness.chat_with(&body, &key).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let (_, charged, ..) = harness.usage(&first.id()).await;
    assert_eq!(charged, 400_000, "all that there was");
    let reported = Money::from_nanos(charged).to_string();
    assert_eq!(first.header("trunkline-cost-usd"), Some(reported.clone()));
    let repeated = harness.chat_with(&body, &key).await;
    assert!(replayed(&repeated));
    assert_eq!(repeated.header("trunkline-cost-usd"), Some(reported));
    assert_eq!(repeated.body, first.body);
    let losses = harness.db.ask("SELECT reason FROM ledger.write_off").await;
    assert_eq!(losses, ["overrun"]);
    assert_eq!(harness.posted_at_rest().await, 400_000 - charged);
    harness.audit().await;
}

#[tokio::test]
async fn the_copy_that_is_kept_counts_as_memory_of_its_call() {
    let harness = TestGateway::new().await;
    let buffered = async || -> u64 {
        let page = harness.metrics().await;
        let line = page
            .lines()
            .find(|line| line.contains("buffered_bytes") && !line.starts_with('#'));
        line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
    };
    let body = ask_streaming("Go on [[tokens:300]] [[pace:5]]");
    let bytes = Bytes::from(body.to_string());
    let own = bytes.len() as u64;
    let key = [(KEY, "k")];
    let mut answer = harness.send_with(Method::POST, PATH, bytes, &key).await;
    let mut seen = 0;
    while seen < 4_000 {
        seen += answer.piece().await.unwrap().unwrap().len();
    }
    assert!(buffered().await >= own + 4_000);
    GatewayResponse::read(answer).await;
    harness.posted_at_rest().await;
    assert_eq!(buffered().await, 0);
}

#[tokio::test]
async fn a_replay_takes_the_read_limit_and_not_that_of_calls() {
    let settings = Settings {
        accept: AcceptSettings {
            limits: LimitSettings {
                requests_per_minute: 1,
                reads_per_minute: 2,
                ..LimitSettings::default()
            },
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::build(TestOptions {
        settings,
        paid: ALL,
        has_usual_limits: true,
        ..TestOptions::default()
    })
    .await;
    let key = [(KEY, "k")];
    let first = harness.chat_with(&ask("Hi"), &key).await;
    assert_eq!(first.status, 200, "{}", first.text());
    for _ in 0..2 {
        let repeated = harness.chat_with(&ask("Hi"), &key).await;
        assert!(replayed(&repeated), "{}", repeated.text());
        assert_eq!(repeated.body, first.body);
    }
    let refused = harness.chat_with(&ask("Hi"), &key).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert_eq!(refused.code(), "rate_limit_exceeded");
    assert!(refused.header("retry-after").is_some());
    harness.audit().await;
}

#[tokio::test]
async fn unread_replays_count_as_memory_of_their_account_and_end_at_its_share() {
    let settings = Settings {
        accept: AcceptSettings {
            max_body_bytes: 100_000,
            max_buffered_bytes: 40_000_000,
            account_share: 4,
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::with(settings, ALL, 0).await;
    let body = Bytes::from(ask_streaming("Go on [[tokens:19000]]").to_string());
    let key = [(KEY, "k")];
    let send = async || {
        let answer = harness
            .send_with(Method::POST, PATH, body.clone(), &key)
            .await;
        (answer.status.as_u16(), answer)
    };
    let first = GatewayResponse::read(send().await.1).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let length = first.body.len() as u64;
    assert!(length > 3_000_000, "{length}");
    let buffered = async || -> u64 {
        let page = harness.metrics().await;
        let line = page
            .lines()
            .find_map(|line| line.strip_prefix("trunkline_buffered_bytes "));
        line.unwrap().parse().unwrap()
    };
    // The share is 10,000,000: some unread replays fit, the next one is refused.
    let fit = 10_000_000 / length;
    let mut unread = Vec::new();
    for count in 1..=fit {
        let (status, answer) = send().await;
        assert_eq!(status, 200);
        unread.push(answer);
        assert_eq!(buffered().await, count * length);
    }
    let (status, refused) = send().await;
    assert_eq!(status, 503);
    drop(refused);
    drop(unread);
    while buffered().await > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (status, answer) = send().await;
    assert_eq!(status, 200);
    assert_eq!(GatewayResponse::read(answer).await.body, first.body);
    harness.audit().await;
}
