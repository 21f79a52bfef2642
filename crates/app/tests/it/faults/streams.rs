//! Many slow streams at once: what they take of memory is bounded, and comes back. Short in the gate;
//! `just streams` runs the long form.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use trunkline_upstream::Client;

use crate::faults::client_view::{ClientView, reported};
use crate::faults::formats::{CallParams, Pair};
use crate::faults::number;
use crate::faults::process_harness::{MONEY, ProcessHarness};

const STREAMS: &str = "TRUNKLINE_STREAMS";
const SECONDS: &str = "TRUNKLINE_STREAMS_SECONDS";
/// Pause of a slow upstream between two frames, and of a slow reader between two reads.
const PACE_MS: u64 = 500;
/// What a stream may take at most, its connections and its task included.
const EACH_KB: u64 = 128;
/// What the process may grow by beside its streams: buffers of pools, caches of the allocator.
const BESIDE_KB: u64 = 32_000;

/// Seconds of the second wave.
const SECOND_SECONDS: u64 = 10;
const LOOK_EVERY: Duration = Duration::from_millis(200);
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(60);

/// Kilobytes of memory that a process has for itself, without the pages of its own file.
fn memory_kb(pid: u32) -> u64 {
    let status = std::fs::read(format!("/proc/{pid}/status")).unwrap();
    let status = String::from_utf8(status).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .unwrap();
    let figure = line.split_whitespace().next().unwrap();
    figure.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_streams_take_a_bounded_memory_and_give_it_back() {
    let harness = ProcessHarness::new().await;
    let (streams, seconds) = (number(STREAMS, 200), number(SECONDS, 30));
    let pid = harness.pid();
    wave(&harness, 20, 1).await;
    let idle = memory_kb(pid);
    let first = highest(&harness, streams, seconds).await;
    let after = given_back(pid, idle, first).await;
    let second = highest(&harness, streams, SECOND_SECONDS).await;
    println!(
        "{streams} streams for {seconds} s: idle {idle} kB, highest {first} kB, \
         afterwards {after} kB, highest again {second} kB"
    );
    let bound = idle + BESIDE_KB + streams * EACH_KB;
    assert!(first <= bound, "{first} kB, bound {bound} kB");
    assert!(after <= half_way(idle, first), "{after} kB stay");
    // A second wave lives in what the first one gave back.
    assert!(
        second <= first + BESIDE_KB / 2,
        "{first} kB, then {second} kB"
    );
    let (paid, held) = harness.balance().await;
    assert!(held == 0 && paid < MONEY);
    harness.audit().await;
    println!("figures: requests={}", harness.simulator.requests().len());
}

/// The highest memory during a wave.
async fn highest(harness: &ProcessHarness, streams: u64, seconds: u64) -> u64 {
    let pid = harness.pid();
    let mut highest = 0;
    let wave = wave(harness, streams, seconds);
    tokio::pin!(wave);
    loop {
        tokio::select! {
            () = &mut wave => return highest,
            () = tokio::time::sleep(LOOK_EVERY) => highest = highest.max(memory_kb(pid)),
        }
    }
}

/// At least half of what a wave took must come back.
const fn half_way(idle: u64, highest: u64) -> u64 {
    idle + highest.saturating_sub(idle) / 2
}

/// Waits until the memory is given back: connections to the upstream are kept for half a minute.
async fn given_back(pid: u32, idle: u64, highest: u64) -> u64 {
    let began = Instant::now();
    loop {
        let now = memory_kb(pid);
        if now <= half_way(idle, highest) || began.elapsed() > GIVEN_BACK_WITHIN {
            return now;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Streams that last so long: half of them because the upstream is slow, half because the reader is.
async fn wave(harness: &ProcessHarness, streams: u64, seconds: u64) {
    let client = Client::new(Duration::from_secs(5)).unwrap();
    let frames = seconds * 1_000 / PACE_MS;
    let mut running = JoinSet::new();
    for number in 0..streams {
        let slow_reader = number.is_multiple_of(2);
        let prompt = if slow_reader {
            "[[tokens:3000]]".to_owned()
        } else {
            format!("[[tokens:{frames}]] [[pace:{PACE_MS}]]")
        };
        let params = CallParams {
            prompt: &prompt,
            stream: true,
            most: 3_000,
        };
        let mut call = Pair::CHAT.call((harness.address, &harness.key), params);
        call.deadlines.total = Duration::from_secs(seconds + 120);
        let client = client.clone();
        running.spawn(async move {
            let mut answer = client.send(call).await.unwrap();
            assert_eq!(answer.status, 200);
            let ends = Instant::now() + Duration::from_secs(seconds);
            let mut text = Vec::new();
            while slow_reader && Instant::now() < ends {
                if let Some(piece) = answer.piece().await.unwrap() {
                    text.extend_from_slice(&piece);
                }
                tokio::time::sleep(Duration::from_millis(PACE_MS)).await;
            }
            text.extend_from_slice(&answer.whole(10_000_000).await.unwrap());
            assert_eq!(
                reported(Pair::CHAT.caller, 200, true, &text),
                ClientView::Complete
            );
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
}
