//! An upgrade on one host under load: the new process takes the listening sockets, the old one lets its calls end.
//! Short in the gate; `just upgrade-drill` runs the long form.

use std::net::SocketAddr;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use trunkline_testkit::{Certificates, Nats, Redis};
use trunkline_upstream::Client;

use crate::faults::checker::judge;
use crate::faults::client_view::{ClientView, reported};
use crate::faults::formats::{CallParams, Pair};
use crate::faults::load::Call;
use crate::faults::number;
use crate::faults::prices::send;
use crate::faults::process_harness::{ProcessHarness, signal};

const STREAMS: &str = "TRUNKLINE_UPGRADE_STREAMS";
const RATE: &str = "TRUNKLINE_UPGRADE_RATE";
const UPGRADES: &str = "TRUNKLINE_UPGRADES";
const SECONDS: &str = "TRUNKLINE_UPGRADE_SECONDS";

/// Pause between two frames of an open stream.
const PACE_MS: u64 = 1_000;
const CALLERS: u64 = 16;
/// Between two connections that are opened for one question each.
const KNOCK_EVERY: Duration = Duration::from_millis(10);
/// Before the first upgrade, and between an upgrade and the next.
const BEFORE: Duration = Duration::from_millis(1_500);
/// A process that was replaced is gone so long after its last call.
const GONE_WITHIN: Duration = Duration::from_secs(30);

/// Callers that go on until they are told to stop.
pub(super) struct Callers {
    address: SocketAddr,
    key: String,
    rate: u64,
    goes_on: AtomicBool,
    made: AtomicU64,
    began: Instant,
}

impl Callers {
    pub(super) fn new(harness: &ProcessHarness, rate: u64) -> Self {
        Self {
            address: harness.address,
            key: harness.key.clone(),
            rate,
            goes_on: AtomicBool::new(true),
            made: AtomicU64::new(0),
            began: Instant::now(),
        }
    }

    pub(super) fn stop(&self) {
        self.goes_on.store(false, Ordering::Relaxed);
    }

    /// Calls at a steady rate, over connections that are kept.
    pub(super) async fn run(self: Arc<Self>) -> Vec<Call> {
        let mut running = JoinSet::new();
        for _ in 0..CALLERS {
            let callers = Arc::clone(&self);
            running.spawn(async move { callers.one().await });
        }
        running.join_all().await.into_iter().flatten().collect()
    }

    async fn one(&self) -> Vec<Call> {
        let client = Client::new(Duration::from_secs(5)).unwrap();
        let mut calls = Vec::new();
        while self.goes_on.load(Ordering::Relaxed) {
            let number = self.made.fetch_add(1, Ordering::Relaxed);
            let due = self.began + Duration::from_millis(number * 1_000 / self.rate);
            tokio::time::sleep_until(due.into()).await;
            let prompt = format!("[[id:c{number}]] [[tokens:{}]]", 1 + number % 20);
            let stream = number.is_multiple_of(3);
            let to = (self.address, self.key.as_str());
            calls.push(call(&client, to, &format!("c{number}"), &prompt, stream).await);
        }
        calls
    }

    /// Opens a connection for each question. None may be refused or left without an answer.
    async fn knock(self: Arc<Self>) -> u64 {
        let mut count = 0;
        while self.goes_on.load(Ordering::Relaxed) {
            let mut stream = TcpStream::connect(self.address)
                .await
                .unwrap_or_else(|error| panic!("connection {count} is refused: {error}"));
            let question = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
            stream.write_all(question).await.unwrap();
            let mut reply = Vec::new();
            stream.read_to_end(&mut reply).await.unwrap();
            let reply = String::from_utf8_lossy(&reply);
            assert!(reply.starts_with("HTTP/1.1 200"), "{count}: {reply}");
            count += 1;
            tokio::time::sleep(KNOCK_EVERY).await;
        }
        count
    }
}

/// One call. A connection that is refused or breaks fails the test.
pub(super) async fn call(
    client: &Client,
    to: (SocketAddr, &str),
    marker: &str,
    prompt: &str,
    stream: bool,
) -> Call {
    let began = Instant::now();
    let params = CallParams {
        prompt,
        stream,
        most: 3_000,
    };
    let mut outgoing = Pair::CHAT.call(to, params);
    outgoing.deadlines.total = Duration::from_secs(900);
    let sent = client.send(outgoing).await;
    let mut answer = sent.unwrap_or_else(|error| panic!("{marker} was not answered: {error}"));
    let id = answer
        .headers
        .get("x-request-id")
        .unwrap()
        .to_str()
        .unwrap();
    let id = Some(id.to_owned());
    let bytes = answer.whole(10_000_000).await;
    let bytes = bytes.unwrap_or_else(|error| panic!("{marker} was cut: {error}"));
    let status = answer.status.as_u16();
    let reported = reported(Pair::CHAT.caller, status, stream, &bytes);
    assert_eq!(reported, ClientView::Complete, "{marker}");
    Call {
        marker: marker.to_owned(),
        pair: Pair::CHAT,
        stream,
        id,
        reported,
        most: 100_000_000,
        began,
        ended: Instant::now(),
    }
}

/// Streams that are open over every upgrade.
async fn streams(harness: &ProcessHarness, count: u64, seconds: u64) -> JoinSet<Call> {
    let client = Client::new(Duration::from_secs(5)).unwrap();
    let frames = seconds * 1_000 / PACE_MS;
    let mut running = JoinSet::new();
    for number in 0..count {
        let (client, address, key) = (client.clone(), harness.address, harness.key.clone());
        running.spawn(async move {
            let marker = format!("s{number}");
            let prompt = format!("[[id:{marker}]] [[tokens:{frames}]] [[pace:{PACE_MS}]]");
            call(&client, (address, &key), &marker, &prompt, true).await
        });
    }
    let all = usize::try_from(count).unwrap();
    let began = Instant::now();
    while harness.simulator.requests().len() < all {
        assert!(began.elapsed() < GONE_WITHIN, "not all streams have begun");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    running
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_upgrades_one_host_and_no_client_notices() {
    let mut harness = ProcessHarness::new().await;
    let (count, rate) = (number(STREAMS, 50), number(RATE, 50));
    let (upgrades, seconds) = (number(UPGRADES, 2), number(SECONDS, 20));
    let open = streams(&harness, count, seconds).await;
    let callers = Arc::new(Callers::new(&harness, rate));
    let mut calling = JoinSet::new();
    calling.spawn(Arc::clone(&callers).run());
    let mut knocking = JoinSet::new();
    knocking.spawn(Arc::clone(&callers).knock());
    let mut replaced = Vec::new();
    let mut waits = Vec::new();
    for _ in 0..upgrades {
        tokio::time::sleep(BEFORE).await;
        let requested = Instant::now();
        replaced.push(harness.upgrade_gateway().await);
        waits.push(requested.elapsed().as_millis());
    }
    tokio::time::sleep(BEFORE).await;
    assert!(
        replaced.first_mut().unwrap().runs(),
        "the first process serves its streams"
    );
    let mut calls = open.join_all().await;
    let streamed = calls.len();
    callers.stop();
    let knocked = knocking.join_next().await.unwrap().unwrap();
    calls.extend(calling.join_next().await.unwrap().unwrap());
    for process in &mut replaced {
        process.is_gone(GONE_WITHIN).await;
    }
    judge(&harness, &calls).await;
    println!(
        "{upgrades} upgrades under {rate} calls a second and {streamed} open streams: {} calls, {knocked} new \
         connections, 0 refused, 0 cut, 0 lost charges; a new process served after {waits:?} ms",
        calls.len()
    );
    println!("figures: requests={}", calls.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_process_that_cannot_start_leaves_the_old_one_serving() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("notify");
    // As systemd listens to a service of Type=notify.
    let manager = UnixDatagram::bind(&place).unwrap();
    manager.set_nonblocking(true).unwrap();
    let setting = [("NOTIFY_SOCKET", kept(place.display()))];
    let mut harness = ProcessHarness::with_environment(&setting).await;
    let client = Client::new(Duration::from_secs(5)).unwrap();
    let broken = harness.folder.path().join("providers/broken.toml");
    std::fs::write(&broken, "this is no provider").unwrap();
    let old = harness.pid();
    signal(old, "-HUP").await;
    let to = (harness.address, harness.key.clone());
    let mut calls = Vec::new();
    // Longer than a new process needs to read its files.
    for number in 0..15 {
        let marker = format!("b{number}");
        let prompt = format!("[[id:{marker}]] [[tokens:3]]");
        calls.push(call(&client, (to.0, &to.1), &marker, &prompt, false).await);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let nodes = "SELECT string_agg(name, ' ' ORDER BY name) FROM ledger.node";
    assert_eq!(harness.postgres.ask(nodes).await, ["node-1"]);
    assert_eq!(harness.pid(), old);
    std::fs::remove_file(&broken).unwrap();
    // A newer release has migrated the database, and this one may run on it.
    let later = "INSERT INTO app.migration (version, name, checksum)
         VALUES (99990101000000, 'later', decode(repeat('00', 48), 'hex')) RETURNING name";
    harness.postgres.ask(later).await;
    let mut before = harness.upgrade_gateway().await;
    let after = harness.pid();
    calls.push(
        call(
            &client,
            (to.0, &to.1),
            "b99",
            "[[id:b99]] [[tokens:3]]",
            false,
        )
        .await,
    );
    before.is_gone(GONE_WITHIN).await;
    assert_eq!(harness.postgres.ask(nodes).await, ["node-1 node-1.2"]);
    let live = "SELECT string_agg(name, ' ') FROM ledger.node WHERE NOT is_leaving";
    assert_eq!(harness.postgres.ask(live).await, ["node-1.2"]);
    // The next one may not: no process of this release starts, and the one that runs goes on.
    let excluded = "UPDATE app.migration SET previous_runs = false
         WHERE version = 99990101000000 RETURNING name";
    harness.postgres.ask(excluded).await;
    signal(harness.pid(), "-HUP").await;
    for number in 0..10 {
        let marker = format!("e{number}");
        let prompt = format!("[[id:{marker}]] [[tokens:3]]");
        calls.push(call(&client, (to.0, &to.1), &marker, &prompt, false).await);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(harness.postgres.ask(live).await, ["node-1.2"]);
    // The audit is a process of this release, too.
    let allowed = "UPDATE app.migration SET previous_runs = true
         WHERE version = 99990101000000 RETURNING name";
    harness.postgres.ask(allowed).await;
    judge(&harness, &calls).await;
    let expected = [
        "READY=1".to_owned(),
        "RELOADING=1".to_owned(),
        "READY=1".to_owned(),
        "RELOADING=1".to_owned(),
        format!("MAINPID={after}"),
        "RELOADING=1".to_owned(),
        "READY=1".to_owned(),
    ];
    let received = states(&manager, expected.len()).await;
    assert_eq!(received, expected, "the manager follows");
}

/// The first lines of what a manager received, waiting for so many.
async fn states(manager: &UnixDatagram, count: usize) -> Vec<String> {
    let (mut found, began) = (Vec::new(), Instant::now());
    let mut text = [0; 2_048];
    while found.len() < count && began.elapsed() < GONE_WITHIN {
        match manager.recv(&mut text) {
            Ok(length) => {
                let text = String::from_utf8_lossy(&text[..length]).into_owned();
                found.push(text.lines().next().unwrap_or_default().to_owned());
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    found
}

/// Text that lives as long as the tests, for settings of a harness.
fn kept(text: impl std::fmt::Display) -> &'static str {
    Box::leak(text.to_string().into_boxed_str())
}

async fn counts_with_redis(harness: &ProcessHarness, why: &str) {
    let client = Client::new(Duration::from_secs(5)).unwrap();
    let began = Instant::now();
    loop {
        let page = send(&client, harness.admin.unwrap(), ("/metrics", None), &[]).await;
        let is_shared = "trunkline_limits_mode{mode=\"redis\"} 1\n";
        if page.text.contains(is_shared) && page.text.contains("trunkline_bus_up 1\n") {
            return;
        }
        assert!(began.elapsed() < GONE_WITHIN, "{why}: {}", page.text);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_changes_a_password_in_its_file_and_the_next_process_reads_it() {
    let certificates = Certificates::new().await;
    let (redis, port) = Redis::with_tls(&certificates, "first").await;
    let nats = Nats::with_tls(&certificates).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("redis-url");
    let write = |password: &str| {
        let url = format!("rediss://:{password}@localhost:{port}\n");
        std::fs::write(&file, url).unwrap();
    };
    write("first");
    let roots = kept(certificates.roots().display());
    let mut harness = ProcessHarness::with_environment(&[
        ("TRUNKLINE__REDIS__URL_FILE", kept(file.display())),
        ("TRUNKLINE__REDIS__TLS_ROOTS", roots),
        ("TRUNKLINE__REDIS__TIMEOUT_MS", "2000"),
        (
            "TRUNKLINE__NATS__URL",
            kept(format!("tls://localhost:{}", nats.address().port())),
        ),
        ("TRUNKLINE__NATS__TLS_ROOTS", roots),
    ])
    .await;
    counts_with_redis(&harness, "over TLS, by the first password").await;
    redis.change_password("first", "second");
    write("second");
    let mut before = harness.upgrade_gateway().await;
    before.is_gone(GONE_WITHIN).await;
    counts_with_redis(&harness, "by the second password").await;
    let client = Client::new(Duration::from_secs(5)).unwrap();
    let to = (harness.address, harness.key.as_str());
    let one = call(&client, to, "p1", "[[id:p1]] [[tokens:3]]", false).await;
    judge(&harness, &[one]).await;
}
