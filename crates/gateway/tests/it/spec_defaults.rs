//! The defaults of decision 5 as a customer meets them. What would take minutes is measured on a smaller scale.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use trunkline_gateway::{Settings, VideoJob, VideoSettings};
use trunkline_simulator::Fault;
use trunkline_upstream::Providers;

use crate::test_gateway::{GatewayResponse, TestGateway, account, ask, ask_streaming};
use crate::upstreams::always;
use crate::videos::{CAT, MONEY, cat, column, ended, generation, made, moved, quick, spent, until};

const PATH: &str = "/v1/chat/completions";

// covers: D-5-03
#[tokio::test]
async fn a_body_of_32_000_000_bytes_is_read_and_one_more_is_too_large() {
    let harness = TestGateway::new().await;
    let mut body = ask("Hello [[tokens:2]]").to_string();
    // Spaces behind it are a part of the body, and cost nothing.
    body.push_str(&" ".repeat(32_000_000 - body.len()));
    let sent = harness.send(Method::POST, PATH, Bytes::from(body.clone()));
    let got = GatewayResponse::read(sent.await).await;
    assert_eq!(got.status, 200, "{}", got.text());
    body.push(' ');
    let sent = harness.send(Method::POST, PATH, Bytes::from(body));
    let got = GatewayResponse::read(sent.await).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (413, "request_too_large")
    );
}

/// A connection that announces a body of the largest size and sends none of it.
async fn announces(harness: &TestGateway, key: &str) -> TcpStream {
    let mut stream = TcpStream::connect(harness.address).await.unwrap();
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: 32000000\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// The first words of the answer to one that is announced and finds no capacity.
async fn status_of(mut stream: TcpStream) -> String {
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.unwrap();
    String::from_utf8_lossy(&first).into_owned()
}

async fn becomes_in_flight(harness: &TestGateway, count: usize) {
    for _ in 0..1_000 {
        if harness.gateway.calls_in_flight() >= count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{} of {count} in flight", harness.gateway.calls_in_flight());
}

// covers: D-5-06, D-5-07
#[tokio::test]
async fn one_account_fills_a_fifth_of_the_gigabyte_of_buffers_and_all_together_no_more_than_it() {
    let harness = TestGateway::new().await;
    let say = async |key: &str| {
        let to = (harness.address, key);
        let body = Bytes::from(ask("Hello [[tokens:2]]").to_string());
        let got =
            GatewayResponse::read(harness.send_as(to, Method::POST, PATH, body, &[]).await).await;
        let code = (got.status != 200).then(|| got.code());
        (got.status.as_u16(), code)
    };
    let large = async |key: &str| {
        let to = (harness.address, key);
        let mut body = ask("Hello [[tokens:2]]").to_string();
        body.push_str(&" ".repeat(31_000_000));
        let sent = harness.send_as(to, Method::POST, PATH, Bytes::from(body), &[]);
        GatewayResponse::read(sent.await).await.status.as_u16()
    };
    let mut keys = vec![harness.key.clone()];
    for _ in 0..5 {
        let other = account(&harness.console, 10_000_000_000, 0).await;
        keys.push(
            harness
                .key_of(other, trunkline_store::PolicyFields::default())
                .await,
        );
    }
    // Six times 32 MB are within 200 MB, and a seventh is not.
    let mut waiting = Vec::new();
    for _ in 0..6 {
        waiting.push(announces(&harness, &keys[0]).await);
    }
    becomes_in_flight(&harness, 6).await;
    let more = announces(&harness, &keys[0]).await;
    assert_eq!(status_of(more).await, "HTTP/1.1 503", "its fifth is full");
    assert_eq!(say(&keys[1]).await.0, 200, "another account is served");
    assert_eq!(large(&keys[1]).await, 200, "also with a large body");
    // Five accounts fill 960 MB of the 1,000; the sixth has 32 MB more and no other.
    for key in &keys[1..5] {
        for _ in 0..6 {
            waiting.push(announces(&harness, key).await);
        }
    }
    becomes_in_flight(&harness, 30).await;
    waiting.push(announces(&harness, &keys[5]).await);
    becomes_in_flight(&harness, 31).await;
    let more = announces(&harness, &keys[5]).await;
    assert_eq!(
        status_of(more).await,
        "HTTP/1.1 503",
        "the gigabyte is full"
    );
    drop(waiting);
}

// covers: D-5-08
#[tokio::test]
async fn a_silent_stream_lives_for_the_setting_of_300_seconds_and_no_shipped_provider_has_less_for_chat()
 {
    assert_eq!(Settings::default().stream_idle, Duration::from_secs(300));
    let providers = Providers::builtin().unwrap();
    for name in providers.names() {
        let provider = providers.get(name).unwrap();
        let chats = provider.formats.iter().any(|format| {
            let name = format.as_str();
            [
                "openai_chat",
                "claude_messages",
                "openai_responses",
                "gemini",
            ]
            .contains(&name)
        });
        let is_test = name.starts_with("simulator");
        if chats && !is_test {
            assert_eq!(provider.idle_ms, 300_000, "{name}");
        }
    }
    // The same on a scale of a hundred: silence below the setting is borne, above it the stream ends.
    let settings = Settings {
        stream_idle: Duration::from_millis(3_000),
        ..Settings::default()
    };
    let harness = TestGateway::with(settings, 10_000_000_000, 0).await;
    harness
        .simulator
        .plan(always(Fault::HangMidStream { after_frames: 3 }));
    let began = std::time::Instant::now();
    let got = harness.chat(&ask_streaming("Go on [[tokens:20]]")).await;
    let took = began.elapsed();
    assert!((2_900..5_000).contains(&took.as_millis()), "{took:?}");
    assert!(got.text().contains("upstream_timeout"), "{}", got.text());
    assert_eq!(
        harness.posted_at_rest().await,
        10_000_000_000,
        "and costs nothing"
    );
    harness.audit().await;
}

/// What the schedule of a task says, as seconds.
async fn seconds(harness: &TestGateway, id: &str, what: &str) -> f64 {
    let text = column(harness, id, &format!("extract(epoch FROM {what})")).await;
    text.parse().unwrap()
}

/// Seconds until a task is polled.
async fn next_poll(harness: &TestGateway, id: &str) -> f64 {
    let uuid = id.strip_prefix("task_").unwrap();
    let query = format!(
        "SELECT extract(epoch FROM s.due_at - app.now())::text FROM app.video_schedule AS s
         WHERE s.task_id = '{uuid}' AND s.job = 'poll'"
    );
    harness.db.ask(&query).await[0].parse().unwrap()
}

// covers: D-5-10, D-5-11, D-5-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_video_is_polled_after_2_to_15_seconds_waits_2_hours_and_ends_after_24() {
    let defaults = VideoSettings::default();
    let harness = generation(Settings {
        video: VideoSettings {
            // Only how often we look for what is due, and how soon a full lane is tried again.
            polls_per_second: 1_000,
            queue_pause: quick().video.queue_pause,
            ..defaults
        },
        ..Settings::default()
    })
    .await;
    let id = made(&harness, &cat("[[job:stuck]]")).await;
    let is_about = |found: f64, expected: f64| (found - expected).abs() < 1.0;
    let deadline = seconds(&harness, &id, "deadline_at - created_at").await;
    assert!(is_about(deadline, 86_400.0), "{deadline}");
    let queue = seconds(&harness, &id, "queue_until - created_at").await;
    assert!(is_about(queue, 7_200.0), "{queue}");
    let first = next_poll(&harness, &id).await;
    assert!((0.0..=2.0).contains(&first), "{first}");
    // Young tasks are polled every two seconds, old ones every fifteen.
    for (age, pause) in [(3, 2.0), (900, 15.0)] {
        let polls = harness.simulator.video_jobs()[0].polls;
        harness.db.shift_clock(age).await;
        let mut left = f64::MAX;
        for _ in 0..200 {
            let due = trunkline_gateway::claim_video_jobs(&harness.gateway, VideoJob::Poll);
            due.await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            left = next_poll(&harness, &id).await;
            // While it is being polled it is leased for longer.
            if harness.simulator.video_jobs()[0].polls > polls && left < 20.0 {
                break;
            }
        }
        assert!((pause - 1.5..=pause + 0.1).contains(&left), "{age}: {left}");
    }
    assert_eq!(spent(&harness).await, CAT);
    // A day later it has failed, and its money is back.
    harness.db.shift_clock(86_400).await;
    let task = ended(&harness, &id).await;
    assert_eq!(task["error"]["code"], "deadline_exceeded");
    assert_eq!(moved(&harness, &id, "refund").await, CAT);
    // One for which no lane is free for two hours fails, and was never charged.
    let id = made(&harness, &cat("[[id:w]][[job:full:1000]]")).await;
    harness.db.shift_clock(7_190).await;
    assert_eq!(until(&harness, &id, "queued").await["status"], "queued");
    harness.db.shift_clock(20).await;
    let task = ended(&harness, &id).await;
    assert_eq!(
        (&task["status"], &task["error"]["code"]),
        (&json!("failed"), &json!("no_capacity"))
    );
    assert_eq!(moved(&harness, &id, "charge").await, 0);
    assert_eq!(harness.wallets().await, [MONEY, 0, 0, 0]);
    harness
        .db
        .shift_clock(-(3 + 900 + 86_400 + 7_190 + 20))
        .await;
    harness.audit().await;
}
