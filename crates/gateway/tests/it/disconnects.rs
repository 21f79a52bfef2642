//! Clients that leave.

use std::time::Duration;

use bytes::Bytes;
use http::Method;

use crate::test_gateway::{TestGateway, ask, ask_streaming};

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
    let body = ask("Wait [[fault:hang_before_headers]]").to_string();
    let call = harness.send(Method::POST, PATH, Bytes::from(body));
    let gone = tokio::time::timeout(Duration::from_millis(400), call).await;
    assert!(gone.is_err());
    assert_eq!(harness.posted_at_rest().await, 10_000_000_000);
    harness.audit().await;
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
