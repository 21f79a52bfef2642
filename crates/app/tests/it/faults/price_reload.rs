//! Prices that change while calls run on two nodes. Short in the gate; `just price-reload` runs the long
//! form.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use trunkline_db::SystemClock;
use trunkline_keyring::{Binding, Purpose};
use trunkline_types::Clock as _;
use trunkline_upstream::Client;

use crate::faults::prices::{
    Versions, bearer, quote, reprice, reprice_by_command, row, send, spoil,
};
use crate::faults::process_harness::ProcessHarness;

const CHANGES: &str = "TRUNKLINE_PRICE_RELOAD_CHANGES";
const SHORT_CHANGES: u64 = 16;
/// Every so many changes one is made by the command that an operator types.
const BY_COMMAND: u64 = 10;
const CLIENTS: usize = 12;
/// Calls a second at most; a slow machine gives fewer.
const RATE: u64 = 200;
/// A node must sell at a new price so soon after it was written.
const SEEN_WITHIN: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);

fn changes() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads how many changes there are; tests have no configuration"
    )]
    let variable = std::env::var(CHANGES);
    variable.map_or(SHORT_CHANGES, |text| {
        text.parse().expect("a number of changes")
    })
}

/// Callers that go on until they are told to stop.
struct Callers {
    nodes: [SocketAddr; 2],
    key: String,
    goes_on: AtomicBool,
    made: AtomicU64,
    began: Instant,
}

impl Callers {
    async fn run(self: Arc<Self>) -> Vec<String> {
        let mut running = JoinSet::new();
        for number in 0..CLIENTS {
            let callers = Arc::clone(&self);
            running.spawn(async move { callers.one(number).await });
        }
        running.join_all().await.into_iter().flatten().collect()
    }

    /// One caller: both nodes in turn, whole answers and streams. The ids of its calls, none of which
    /// may fail.
    async fn one(&self, number: usize) -> Vec<String> {
        let client = Client::new(Duration::from_secs(2)).unwrap();
        let own = bearer(&self.key);
        let mut ids = Vec::new();
        while self.goes_on.load(Ordering::Relaxed) {
            let made = self.made.fetch_add(1, Ordering::Relaxed);
            let due = self.began + Duration::from_millis(made * 1_000 / RATE);
            tokio::time::sleep_until(due).await;
            let node = self.nodes[(ids.len() + number) % 2];
            let stream = made.is_multiple_of(3);
            let prompt = format!("[[tokens:{}]]", 1 + made % 40);
            let body = json!({ "model": "sim-fast", "stream": stream, "max_tokens": 64,
                "messages": [{ "role": "user", "content": prompt }] });
            let path = ("/v1/chat/completions", Some(&body));
            let got = send(&client, node, path, &[("authorization", &own)]).await;
            assert_eq!(got.status, 200, "{got:?}");
            assert!(!stream || got.text.ends_with("data: [DONE]\n\n"), "{got:?}");
            ids.push(got.id);
        }
        ids
    }
}

/// How long it took until each node sold by a version.
async fn seen(nodes: [SocketAddr; 2], key: &str, version: &str) -> [Duration; 2] {
    let began = Instant::now();
    let one = async |node| {
        let client = Client::new(Duration::from_secs(2)).unwrap();
        loop {
            let reported = quote(&client, node, key, &question()).await;
            if reported["pricing_version"] == version {
                return began.elapsed();
            }
            assert!(began.elapsed() < 5 * SEEN_WITHIN, "{node} does not follow");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    let (first, second) = tokio::join!(one(nodes[0]), one(nodes[1]));
    [first, second]
}

fn question() -> Value {
    json!({ "model": "sim-fast", "max_tokens": 9, "messages": [{ "role": "user", "content": "Hello [[tokens:7]]" }] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_charge_is_that_of_its_version_while_prices_change_on_two_nodes() {
    let harness = ProcessHarness::new().await;
    let second = harness.second_node().await;
    let nodes = [harness.address, second.address];
    let client = Client::new(Duration::from_secs(2)).unwrap();
    let kept = quote(&client, nodes[0], &harness.key, &question()).await;
    let callers = Arc::new(Callers {
        nodes,
        key: harness.key.clone(),
        goes_on: AtomicBool::new(true),
        made: AtomicU64::new(0),
        began: Instant::now(),
    });
    #[expect(clippy::disallowed_methods, reason = "it is joined below")]
    let running = tokio::spawn(Arc::clone(&callers).run());
    let (mut waits, changes) = (Vec::new(), changes());
    for number in 1..=changes {
        let (input, output) = (2_000_000 + number * 3_001, 8_000_000 + number * 7_003);
        let version = if number.is_multiple_of(BY_COMMAND) {
            reprice_by_command(&harness, input, output).await
        } else {
            reprice(&harness, input, output).await
        };
        waits.extend(seen(nodes, &harness.key, &version).await);
    }
    honoured(&harness, nodes[1], &kept).await;
    waits.extend(spoilt(&harness, &second).await);
    let seconds = callers.began.elapsed().as_secs_f64();
    callers.goes_on.store(false, Ordering::Relaxed);
    let calls = running.await.unwrap();
    let versions = Versions::read(&harness).await;
    let mut used = std::collections::BTreeSet::new();
    for id in &calls {
        let row = row(&harness, id).await;
        assert_eq!(row.outcome, "complete", "{row:?}");
        assert_eq!(row.paid.nanos(), versions.price(&row), "{row:?}");
        used.insert(row.price_version);
    }
    waits.sort_unstable();
    let (median, longest) = (waits[waits.len() / 2], waits[waits.len() - 1]);
    println!(
        "{changes} changes, {} calls in {seconds:.0} s ({:.0} a second) under {} of {} versions; \
         a node followed after {} ms (median), {} ms (longest)",
        calls.len(),
        calls.len() as f64 / seconds,
        used.len(),
        versions.count(),
        median.as_millis(),
        longest.as_millis()
    );
    assert!(used.len() as u64 > changes / 2, "calls met the changes");
    assert!(longest < SEEN_WITHIN, "{longest:?}");
    assert_eq!(harness.balance().await.1, 0, "nothing is held");
    harness.audit().await;
    println!("figures: requests={}", calls.len());
}

/// A quote of one node is kept by the other after all changes; one that is another's or too old is
/// refused.
async fn honoured(harness: &ProcessHarness, node: SocketAddr, kept: &Value) {
    let client = Client::new(Duration::from_secs(2)).unwrap();
    let own = bearer(&harness.key);
    let call = async |body: &Value, id: &str| {
        let sent = [("authorization", own.as_str()), ("trunkline-quote", id)];
        send(&client, node, ("/v1/chat/completions", Some(body)), &sent).await
    };
    let id = kept["id"].as_str().unwrap();
    let got = call(&question(), id).await;
    assert_eq!(got.status, 200, "{got:?}");
    let charged = row(harness, &got.id).await;
    assert_eq!(charged.price_version, kept["pricing_version"]);
    let tokens = got.json()["usage"]["prompt_tokens"].as_i64().unwrap();
    assert_eq!(charged.paid.nanos(), tokens * 2_000 + 7 * 8_000);
    let mut other = question();
    other["max_tokens"] = 10.into();
    let got = call(&other, id).await;
    assert_eq!(
        (got.status, got.json()["error"]["code"].as_str()),
        (409, Some("quote_mismatch"))
    );
    // One of eleven minutes ago, as this gateway seals them.
    let at = SystemClock.now().plus_seconds(-660).micros();
    let lock = json!({ "r": 1, "a": at, "g": "default", "b": vec![0_u8; 32] }).to_string();
    let binding = Binding::of_account(harness.account, b"chat");
    let old = harness
        .keyring
        .seal_text(Purpose::Quotes, &binding, "tlq_", lock.as_bytes())
        .unwrap();
    let got = call(&question(), &old).await;
    assert_eq!(
        (got.status, got.json()["error"]["code"].as_str()),
        (409, Some("quote_expired"))
    );
}

/// A catalog that was written past the checks changes nothing but numbers and logs, and the next good
/// one is followed.
async fn spoilt(
    harness: &ProcessHarness,
    second: &crate::faults::process_harness::SecondNode,
) -> Vec<Duration> {
    let client = Client::new(Duration::from_secs(2)).unwrap();
    let nodes = [harness.address, second.address];
    let before = quote(&client, nodes[0], &harness.key, &question()).await;
    let number = spoil(
        harness,
        &json!({ "input": 1, "output": 1, "video_minute": 1 }),
    )
    .await;
    let refused = format!("trunkline_catalog_refused_revision {number}\n");
    let began = Instant::now();
    for admin in [harness.admin.unwrap(), second.admin] {
        while !send(&client, admin, ("/metrics", None), &[])
            .await
            .text
            .contains(&refused)
        {
            assert!(began.elapsed() < 2 * SEEN_WITHIN, "no node says {refused}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
    for node in nodes {
        let reported = quote(&client, node, &harness.key, &question()).await;
        assert_eq!(reported["pricing_version"], before["pricing_version"]);
        assert_eq!(reported["maximum_usd"], before["maximum_usd"]);
    }
    let log = String::from_utf8(std::fs::read(&second.log).unwrap()).unwrap();
    let line = log
        .lines()
        .find(|line| line.contains("catalog reload: the new catalog was rejected"));
    assert!(
        line.is_some_and(|line| line.contains("video_minute")),
        "{line:?}"
    );
    let version = reprice(harness, 5_000_000, 9_000_000).await;
    let waits = seen(nodes, &harness.key, &version).await;
    for admin in [harness.admin.unwrap(), second.admin] {
        let page = send(&client, admin, ("/metrics", None), &[]).await.text;
        assert!(
            page.contains("trunkline_catalog_refused_revision 0\n"),
            "{page}"
        );
    }
    waits.to_vec()
}
