//! A call with a key where something breaks: its node, its database, its money.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use trunkline_gateway::Settings;
use trunkline_ledger::recovery;
use trunkline_types::{Money, NodeId};

use crate::idempotency::{ALL, KEY, PATH, post, replayed, three};
use crate::test_gateway::{GatewayResponse, TestGateway, ask, ask_streaming};

/// The node is replaced while a call with a key runs: what it held is let go and its key is free, so the
/// repetition runs anew, elsewhere, and is charged once.
#[tokio::test]
async fn a_node_that_dies_with_a_call_frees_its_key() {
    let house = TestGateway::new().await;
    let (_nodes, addresses) = three(&house).await;
    let body = ask_streaming("Slowly [[tokens:20]] [[pace:50]]");
    let bytes = Bytes::from(body.to_string());
    let key = [(KEY, "k")];
    let mut first = house.send_with(Method::POST, PATH, bytes, &key).await;
    first.piece().await.unwrap();
    let node = NodeId::new("n1").unwrap();
    let (_, voided) = recovery::register(&house.data, &node).await.unwrap();
    assert_eq!(voided, 1);
    let again = post(&house, (addresses[1], &house.key), &body, "k").await;
    assert_eq!(again.status, 200, "{}", again.text());
    assert!(!replayed(&again));
    let lost = GatewayResponse::read(first).await;
    assert!(!lost.text().contains("[DONE]"), "nothing of it was charged");
    let (_, charged, ..) = house.usage(&again.id()).await;
    assert_eq!(house.posted_at_rest().await, ALL - charged);
    let kept = post(&house, (addresses[2], &house.key), &body, "k").await;
    assert_eq!(
        kept.body, again.body,
        "the late end of the first changed nothing"
    );
    house.audit().await;
}

#[tokio::test]
async fn a_ledger_outage_at_settlement_charges_nothing_and_frees_the_key() {
    let house = TestGateway::through_a_wire().await;
    let wire = house.wire.as_ref().unwrap();
    let body = ask_streaming("Go on [[tokens:40]] [[pace:50]]");
    let bytes = Bytes::from(body.to_string());
    let key = [(KEY, "k")];
    let mut answer = house.send_with(Method::POST, PATH, bytes, &key).await;
    answer.piece().await.unwrap();
    wire.refuse();
    let lost = GatewayResponse::read(answer).await;
    assert!(lost.text().contains("temporarily_unavailable"));
    assert!(!lost.text().contains("[DONE]"));
    wire.pass();
    assert_eq!(house.posted_at_rest().await, ALL);
    let losses = house.db.ask("SELECT reason FROM ledger.write_off").await;
    assert_eq!(losses, ["database_away"]);
    let mut again = house.chat_with(&body, &key).await;
    for _ in 0..100 {
        if again.status != 503 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        again = house.chat_with(&body, &key).await;
    }
    assert_eq!(again.status, 200, "{}", again.text());
    assert!(!replayed(&again));
    let (_, charged, ..) = house.usage(&again.id()).await;
    assert_eq!(house.posted_at_rest().await, ALL - charged);
    house.audit().await;
}

/// What is kept says what was charged, also where the money did not reach for all that was used.
#[tokio::test]
async fn an_answer_that_took_all_the_money_is_given_again_with_what_was_charged() {
    let settings = Settings {
        tranche_tokens: 40,
        ..Settings::default()
    };
    let house = TestGateway::with(settings, 1_500_000, 0).await;
    let body = ask_streaming("Go on [[tokens:5000]] [[pace:1]]");
    let key = [(KEY, "k")];
    let first = house.chat_with(&body, &key).await;
    let (outcome, charged, ..) = house.usage(&first.id()).await;
    assert_eq!(outcome, "balance_exhausted");
    let told = Money::from_nanos(charged);
    let comment = format!(": trunkline-cost-usd={told}\n");
    assert!(first.text().contains(&comment), "{}", first.text());
    let again = house.chat_with(&body, &key).await;
    assert!(replayed(&again));
    assert_eq!(again.body, first.body);
    assert_eq!(house.posted_at_rest().await, 1_500_000 - charged);
    house.audit().await;
}

#[tokio::test]
async fn what_is_used_beyond_the_money_is_the_operators_loss_and_in_no_answer() {
    let house = TestGateway::with(Settings::default(), 400_000, 0).await;
    let mut body = ask("Short [[tokens:5]] [[fault:lying_usage:1000]]");
    body["max_tokens"] = 10.into();
    let key = [(KEY, "k")];
    let first = house.chat_with(&body, &key).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let (_, charged, ..) = house.usage(&first.id()).await;
    assert!(charged > 0 && charged <= 400_000);
    let told = Money::from_nanos(charged).to_string();
    assert_eq!(first.header("trunkline-cost-usd"), Some(told.clone()));
    let again = house.chat_with(&body, &key).await;
    assert!(replayed(&again));
    assert_eq!(again.header("trunkline-cost-usd"), Some(told));
    assert_eq!(again.body, first.body);
    let losses = house.db.ask("SELECT reason FROM ledger.write_off").await;
    assert_eq!(losses, ["overrun"]);
    assert_eq!(house.posted_at_rest().await, 400_000 - charged);
    house.audit().await;
}

#[tokio::test]
async fn the_copy_that_is_kept_counts_as_memory_of_its_call() {
    let house = TestGateway::new().await;
    let buffered = async || -> u64 {
        let page = house.metrics().await;
        let line = page
            .lines()
            .find(|line| line.contains("buffered_bytes") && !line.starts_with('#'));
        line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
    };
    let body = ask_streaming("Go on [[tokens:300]] [[pace:5]]");
    let bytes = Bytes::from(body.to_string());
    let own = bytes.len() as u64;
    let key = [(KEY, "k")];
    let mut answer = house.send_with(Method::POST, PATH, bytes, &key).await;
    let mut seen = 0;
    while seen < 4_000 {
        seen += answer.piece().await.unwrap().unwrap().len();
    }
    assert!(buffered().await >= own + 4_000);
    GatewayResponse::read(answer).await;
    house.posted_at_rest().await;
    assert_eq!(buffered().await, 0);
}
