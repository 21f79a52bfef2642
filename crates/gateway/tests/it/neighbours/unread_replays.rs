//! G-07: responses that are not read are counted as memory of their account, and end in time.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;
use trunkline_edge::settings::AcceptSettings;
use trunkline_gateway::Settings;

use super::http2_client::ClosedWindow;
use crate::test_gateway::{TestGateway, ask, ask_streaming};

const KEY: &str = "idempotency-key";
const UNREAD: usize = 120;
/// What one account may have in memory here.
const SHARE: u64 = 40_000_000;

/// Kilobytes of memory that this process has, the gateway among it.
fn memory_kb() -> u64 {
    let status = std::fs::read("/proc/self/status").unwrap();
    let status = String::from_utf8(status).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

async fn buffered(harness: &TestGateway) -> u64 {
    let page = harness.metrics().await;
    let line = page
        .lines()
        .find_map(|line| line.strip_prefix("trunkline_buffered_bytes "));
    line.unwrap().parse().unwrap()
}

async fn becomes_empty(harness: &TestGateway) {
    let began = Instant::now();
    while buffered(harness).await > 0 {
        assert!(began.elapsed() < Duration::from_secs(90), "still buffered");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn large_answer(settings: Settings) -> (TestGateway, String, u64) {
    let harness = TestGateway::with(settings, 1_000_000_000_000, 0).await;
    let body = ask_streaming("Long [[tokens:24000]]");
    let first = harness.chat_with(&body, &[(KEY, "k")]).await;
    let bytes = u64::try_from(first.body.len()).unwrap();
    assert!((6_000_000..8_000_000).contains(&bytes), "{bytes} bytes");
    (harness, body.to_string(), bytes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_reads_none_of_its_replays_stays_within_the_share_of_its_account() {
    let settings = Settings {
        accept: AcceptSettings {
            max_buffered_bytes: 200_000_000,
            reader_wait: Duration::from_secs(20),
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let (harness, body, bytes) = large_answer(settings).await;
    let before = memory_kb();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n{KEY}: k\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        harness.key,
        body.len()
    );
    // Each reads its first bytes as they come: a replay without a reader is closed after a while.
    let mut heads = JoinSet::new();
    for _ in 0..UNREAD {
        let mut stream = TcpStream::connect(harness.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        heads.spawn(async move {
            let mut head = [0; 12];
            stream.read_exact(&mut head).await.unwrap();
            (stream, String::from_utf8_lossy(&head).into_owned())
        });
    }
    let (mut unread, mut statuses, mut most) = (Vec::new(), Vec::new(), 0);
    while let Some(answered) = heads.join_next().await {
        let (stream, status) = answered.unwrap();
        unread.push(stream);
        statuses.push(status);
        if statuses.len() % 10 == 0 {
            most = most.max(buffered(&harness).await);
        }
    }
    let grown = memory_kb().saturating_sub(before);
    assert!((bytes..=SHARE).contains(&most), "{most} bytes are counted");
    assert!(grown < 250_000, "{grown} kB for {UNREAD} unread replays");
    let given = statuses.iter().filter(|line| line.ends_with("200")).count();
    let refused = statuses.iter().filter(|line| line.ends_with("503")).count();
    assert_eq!(given + refused, UNREAD, "{statuses:?}");
    assert!(given >= 5 && refused > 0, "{given} given");
    // Another account is served meanwhile.
    let bearer = format!("Bearer {}", harness.make_account_key().await);
    let other = harness
        .chat_with(&ask("Hi"), &[("authorization", &bearer)])
        .await;
    assert_eq!(other.status, 402);
    // A client that reads nothing has gone.
    becomes_empty(&harness).await;
    drop(unread);
    harness.posted_at_rest().await;
    harness.audit().await;
}

#[tokio::test]
async fn a_client_with_a_closed_window_holds_its_replay_for_a_while_only() {
    let settings = Settings {
        accept: AcceptSettings {
            reader_wait: Duration::from_secs(3),
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let (harness, body, bytes) = large_answer(settings).await;
    let mut client = ClosedWindow::connect(harness.address).await;
    let request = Request::builder()
        .method("POST")
        .uri(format!("http://{}/v1/chat/completions", harness.address))
        .header("authorization", format!("Bearer {}", harness.key))
        .header("content-type", "application/json")
        .header(KEY, "k")
        .body(())
        .unwrap();
    let response = client.head(request, Bytes::from(body)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(buffered(&harness).await, bytes);
    becomes_empty(&harness).await;
    drop(response);
}

#[tokio::test]
async fn a_replay_is_one_call_in_flight_as_its_first_call_was() {
    let settings = Settings {
        accept: AcceptSettings {
            max_in_flight: 1,
            account_share: 1,
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::with(settings, 10_000_000_000, 0).await;
    let body = ask("Hi [[tokens:3]]");
    for replayed in [None, Some("true")] {
        harness.posted_at_rest().await;
        let got = harness.chat_with(&body, &[(KEY, "k")]).await;
        assert_eq!(got.status, 200, "{}", got.text());
        assert_eq!(got.header("idempotent-replayed").as_deref(), replayed);
    }
}
