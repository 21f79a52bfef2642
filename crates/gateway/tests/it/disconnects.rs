//! Clients that leave.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use trunkline_gateway::Settings;
use trunkline_types::Money;

use crate::test_gateway::{TestGateway, ask, ask_streaming};
use crate::undelivered::{Close, ask_and_leave};

const PATH: &str = "/v1/chat/completions";

// covers: D-2-45, D-2-48
#[tokio::test]
async fn a_disconnected_client_pays_for_received_output_and_stops_the_upstream() {
    let harness = TestGateway::new().await;
    let body = ask_streaming("Go on [[tokens:5000]] [[pace:5]]").to_string();
    let mut answer = harness.send(Method::POST, PATH, Bytes::from(body)).await;
    let id = answer.headers["x-request-id"].to_str().unwrap().to_owned();
    let mut seen = 0;
    while seen < 2_000 {
        seen += answer.piece().await.unwrap().unwrap().len();
    }
    drop(answer);
    let left = harness.posted_at_rest().await;
    let (outcome, charged, _, estimated) = harness.usage(&id).await;
    assert_eq!((outcome.as_str(), estimated), ("client_gone", true));
    assert!(charged > 0 && charged < 5_000 * 8_000);
    assert_eq!(left, 10_000_000_000 - charged);
    for _ in 0..200 {
        if harness.simulator.requests()[0].client_left {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let truth = harness.simulator.requests();
    assert!(truth[0].client_left && truth[0].completion_tokens < 5_000);
    harness.audit().await;
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_pays_nothing() {
    let harness = TestGateway::new().await;
    let body = ask("Wait [[fault:hang_before_headers]]");
    ask_and_leave(&harness, PATH, &body, Close::Abrupt).await;
    assert_eq!(harness.posted_at_rest().await, 10_000_000_000);
    let outcome = "SELECT outcome FROM ledger.usage";
    assert_eq!(harness.db.ask(outcome).await, ["cancelled"]);
    harness.audit().await;
}

/// What three calls cost whose client leaves before the answer, with so much for the operator to bear.
async fn cancelled_calls(limit: i64) -> [i64; 3] {
    let settings = Settings {
        cancelled_input_usd: Money::from_nanos(limit),
        ..Settings::default()
    };
    let harness = TestGateway::with(settings, 10_000_000_000, 0).await;
    let words = format!("Wait [[fault:hang_before_headers]] {}", "x".repeat(4_000));
    let mut paid = [0; 3];
    for one in &mut paid {
        let before = harness.posted_at_rest().await;
        ask_and_leave(&harness, PATH, &ask(&words), Close::Abrupt).await;
        *one = before - harness.posted_at_rest().await;
    }
    harness.audit().await;
    paid
}

#[tokio::test]
async fn a_client_that_leaves_before_its_answers_pays_their_input_above_the_operators_limit() {
    let [price, second, third] = cancelled_calls(0).await;
    assert!(price > 0, "an operator can choose to bear nothing");
    assert_eq!((second, third), (price, price));
    assert_eq!(cancelled_calls(price * 2).await, [0, 0, price]);
}

#[tokio::test]
async fn a_stalled_reader_does_not_slow_other_readers() {
    let harness = TestGateway::new().await;
    let body = ask_streaming("Go on [[tokens:20000]]").to_string();
    let stalled = harness.send(Method::POST, PATH, Bytes::from(body)).await;
    let mut others = Vec::new();
    for _ in 0..20 {
        let body = ask_streaming("Quick [[tokens:20]]");
        others.push(harness.chat(&body).await);
    }
    assert!(
        others
            .iter()
            .all(|got| got.text().ends_with("data: [DONE]\n\n"))
    );
    drop(stalled);
    harness.posted_at_rest().await;
    harness.audit().await;
}
