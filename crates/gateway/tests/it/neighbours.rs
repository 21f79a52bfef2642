//! One client cannot hurt another: silent connections, ambiguous and oversized requests, responses that
//! are not read.

mod closed_windows;
mod double_windows;
mod http2_client;
mod shares;
mod unread_replays;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use trunkline_edge::settings::AcceptSettings;
use trunkline_gateway::Settings;
use trunkline_testkit::all_at_once;

use crate::test_gateway::{TestGateway, ask};

/// With time for a busy machine. Such connections were open for ever.
const LONGEST: Duration = Duration::from_secs(40);

/// All that comes until the other side closes, and how long that took.
async fn until_closed(address: SocketAddr, sent: &[u8]) -> (String, Duration) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let began = Instant::now();
    stream.write_all(sent).await.unwrap();
    let mut reply = Vec::new();
    let read = tokio::time::timeout(LONGEST, stream.read_to_end(&mut reply)).await;
    drop(read.expect("the connection is closed in time"));
    (
        String::from_utf8_lossy(&reply).into_owned(),
        began.elapsed(),
    )
}

// G-06
#[tokio::test]
async fn a_connection_without_a_request_is_closed_at_the_deadline_of_its_head() {
    let settings = Settings {
        accept: AcceptSettings {
            head_wait: Duration::from_millis(700),
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::with(settings, 10_000_000_000, 0).await;
    let silent: [&[u8]; 4] = [
        b"",
        b"PRI * HT",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        b"GET / HTTP/1.1\r\nhost: ",
    ];
    let tries = silent.map(|sent| until_closed(harness.address, sent));
    for (reply, took) in all_at_once(tries.into()).await {
        assert!(!reply.contains("200 OK"), "{reply}");
        assert!(took < Duration::from_secs(8), "{took:?}");
    }
    // The admin listener has its own deadline.
    let tries = silent.map(|sent| until_closed(harness.admin, sent));
    for (_, took) in all_at_once(tries.into()).await {
        assert!(took < Duration::from_secs(30), "{took:?}");
    }
    assert_eq!(harness.chat(&ask("Hi [[tokens:3]]")).await.status, 200);
}

// G-18
#[tokio::test]
async fn a_request_that_can_be_read_in_two_ways_is_refused() {
    let harness = TestGateway::new().await;
    for request in [
        "GET /v1/models HTTP/1.1\nhost: x\n\n",
        "GET /v1/models HTTP/1.1\r\nhost: x\nconnection: close\r\n\r\n",
        "GET /v1/models HTTP/1.1\r\nhost: x\r\n\n",
        "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
    ] {
        let (reply, _) = until_closed(harness.address, request.as_bytes()).await;
        let statuses: Vec<&str> = reply
            .lines()
            .filter_map(|line| line.strip_prefix("HTTP/1.1 "))
            .collect();
        let last = statuses.last().copied().unwrap_or_default();
        assert!(last.starts_with("400"), "{request:?}: {reply}");
    }
    // Behind a good request the connection ends: the first one is answered, and no other.
    let request = "GET / HTTP/1.1\r\nhost: x\r\n\r\nGET / HTTP/1.1\nhost: x\n\n";
    let (reply, _) = until_closed(harness.address, request.as_bytes()).await;
    assert_eq!(reply.matches("HTTP/1.1 200").count(), 1, "{reply}");
    assert_eq!(harness.chat(&ask("Hi [[tokens:3]]")).await.status, 200);
}

// I-18
#[tokio::test]
async fn a_client_that_sends_without_reading_sees_that_its_body_is_too_large() {
    let settings = Settings {
        accept: AcceptSettings {
            max_body_bytes: 1_000_000,
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
    const MORE: usize = 40_000_000;
    let body = "a".repeat(MORE);
    for request in [
        format!("{head}content-length: {MORE}\r\n\r\n{body}"),
        format!("{head}transfer-encoding: chunked\r\n\r\n{MORE:x}\r\n{body}\r\n0\r\n\r\n"),
    ] {
        let (reply, _) = until_closed(harness.address, request.as_bytes()).await;
        assert!(reply.starts_with("HTTP/1.1 413"), "{reply}");
        assert!(reply.contains("request_too_large"), "{reply}");
    }
    assert_eq!(harness.chat(&ask("Hi [[tokens:3]]")).await.status, 200);
}
