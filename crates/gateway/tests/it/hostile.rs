//! Clients that mean no good: slow, ambiguous, oversized. Each is turned away without harm to others.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use trunkline_edge::settings::AcceptSettings;
use trunkline_gateway::Settings;
use trunkline_testkit::all_at_once;

use crate::test_gateway::{TestGateway, ask, ask_streaming};

const LONGEST: Duration = Duration::from_secs(10);

fn impatient() -> Settings {
    Settings {
        accept: AcceptSettings {
            head_wait: Duration::from_millis(400),
            body_wait: Duration::from_millis(400),
            ..AcceptSettings::default()
        },
        ..Settings::default()
    }
}

async fn connect(harness: &TestGateway) -> TcpStream {
    TcpStream::connect(harness.address).await.unwrap()
}

/// Everything the other side says until it closes.
async fn all(stream: &mut TcpStream) -> String {
    let mut reply = Vec::new();
    let read = tokio::time::timeout(LONGEST, stream.read_to_end(&mut reply)).await;
    // A reset is a way to close, too.
    drop(read.expect("the connection is closed in time"));
    String::from_utf8_lossy(&reply).into_owned()
}

async fn still_serves(harness: &TestGateway) {
    let got = harness.chat(&ask("Hello [[tokens:3]]")).await;
    assert_eq!(got.status, 200, "{}", got.text());
}

#[tokio::test]
async fn a_head_that_never_ends_is_not_waited_for() {
    let harness = TestGateway::with(impatient(), 10_000_000_000, 0).await;
    let mut stream = connect(&harness).await;
    let began = Instant::now();
    let half = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-slow: ";
    stream.write_all(half).await.unwrap();
    let reply = all(&mut stream).await;
    assert!(
        reply.is_empty() || reply.starts_with("HTTP/1.1 408"),
        "{reply}"
    );
    assert!(began.elapsed() < Duration::from_secs(3));
    still_serves(&harness).await;
}

#[tokio::test]
async fn a_clients_kept_connection_serves_its_next_request_after_the_deadline_of_a_head() {
    let harness = TestGateway::with(impatient(), 10_000_000_000, 0).await;
    let mut stream = connect(&harness).await;
    for end in ["", "connection: close\r\n"] {
        let request = format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{end}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1_000)).await;
    }
    let reply = all(&mut stream).await;
    assert_eq!(reply.matches("HTTP/1.1 200").count(), 2, "{reply}");
}

#[tokio::test]
async fn a_body_that_never_ends_is_not_waited_for() {
    let harness = TestGateway::with(impatient(), 10_000_000_000, 0).await;
    let mut stream = connect(&harness).await;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 1000\r\nconnection: close\r\n\r\n{{\"mo",
        harness.key
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let reply = all(&mut stream).await;
    assert!(reply.starts_with("HTTP/1.1 408"), "{reply}");
    assert!(reply.contains("request_timeout") && reply.contains("\"charged\":false"));
    assert_eq!(harness.wallets().await, [10_000_000_000, 0, 0, 0]);
    still_serves(&harness).await;
}

#[tokio::test]
async fn announced_bodies_reserve_their_bytes_before_they_arrive() {
    let settings = Settings {
        accept: AcceptSettings {
            max_body_bytes: 1_000,
            max_buffered_bytes: 10_000,
            account_share: 1,
            body_wait: Duration::from_secs(5),
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::with(settings, 10_000_000_000, 0).await;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\n",
        harness.key
    );
    let mut waiting = Vec::new();
    for length in ["content-length: 1000", "transfer-encoding: chunked"] {
        for _ in 0..5 {
            let mut stream = connect(&harness).await;
            let promise = format!("{head}{length}\r\n\r\n");
            stream.write_all(promise.as_bytes()).await.unwrap();
            waiting.push(stream);
        }
    }
    while harness.gateway.calls_in_flight() < 10 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let got = harness.chat(&ask("Hello")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (503, "overloaded")
    );
    drop(waiting);
    while harness.gateway.calls_in_flight() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    still_serves(&harness).await;
}

#[tokio::test]
async fn two_lengths_of_one_body_smuggle_nothing() {
    let harness = TestGateway::new().await;
    let smuggled = "GET /v1/balance HTTP/1.1\r\nhost: x\r\n\r\n";
    for order in [
        "content-length: 4\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ncontent-length: 4",
    ] {
        let mut stream = connect(&harness).await;
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\n{order}\r\nconnection: close\r\n\r\n{:x}\r\n{smuggled}\r\n0\r\n\r\n",
            harness.key,
            smuggled.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let reply = all(&mut stream).await;
        assert_eq!(reply.matches("HTTP/1.1").count(), 1, "{reply}");
        assert!(reply.starts_with("HTTP/1.1 400"), "{reply}");
        assert!(!reply.contains("paid_usd"));
    }
    let mut stream = connect(&harness).await;
    let twice = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nabcde";
    stream.write_all(twice.as_bytes()).await.unwrap();
    assert!(all(&mut stream).await.starts_with("HTTP/1.1 400"));
    still_serves(&harness).await;
}

#[tokio::test]
async fn heads_without_measure_are_refused() {
    let harness = TestGateway::new().await;
    let many: String = (0..500).map(|n| format!("x-h{n}: 1\r\n")).collect();
    let long = format!("x-long: {}\r\n", "a".repeat(200_000));
    for bomb in [many, long] {
        let mut stream = connect(&harness).await;
        let request = format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{bomb}\r\n");
        // The other side may close while we still write.
        drop(stream.write_all(request.as_bytes()).await);
        let reply = all(&mut stream).await;
        assert!(
            reply.is_empty() || reply.starts_with("HTTP/1.1 431"),
            "{reply}"
        );
    }
    still_serves(&harness).await;
}

/// One frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

#[tokio::test]
async fn a_rapid_reset_attack_closes_its_own_connection_only() {
    let harness = TestGateway::new().await;
    let mut stream = connect(&harness).await;
    let mut flood = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    flood.extend(frame(4, 0, 0, &[]));
    // :method GET, :scheme http, :path /, and :authority as a literal, from the static table.
    let head = [0x82, 0x86, 0x84, 0x01, 0x01, b'x'];
    for number in 0..20_000_u32 {
        let id = number * 2 + 1;
        flood.extend(frame(1, 0x05, id, &head));
        flood.extend(frame(3, 0, id, &8_u32.to_be_bytes()));
    }
    drop(stream.write_all(&flood).await);
    let closed = tokio::time::timeout(LONGEST, async {
        let mut bytes = [0_u8; 4_096];
        while matches!(stream.read(&mut bytes).await, Ok(read) if read > 0) {}
    });
    assert!(closed.await.is_ok(), "the flood's connection is closed");
    still_serves(&harness).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_stalled_reader_does_not_slow_ninety_nine_others() {
    let harness = TestGateway::new().await;
    let body = ask_streaming("Go on [[tokens:20000]]").to_string();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        harness.key,
        body.len()
    );
    let mut stalled = connect(&harness).await;
    stalled.write_all(request.as_bytes()).await.unwrap();
    let mut first = [0_u8; 16];
    stalled.read_exact(&mut first).await.unwrap();
    let began = Instant::now();
    let quick = ask_streaming("Quick [[tokens:20]]");
    let others = (0..99).map(|_| harness.chat(&quick));
    let answers = all_at_once(others.collect()).await;
    assert!(
        answers
            .iter()
            .all(|got| got.text().ends_with("data: [DONE]\n\n"))
    );
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    drop(stalled);
    harness.posted_at_rest().await;
    harness.audit().await;
}
