//! The faults of clients in every format and between all of them: clients that disconnect, do not read,
//! close their half, do not wait for an answer, or send what is no request.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use trunkline_edge::settings::AcceptSettings;
use trunkline_gateway::Settings;
use trunkline_store::keys;
use trunkline_testkit::all_at_once;
use trunkline_types::KeyId;

use crate::client_decode::{Sse, wrong};
use crate::client_encode::CallParams;
use crate::format_pairs::{ALL, FormatPair, harness, in_each, is_terminal, same};
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions};

/// A call as it stands on a connection.
fn raw(harness: &TestGateway, pair: FormatPair, prompt: &str) -> String {
    let body = pair.body(CallParams {
        prompt,
        ..CallParams::default()
    });
    let (path, body) = (
        pair.caller.path(&pair.model(), pair.stream),
        body.to_string(),
    );
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        harness.key,
        body.len()
    )
}

fn ids(answers: &str) -> Vec<&str> {
    let heads = answers.lines();
    heads
        .filter_map(|line| line.strip_prefix("x-request-id: "))
        .collect()
}

// row: C1
#[tokio::test]
async fn a_client_that_leaves_before_the_answer_pays_nothing_in_every_pair() {
    let harness = harness(TestOptions::default()).await;
    let calls = FormatPair::all().into_iter().map(|pair| {
        let request = raw(&harness, pair, "Wait [[fault:hang_before_headers]]");
        let address = harness.address;
        async move {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(request.as_bytes()).await.unwrap();
            client
        }
    });
    let clients = all_at_once(calls.collect()).await;
    let count = clients.len();
    for _ in 0..500 {
        if harness.simulator.requests().len() == count {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(harness.simulator.requests().len(), count, "all are asked");
    drop(clients);
    assert_eq!(harness.posted_at_rest().await, ALL);
    for _ in 0..500 {
        if harness.simulator.requests().iter().all(|it| it.client_left) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let truth = harness.simulator.requests();
    let stopped = truth.iter().filter(|it| it.client_left).count();
    assert_eq!(stopped, count, "every upstream is stopped");
    harness.audit().await;
}

// row: C3
#[tokio::test]
async fn a_stalled_reader_times_out_and_pays_in_every_format() {
    let settings = Settings {
        accept: AcceptSettings {
            reader_wait: Duration::from_millis(400),
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let harness = harness(TestOptions {
        settings,
        paid: 1_000_000_000_000,
        ..TestOptions::default()
    })
    .await;
    // Every caller and every upstream; all pairs would be many megabytes.
    let some = FormatPair::streamed().into_iter().step_by(3).collect();
    in_each(&harness, some, async |harness, pair| {
        let before = harness.posted_at_rest().await;
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let mut stalled = socket.connect(harness.address).await.unwrap();
        // More than sockets take on their own.
        let request = raw(harness, pair, "Go on [[fault:gigantic_body:12000000]]");
        stalled.write_all(request.as_bytes()).await.unwrap();
        let mut first = [0_u8; 200];
        stalled.read_exact(&mut first).await.unwrap();
        let head = String::from_utf8_lossy(&first).into_owned();
        same("status", head.starts_with("HTTP/1.1 200"), true)?;
        let id = *ids(&head).first().ok_or("no id in the head")?;
        let left = harness.posted_at_rest().await;
        let (outcome, charged, _, _) = harness.usage(id).await;
        same("outcome", outcome.as_str(), "client_gone")?;
        same("left", left, before - charged)?;
        same("charged", charged > 0, true)
    })
    .await;
}

// row: C4
#[tokio::test]
async fn a_client_that_closes_its_half_is_still_served_in_every_pair() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let before = harness.posted_at_rest().await;
        let mut client = TcpStream::connect(harness.address).await.unwrap();
        let request = raw(harness, pair, "Hello [[tokens:5]] [[pace:20]]");
        client.write_all(request.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        let reported = |what: String| format!("{what}: {answer}");
        same("status", answer.starts_with("HTTP/1.1 200"), true).map_err(reported)?;
        let id = *ids(&answer).first().ok_or("no id in the head")?;
        let (outcome, charged, _, _) = harness.usage(id).await;
        same("outcome", outcome.as_str(), "complete").map_err(reported)?;
        same("charged", charged > 0, true).map_err(reported)?;
        same("left", harness.posted_at_rest().await, before - charged)
    })
    .await;
}

// row: C5
#[tokio::test]
async fn pipelined_requests_of_all_formats_are_answered_in_order() {
    let harness = harness(TestOptions::default()).await;
    let pairs: Vec<FormatPair> = FormatPair::all()
        .into_iter()
        .filter(|it| !it.stream)
        .collect();
    let mut all = String::new();
    for (number, pair) in pairs.iter().enumerate() {
        let prompt = format!("[[id:p{number}]] [[tokens:3]]");
        all.push_str(&raw(&harness, *pair, &prompt));
    }
    let mut client = TcpStream::connect(harness.address).await.unwrap();
    client.write_all(all.as_bytes()).await.unwrap();
    client.shutdown().await.unwrap();
    let mut answers = String::new();
    client.read_to_string(&mut answers).await.unwrap();
    let good = answers.matches("HTTP/1.1 200").count();
    assert_eq!(good, pairs.len(), "{answers}");
    let truth = harness.simulator.requests().into_iter();
    let markers: Vec<String> = truth.filter_map(|served| served.marker).collect();
    let expected = (0..pairs.len()).map(|number| format!("p{number}"));
    assert_eq!(markers, expected.collect::<Vec<String>>());
    let mut charged = 0;
    for id in ids(&answers) {
        charged += harness.usage(id).await.1;
    }
    assert_eq!(harness.posted_at_rest().await, ALL - charged);
    harness.audit().await;
}

// row: C6
#[tokio::test]
async fn invalid_requests_are_refused_in_every_format_before_any_hold() {
    let settings = Settings {
        accept: AcceptSettings {
            max_body_bytes: 100_000,
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let harness = harness(TestOptions {
        settings,
        ..TestOptions::default()
    })
    .await;
    let own = |it: &FormatPair| it.caller == it.upstream;
    let callers = FormatPair::all().into_iter().filter(own).collect();
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(100_000));
    in_each(&harness, callers, async |harness, pair| {
        let cases = [
            ("{", "application/json", 400, "invalid_request"),
            ("[]", "application/json", 400, "invalid_request"),
            ("\u{0}", "application/json", 400, "invalid_request"),
            ("{}", "text/plain", 415, "unsupported_media_type"),
            (large.as_str(), "application/json", 413, "request_too_large"),
        ];
        for (body, kind, status, code) in cases {
            let path = pair.caller.path(&pair.model(), pair.stream);
            let bytes = Bytes::copy_from_slice(body.as_bytes());
            let sent = [("content-type", kind)];
            let got =
                GatewayResponse::read(harness.send_with(Method::POST, &path, bytes, &sent).await)
                    .await;
            let reported = |what: String| format!("{what}: {}", got.text());
            same("status", got.status.as_u16(), status).map_err(reported)?;
            let error = wrong(pair.caller, &got.json());
            same("code", error.code.as_str(), code).map_err(reported)?;
        }
        same("wallets", harness.wallets().await, [ALL, 0, 0, 0])
    })
    .await;
    assert!(harness.simulator.requests().is_empty());
}

// row: C8
#[tokio::test]
async fn a_key_revoked_during_streams_of_every_pair_ends_none_and_opens_none() {
    let harness = harness(TestOptions::default()).await;
    let id = harness.get("/v1/key").await.json()["id"].as_i64().unwrap();
    let send = async |pair: FormatPair, prompt: &str| {
        let body = pair.body(CallParams {
            prompt,
            ..CallParams::default()
        });
        let path = pair.caller.path(&pair.model(), pair.stream);
        let bytes = Bytes::from(body.to_string());
        harness.send(Method::POST, &path, bytes).await
    };
    let mut streams = Vec::new();
    for pair in FormatPair::streamed() {
        let answer = send(pair, "Go on [[tokens:60]] [[pace:60]]").await;
        assert_eq!(answer.status, 200, "{pair}");
        streams.push((pair, answer));
    }
    let mut tx = harness.console.begin().await.unwrap();
    keys::revoke(&mut tx, KeyId::new(id)).await.unwrap();
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
    for pair in FormatPair::all() {
        let got = GatewayResponse::read(send(pair, "Hello").await).await;
        let error = wrong(pair.caller, &got.json());
        assert_eq!(error.code, "revoked_api_key", "{pair}");
    }
    let mut charged = 0;
    for (pair, answer) in streams {
        let got = timeout(Duration::from_secs(20), GatewayResponse::read(answer)).await;
        let got = got.expect("the stream ends");
        let frames = Sse::all(&got.text());
        let last = frames.last().unwrap();
        assert!(is_terminal(pair.caller, last), "{pair}: {}", got.text());
        let (outcome, paid, _, _) = harness.usage(&got.id()).await;
        assert_eq!(outcome, "complete", "{pair}");
        charged += paid;
    }
    assert_eq!(harness.posted_at_rest().await, ALL - charged);
    harness.audit().await;
}
