//! Conversations while things break: what a client got was charged once, at the price that was reported.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Delivered, MODEL, Voice, sold};
use crate::faults::number;
use crate::faults::process_harness::MONEY;

const FAULTS: &str = "TRUNKLINE_REALTIME_FAULTS";
const SHORT_FAULTS: u64 = 8;
/// Clients at once.
const CLIENTS: usize = 8;
/// Between two faults.
const PAUSE: Duration = Duration::from_millis(400);
/// After the last fault until nothing is held.
const REST: Duration = Duration::from_secs(60);
/// One in so many turns is left by its client.
const LEFT_ONE_IN: u64 = 7;

/// What breaks.
#[derive(Debug, Clone, Copy)]
enum Broken {
    Node,
    Database,
    Upstream,
    /// Clients vanish by themselves; their count is raised.
    Client,
}

const ALL: [Broken; 4] = [
    Broken::Node,
    Broken::Database,
    Broken::Upstream,
    Broken::Client,
];

struct Clients {
    is_over: AtomicBool,
    turns: AtomicU64,
    /// How many turns are to be left.
    to_leave: AtomicU64,
    left: AtomicU64,
}

/// One client: conversation after conversation, until it is over.
async fn talks(
    address: std::net::SocketAddr,
    key: String,
    clients: Arc<Clients>,
) -> Vec<Delivered> {
    let mut delivered = Vec::new();
    while !clients.is_over.load(Ordering::Relaxed) {
        let Some(mut voice) = Voice::connect(address, MODEL, &key).await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let session = json!({
            "type": "realtime", "output_modalities": ["text"], "instructions": "Answer.",
            "audio": { "input": { "turn_detection": null } },
        });
        if voice.session(session).await.is_none() {
            continue;
        }
        while !clients.is_over.load(Ordering::Relaxed) {
            let turn = clients.turns.fetch_add(1, Ordering::Relaxed);
            let content =
                [json!({ "type": "input_text", "text": "Go on [[tokens:30]] [[pace:5]]" })];
            let item = json!({ "type": "message", "role": "user", "content": content });
            let is_sent = voice
                .send(&json!({ "type": "conversation.item.create", "item": item }))
                .await
                && voice.send(&json!({ "type": "response.create" })).await;
            if !is_sent {
                break;
            }
            if turn.is_multiple_of(LEFT_ONE_IN) && takes_one(&clients.to_leave) {
                voice.until("response.output_text.delta").await;
                clients.left.fetch_add(1, Ordering::Relaxed);
                break;
            }
            match voice.delivered().await {
                Some(one) => delivered.push(one),
                None => break,
            }
        }
    }
    delivered
}

fn takes_one(count: &AtomicU64) -> bool {
    let taken = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
        left.checked_sub(1)
    });
    taken.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_realtime_clients_got_is_charged_once_whatever_breaks() {
    let faults = number(FAULTS, SHORT_FAULTS);
    let mut harness = sold(true).await;
    let clients = Arc::new(Clients {
        is_over: AtomicBool::new(false),
        turns: AtomicU64::new(0),
        to_leave: AtomicU64::new(0),
        left: AtomicU64::new(0),
    });
    let mut talking = JoinSet::new();
    for _ in 0..CLIENTS {
        talking.spawn(talks(
            harness.address,
            harness.key.clone(),
            Arc::clone(&clients),
        ));
    }
    for (broken, _) in ALL.iter().cycle().zip(0..faults) {
        tokio::time::sleep(PAUSE).await;
        match broken {
            Broken::Node => {
                harness.kill_gateway().await;
                harness.start_gateway().await;
            }
            Broken::Database => {
                harness.postgres.stop_immediate();
                harness.postgres.start();
            }
            Broken::Upstream => harness.road.cut(),
            Broken::Client => {
                clients.to_leave.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    tokio::time::sleep(PAUSE).await;
    clients.is_over.store(true, Ordering::Relaxed);
    let mut delivered = Vec::new();
    while let Some(of_client) = talking.join_next().await {
        delivered.extend(of_client.unwrap());
    }
    let began = Instant::now();
    while harness.balance().await.1 != 0 {
        assert!(began.elapsed() < REST, "something is still held");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let rows = "SELECT 'req_' || replace(request_id::text, '-', '') || ' ' || (paid + trial)
        FROM ledger.usage WHERE paid + trial > 0";
    let rows = harness.postgres.ask(rows).await;
    let charged: HashMap<&str, i64> = rows
        .iter()
        .map(|row| {
            let (request, nanos) = row.split_once(' ').unwrap();
            (request, nanos.parse().unwrap())
        })
        .collect();
    assert_eq!(charged.len(), rows.len(), "none is charged twice");
    for one in &delivered {
        assert_eq!(
            charged.get(one.request.as_str()),
            Some(&one.cost),
            "{one:?}"
        );
    }
    // What was charged and not taken may have been refunded.
    let spent = MONEY - harness.balance().await.0;
    let (reported, all): (i64, i64) = (
        delivered.iter().map(|one| one.cost).sum(),
        charged.values().sum(),
    );
    assert!(
        (reported..=all).contains(&spent),
        "{reported} {spent} {all}"
    );
    harness.audit().await;
    let (turns, left) = (
        clients.turns.load(Ordering::Relaxed),
        clients.left.load(Ordering::Relaxed),
    );
    assert!(!delivered.is_empty());
    println!(
        "{turns} turns, {} delivered, {left} left, {} charged",
        delivered.len(),
        charged.len()
    );
    println!("figures: requests={turns} faults={faults}");
}
