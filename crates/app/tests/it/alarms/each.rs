//! Every alarm once, each by breaking the thing it is about. `database_away`, `redis_away` and `credentials_unopened` are
//! tested beside this file, `keyring_lags` with the keyring.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use trunkline_store::PolicyFields;
use trunkline_testkit::Nats;

use super::{ENCODED, Receiver};
use crate::faults::prices::spoil;
use crate::faults::process_harness::{ProcessHarness, account, add_channel, key_of, publish_text};

/// Upstreams of these models break: one rejects the credential, one is not there.
const REJECTED: &str = "rejected";
const UNREACHED: &str = "unreached";
/// The alarm `unbilled` is about more calls than this.
const UNBILLED: usize = 50;
/// Of an account that uses more than it has, nano-USD.
const WALLET: i64 = 1_000_000_000;

fn settings(receiver: &Receiver) -> Vec<(&'static str, &'static str)> {
    vec![
        ("TRUNKLINE__ALARMS__WEBHOOK_URL", receiver.url),
        ("TRUNKLINE__ALARMS__WEBHOOK_SECRET", ENCODED),
        ("TRUNKLINE__ALARMS__WAIT_SECONDS", "1"),
        ("TRUNKLINE__ALARMS__ACCOUNT_CALLS", "2"),
        ("TRUNKLINE__ALARMS__ACCOUNT_USD", "0.50"),
    ]
}

/// An upstream that rejects every credential, also that of a probe.
async fn rejecting(tasks: &mut JoinSet<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut piece = [0; 16_384];
            drop(stream.read(&mut piece).await);
            let body = json!({ "error": { "message": "Incorrect API key provided.",
                "type": "invalid_request_error", "code": "invalid_api_key" } })
            .to_string();
            let answer = format!(
                "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            );
            drop(stream.write_all(answer.as_bytes()).await);
        }
    });
    address
}

/// A model with one channel to an upstream.
async fn sell(harness: &ProcessHarness, model: &str, upstream: SocketAddr) {
    let record = format!(
        "[models.{model}]\ngroups = [\"default\"]\n[models.{model}.prices]\nbilling_unit = \"tokens\"\n\
         standard = {{ input = 2000000, output = 8000000 }}\n"
    );
    publish_text(&harness.console, &record).await;
    let models = BTreeMap::from([(model.to_owned(), model.to_owned())]);
    let base_url = format!("http://{upstream}/v1");
    let named = (model, "patient_chat".to_owned());
    add_channel(
        (&harness.console, &harness.keyring),
        named,
        &base_url,
        &models,
    )
    .await;
}

/// Sends a chat call.
async fn send(to: (SocketAddr, &str), model: &str, prompt: &str, stream: bool) -> TcpStream {
    let body = json!({
        "model": model, "stream": stream, "max_tokens": 4_000,
        "messages": [{ "role": "user", "content": prompt }],
    })
    .to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        to.1,
        body.len()
    );
    let mut line = TcpStream::connect(to.0).await.unwrap();
    line.write_all(head.as_bytes()).await.unwrap();
    line.write_all(body.as_bytes()).await.unwrap();
    line
}

async fn whole(mut line: TcpStream) -> String {
    let mut answer = String::new();
    line.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Calls both models again and again.
async fn call_on(to: (SocketAddr, String), goes_on: Arc<AtomicBool>) {
    while goes_on.load(Ordering::Relaxed) {
        for model in [REJECTED, UNREACHED] {
            let answer = whole(send((to.0, &to.1), model, "hello", false).await).await;
            assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_hears_of_broken_upstreams_of_nats_and_of_a_bad_catalog() {
    let (receiver, nats) = (Receiver::start().await, Nats::start().await);
    let mut environment = settings(&receiver);
    let url: &'static str = Box::leak(nats.url().into_boxed_str());
    environment.push(("TRUNKLINE__NATS__URL", url));
    let mut tasks = JoinSet::new();
    let mut harness = ProcessHarness::of_neighbours(4_096, &environment).await;
    sell(&harness, REJECTED, rejecting(&mut tasks).await).await;
    sell(&harness, UNREACHED, "127.0.0.1:9".parse().unwrap()).await;
    harness.roles = "edge,worker";
    harness.start_gateway().await;
    let goes_on = Arc::new(AtomicBool::new(true));
    let to = (harness.address, harness.key.clone());
    let mut calling = JoinSet::new();
    calling.spawn(call_on(to, Arc::clone(&goes_on)));
    nats.kill_9();
    // A copy that was not published for longer than a follower should wait.
    let late = "INSERT INTO app.outbox (id, topic, account_id, seq, body, created_at)
         VALUES ('01890000-0000-7000-8000-000000000001', 'task.completed', NULL, 1, '{}',
             app.now() - interval '10 minutes') RETURNING topic";
    harness.postgres.ask(late).await;
    let wrong = json!({ "input": 1, "output": 1, "video_minute": 1 });
    spoil(&harness, &wrong).await;
    for (name, subject) in [
        ("nats_away", ""),
        ("events_late", ""),
        ("catalog_rejected", ""),
        ("no_usable_credential", REJECTED),
        ("channel_left_alone", UNREACHED),
    ] {
        let message = receiver.reported("alarm.firing", name).await;
        assert!(message.is_signed(), "{message:?}");
        assert_eq!(message.json()["data"]["subject"], subject, "{name}");
    }
    goes_on.store(false, Ordering::Relaxed);
    calling.join_next().await.unwrap().unwrap();
    nats.restart();
    receiver.reported("alarm.resolved", "nats_away").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_hears_of_money_that_is_lost_and_of_holds_that_nothing_resolves() {
    let receiver = Receiver::start().await;
    let mut harness = ProcessHarness::of_neighbours(4_096, &settings(&receiver)).await;
    let poor = account(&harness.console, WALLET).await;
    let (_, poor) = key_of(&harness.console, poor, PolicyFields::default()).await;
    harness.start_gateway().await;
    let address = harness.address;
    let to = (address, harness.key.as_str());
    // An upstream that reports more than the wallet has.
    let prompt = "Short [[tokens:5]] [[fault:lying_usage:100000]]";
    let answer = whole(send((address, &poor), "sim-fast", prompt, false).await).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Clients that leave before the first byte.
    let mut left = Vec::new();
    for _ in 0..3 {
        let slow = "[[tokens:5]] [[fault:slow_first_byte:9000]]";
        left.push(send(to, "sim-fast", slow, false).await);
    }
    reached_upstream(&harness, 4).await;
    for line in left {
        line.set_zero_linger().unwrap();
        drop(line);
    }
    released(&harness).await;
    // A crash with many calls under way.
    let mut open = Vec::new();
    for _ in 0..=UNBILLED {
        open.push(send(to, "sim-fast", "[[tokens:500]] [[pace:200]]", true).await);
    }
    reached_upstream(&harness, 4 + UNBILLED + 1).await;
    harness.kill_gateway().await;
    // A hold of a task that no worker knows.
    let hold = format!(
        "INSERT INTO ledger.hold (request_id, account_id, owner, owner_id, node, epoch, paid, trial, budget_ids,
             budget_starts, model, endpoint, group_name, price_version, deadline, opened_at)
         SELECT app.uuid_v7_floor(app.now()), {}, 'task', app.uuid_v7_floor(app.now()), 'node-1', 1, 7, 0, '{{}}',
             '{{}}', 'm', 'e', 'default', decode(repeat('00', 32), 'hex'), app.now() - interval '1 hour',
             app.now() - interval '2 hours' RETURNING model",
        harness.account.number()
    );
    harness.postgres.ask(&hold).await;
    harness.roles = "edge,worker";
    harness.start_gateway().await;
    for name in [
        "account_overruns",
        "account_leaves",
        "unbilled",
        "holds_overdue",
    ] {
        let message = receiver.reported("alarm.firing", name).await;
        assert!(message.is_signed(), "{message:?}");
        assert_eq!(message.json()["data"]["node"], "", "all nodes read it");
    }
}

/// Waits until so many calls have come to the upstream.
async fn reached_upstream(harness: &ProcessHarness, calls: usize) {
    let began = std::time::Instant::now();
    while harness.simulator.requests().len() < calls {
        assert!(
            began.elapsed() < super::PATIENCE,
            "the upstream is not asked"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until nothing is held.
async fn released(harness: &ProcessHarness) {
    let began = std::time::Instant::now();
    while harness.balance().await.1 != 0 {
        assert!(began.elapsed() < super::PATIENCE, "money stays held");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
