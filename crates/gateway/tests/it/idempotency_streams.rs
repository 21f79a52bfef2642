//! A stream that is cut behind any of its frames and asked for again with its key: the same bytes, to the
//! end, and one charge. For every caller's format beside every upstream's.

use bytes::Bytes;
use futures_util::future::join_all;
use http::Method;

use crate::assertions::charged;
use crate::client_decode::Sse;
use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{FormatPair, harness, in_each, is_terminal, row_of, same};
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions};

const KEY: &str = "idempotency-key";
/// Cut at most behind so many frames.
const MOST_FRAMES: usize = 40;

fn ends(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    text.matches("\n\n").count() + text.matches("\r\n\r\n").count()
}

/// Reads so many frames of a stream and leaves.
async fn cut(
    harness: &TestGateway,
    pair: FormatPair,
    body: &Bytes,
    (key, after): (&str, usize),
) -> Vec<u8> {
    let path = pair.caller.path(&pair.model(), true);
    let headers = [(KEY, key)];
    let sent = harness.send_with(Method::POST, &path, body.clone(), &headers);
    let mut answer = sent.await;
    assert_eq!(answer.status, 200, "{pair}");
    let mut seen = Vec::new();
    while ends(&seen) < after {
        match answer.piece().await.unwrap() {
            Some(piece) => seen.extend_from_slice(&piece),
            None => break,
        }
    }
    seen
}

async fn send_with_key(
    harness: &TestGateway,
    pair: FormatPair,
    body: &Bytes,
    key: &str,
) -> GatewayResponse {
    let path = pair.caller.path(&pair.model(), true);
    let headers = [(KEY, key)];
    let sent = harness.send_with(Method::POST, &path, body.clone(), &headers);
    GatewayResponse::read(sent.await).await
}

/// Gemini's stream as one list is another shape of the same text, and another answer.
#[tokio::test]
async fn a_stream_as_a_list_is_given_again_as_that_list() {
    let harness = harness(TestOptions::default()).await;
    let pair = FormatPair {
        caller: ClientFormat::Gemini,
        upstream: ClientFormat::Chat,
        stream: true,
    };
    let params = CallParams {
        prompt: "Say hello [[tokens:5]]",
        ..CallParams::default()
    };
    let body = Bytes::from(pair.body(params).to_string());
    let path = format!("/v1beta/models/{}:streamGenerateContent", pair.model());
    let key = [(KEY, "k")];
    let call = async || {
        let sent = harness.send_with(Method::POST, &path, body.clone(), &key);
        GatewayResponse::read(sent.await).await
    };
    let first = call().await;
    assert!(first.json().as_array().unwrap().len() > 2);
    let repeated = call().await;
    assert_eq!(
        repeated.header("idempotent-replayed").as_deref(),
        Some("true")
    );
    assert_eq!(repeated.body, first.body);
    let events = send_with_key(&harness, pair, &body, "k").await;
    assert_eq!(events.status, 409, "{}", events.text());
    harness.posted_at_rest().await;
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_cut_behind_any_frame_is_given_again_whole_and_charged_once() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::streamed(), async |harness, pair| {
        let params = CallParams {
            prompt: "Say hello [[tokens:5]] [[pace:8]]",
            ..CallParams::default()
        };
        let body = Bytes::from(pair.body(params).to_string());
        // How many frames there are, and what they are.
        let key = format!("{pair} whole");
        let whole = send_with_key(harness, pair, &body, &key).await;
        let frames = ends(&whole.body).min(MOST_FRAMES);
        same("frames", frames > 4, true)?;
        let (calls, before) = (
            harness.simulator.requests().len(),
            harness.posted_at_rest().await,
        );
        let tried = (1..=frames).map(async |after| {
            let key = format!("{pair} {after}");
            let seen = cut(harness, pair, &body, (&key, after)).await;
            let got = send_with_key(harness, pair, &body, &key).await;
            let twice = send_with_key(harness, pair, &body, &key).await;
            same("status", got.status.as_u16(), 200)?;
            let is_replayed = got.header("idempotent-replayed");
            same("replayed", is_replayed.as_deref(), Some("true"))?;
            same("begins as it was seen", got.body.starts_with(&seen), true)?;
            same("is the same twice", got.body == twice.body, true)?;
            let frames = Sse::all(&got.text());
            let last = frames.last().ok_or("no frames")?;
            same("ends", is_terminal(pair.caller, last), true)?;
            let row = row_of(harness, &got).await;
            same("outcome", row.outcome.as_str(), "complete")?;
            Ok::<i64, String>(charged(&row))
        });
        let mut spent = 0;
        for tried in join_all(tried).await {
            spent += tried?;
        }
        same("charged", before - harness.posted_at_rest().await, spent)?;
        same("calls", harness.simulator.requests().len() - calls, frames)
    })
    .await;
}
