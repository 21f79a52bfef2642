//! G-04, G-06, G-07, G-17: one account attacks in every way at once, and another one is served as before.
//! A minute in the gate; `just neighbours` has more connections and more time.

mod attacks;
mod victim;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use trunkline_store::PolicyFields;

use self::attacks::{Attacks, exchange};
use self::victim::{Timed, Victim};
use crate::faults::media::memory::{Watch, resident_kb};
use crate::faults::number;
use crate::faults::process_harness::{MONEY, ProcessHarness, account, key_of};

const SILENT: &str = "TRUNKLINE_NEIGHBOURS_SILENT";
const SECONDS: &str = "TRUNKLINE_NEIGHBOURS_SECONDS";
const SHORT_SILENT: u64 = 500;
const SHORT_SECONDS: u64 = 40;
/// Of an attack's time, before it and again after it: a machine that becomes slower meanwhile is in both.
const QUIET_PART: u64 = 5;
/// Memory, a file, the disk for five of them, files behind links of this machine, and an address that vendors
/// can reach: a linked clip is measured only if they get the copy.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("TRUNKLINE__EDGE__MEMORY_MB", "200"),
    ("TRUNKLINE__UPLOADS__MAX_BYTES", "1010000"),
    ("TRUNKLINE__UPLOADS__MAX_ON_DISK_BYTES", "5000000"),
    ("TRUNKLINE__FETCH__ALLOWED_NETWORKS", "127.0.0.0/8"),
    ("TRUNKLINE__FETCH__HIGH_PORTS", "true"),
    ("TRUNKLINE__EDGE__PUBLIC_URL", "https://gateway.example.com"),
];
/// How much longer the slowest call of a hundred may take than in the quiet run.
const SLOWER: u32 = 3;
/// What is set above. One account may have a fifth of the half for calls, and always one largest body.
const MEMORY_KB: u64 = 200_000;
const SHARE_BYTES: u64 = 32_000_000;
const PRINTED: usize = 24;
const ENDS_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The slowest but the slowest hundredth.
fn p99(calls: &[Timed]) -> Duration {
    assert!(calls.len() >= 100, "{} calls are too few", calls.len());
    let mut times: Vec<Duration> = calls.iter().map(|call| call.took).collect();
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

/// The slowest calls, when they began and which they were: a stall of the machine takes all clients at once.
fn slowest(calls: &[Timed], since: Instant) -> Vec<String> {
    let mut calls = calls.to_vec();
    calls.sort_unstable_by_key(|call| std::cmp::Reverse(call.took));
    calls.truncate(PRINTED);
    calls.sort_unstable_by_key(|call| call.began);
    let line = |call: &Timed| {
        let at = call.began.duration_since(since).as_millis();
        format!("{}@{at}ms {}ms", call.number, call.took.as_millis())
    };
    calls.iter().map(line).collect()
}

/// Bytes that calls have in memory, by the gateway's own count.
async fn buffered(harness: &ProcessHarness) -> u64 {
    let request = "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let page = exchange(harness.admin.unwrap(), request.as_bytes()).await;
    let line = page
        .lines()
        .find_map(|line| line.strip_prefix("trunkline_buffered_bytes "));
    line.map_or(0, |bytes| bytes.trim().parse().unwrap())
}

async fn most_buffered(harness: &ProcessHarness, long: Duration) -> u64 {
    let (ends, mut most) = (Instant::now() + long, 0);
    while Instant::now() < ends {
        most = most.max(buffered(harness).await);
        tokio::time::sleep(LOOK_EVERY).await;
    }
    most
}

/// Waits until no call is in progress.
async fn at_rest(harness: &ProcessHarness) {
    let began = Instant::now();
    let query = "SELECT count(*)::text FROM ledger.any_hold WHERE state = 'open'";
    while harness.postgres.ask(query).await != ["0"] {
        assert!(began.elapsed() < ENDS_WITHIN, "calls do not end");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_attacks_in_every_way_at_once_slows_no_call_of_its_neighbour() {
    let (silent, seconds) = (number(SILENT, SHORT_SILENT), number(SECONDS, SHORT_SECONDS));
    // Fewer connections than there are silent sockets.
    let descriptors = u32::try_from(silent * 6 / 5).unwrap();
    let mut harness = ProcessHarness::of_neighbours(descriptors, &ENVIRONMENT).await;
    let other = account(&harness.console, MONEY).await;
    let (_, key) = key_of(&harness.console, other, PolicyFields::default()).await;
    harness.start_gateway().await;
    let victim = Arc::new(Victim::new(
        harness.address,
        key,
        harness.simulator.address(),
    ));
    let attacks = Attacks::prepare(harness.address, &harness.key).await;
    // What is loaded once is part of neither run.
    victim.calls_for(Duration::from_secs(2)).await;

    let quiet_for = Duration::from_secs((seconds / QUIET_PART).max(7));
    let mut quiet = victim.calls_for(quiet_for).await;
    let pid = harness.pid();
    let (idle, watch) = (resident_kb(pid), Watch::over(pid));
    let long = Duration::from_secs(seconds);
    let began = Instant::now();
    let running = attacks.start(usize::try_from(silent).unwrap()).await;
    let (attacked, buffered) = tokio::join!(victim.calls_for(long), most_buffered(&harness, long));
    let (highest, seen) = (watch.highest_kb(), running.stop().await);
    at_rest(&harness).await;
    quiet.extend(victim.calls_for(quiet_for).await);

    let calls = quiet.len() + attacked.len();
    let (before, during) = (p99(&quiet), p99(&attacked));
    println!("slowest under attack: {:?}", slowest(&attacked, began));
    println!(
        "p99 quiet {before:?}, attacked {during:?}; {calls} calls; memory {idle} kB, then {highest} kB, \
         {buffered} bytes of calls; {seen:?}"
    );
    seen.assert_attacked(silent);
    assert!(during <= before * SLOWER, "{before:?}, then {during:?}");
    assert!(
        buffered > SHARE_BYTES / 2 && buffered <= SHARE_BYTES,
        "{buffered}"
    );
    let bound = idle + MEMORY_KB;
    assert!(highest <= bound, "{highest} kB, bound {bound} kB");
    at_rest(&harness).await;
    harness.audit().await;
    println!("figures: requests={}", harness.simulator.requests().len());
}
