//! Many streams of speech at once, each client asking again and again: bounded memory, every call settled,
//! and the sum of what clients were told is what was charged. Short in the gate; `just speech-load` runs
//! the long form.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::memory::{Watch, resident_kb};
use super::{Kind, MediaHarness, MediaResult};
use crate::faults::number;
use crate::faults::process_harness::MONEY;

const STREAMS: &str = "TRUNKLINE_SPEECH_STREAMS";
const SECONDS: &str = "TRUNKLINE_SPEECH_SECONDS";
const SHORT_STREAMS: u64 = 60;
const SHORT_SECONDS: u64 = 10;
/// What one stream may take, its connections and its task included.
const EACH_KB: u64 = 128;
/// What the process may grow by beside its streams: buffers of pools, caches of the allocator.
const BESIDE_KB: u64 = 32_000;

/// What one client was told in all.
#[derive(Debug, Default)]
struct StreamTotals {
    calls: usize,
    /// Nano-USD.
    result: i64,
}

/// Speech of several seconds: twelve pieces or so, half a second apart.
fn params(number: u64) -> String {
    format!(
        "{} [[pace:500]]",
        "la ".repeat(usize::try_from(8 + number % 5).unwrap())
    )
}

async fn listens(harness: &MediaHarness, number: u64, until: Instant) -> StreamTotals {
    let mut totals = StreamTotals::default();
    while Instant::now() < until {
        let call = harness.ask(Kind::Speech, "voice", &params(number)).await;
        let MediaResult::Whole(cost) = call.result else {
            panic!("{call:?}");
        };
        totals.calls += 1;
        totals.result += cost;
    }
    totals
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_speech_streams_use_bounded_memory_and_charge_as_reported() {
    let (streams, seconds) = (
        number(STREAMS, SHORT_STREAMS),
        number(SECONDS, SHORT_SECONDS),
    );
    let harness = std::sync::Arc::new(MediaHarness::new(false).await);
    let first = harness.ask(Kind::Speech, "voice", "first").await;
    let MediaResult::Whole(mut result) = first.result else {
        panic!("{first:?}");
    };
    let pid = harness.process.pid();
    let (idle, watch) = (resident_kb(pid), Watch::over(pid));
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut clients = JoinSet::new();
    for number in 0..streams {
        let harness = std::sync::Arc::clone(&harness);
        clients.spawn(async move { listens(&harness, number, until).await });
    }
    let mut calls = 1;
    while let Some(totals) = clients.join_next().await {
        let totals = totals.unwrap();
        assert!(totals.calls > 0);
        calls += totals.calls;
        result += totals.result;
    }
    let highest = watch.highest_kb();
    let bound = idle + BESIDE_KB + streams * EACH_KB;
    println!(
        "{streams} clients for {seconds} s: {calls} calls, {result} nano-USD told; \
         idle {idle} kB, highest {highest} kB, bound {bound} kB"
    );
    assert!(highest <= bound, "{highest} kB, bound {bound} kB");
    harness.spent(result).await;
    let usage = harness.usage().await;
    assert_eq!(usage.len(), calls);
    assert!(usage.iter().all(|row| row.starts_with("complete ")));
    assert!(harness.losses().await.is_empty());
    let served = harness.process.simulator.requests();
    assert_eq!(served.iter().filter(|one| one.finished).count(), calls);
    let open = "SELECT count(*)::text FROM ledger.any_hold WHERE state = 'open'";
    assert_eq!(harness.process.postgres.ask(open).await, ["0"]);
    assert!(harness.process.balance().await.0 < MONEY);
    println!("figures: requests={calls}");
}
