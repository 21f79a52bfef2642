//! Many slow streams at once: what they take of memory is bounded, and comes back. Short in the gate;
//! `just streams` runs the long form.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;
use trunkline_upstream::Client;

use crate::arena::{Arena, MONEY};
use crate::load::{Told, outgoing, told};

const STREAMS: &str = "TRUNKLINE_STREAMS";
const SECONDS: &str = "TRUNKLINE_STREAMS_SECONDS";
/// Pause of a slow upstream between two frames, and of a slow reader between two reads.
const PACE_MS: u64 = 500;
/// What a stream may take at most, its connections and its task included.
const EACH_KB: u64 = 128;
/// What the process may grow by beside its streams: buffers of pools, caches of the allocator.
const BESIDE_KB: u64 = 32_000;

fn number(name: &str, short: u64) -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads how many and how long; tests have no configuration"
    )]
    let asked = std::env::var(name);
    asked.map_or(short, |text| text.parse().expect("a number"))
}

/// Kilobytes of memory that a process has.
fn memory_kb(pid: u32) -> u64 {
    let status = std::fs::read(format!("/proc/{pid}/status")).unwrap();
    let status = String::from_utf8(status).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    let figure = line.split_whitespace().next().unwrap();
    figure.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_streams_take_a_bounded_memory_and_give_it_back() {
    let arena = Arena::new().await;
    let (streams, seconds) = (number(STREAMS, 200), number(SECONDS, 30));
    let pid = arena.pid();
    wave(&arena, 20, 1).await;
    let idle = memory_kb(pid);
    let (first, after_first) = watched(&arena, streams, seconds).await;
    let (second, after_second) = watched(&arena, streams, seconds.min(30)).await;
    println!(
        "{streams} streams for {seconds} s: idle {idle} kB, highest {first} and {second} kB, \
         afterwards {after_first} and {after_second} kB"
    );
    let bound = idle + BESIDE_KB + streams * EACH_KB;
    assert!(first <= bound, "{first} kB, bound {bound} kB");
    // A second wave lives in what the first one gave back.
    assert!(second <= first + first / 5, "{first} kB, then {second} kB");
    assert!(after_second <= idle + BESIDE_KB, "{after_second} kB stay");
    let (paid, held) = arena.balance().await;
    assert!(held == 0 && paid < MONEY);
    arena.audit().await;
}

/// The highest memory during a wave, and what is left of it soon afterwards.
async fn watched(arena: &Arena, streams: u64, seconds: u64) -> (u64, u64) {
    let pid = arena.pid();
    let mut highest = 0;
    let wave = wave(arena, streams, seconds);
    tokio::pin!(wave);
    loop {
        tokio::select! {
            () = &mut wave => break,
            () = tokio::time::sleep(Duration::from_millis(200)) => highest = highest.max(memory_kb(pid)),
        }
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    (highest, memory_kb(pid))
}

/// Streams that last so long: half of them because the upstream is slow, half because the reader is.
async fn wave(arena: &Arena, streams: u64, seconds: u64) {
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
        let body = json!({
            "model": "sim-fast",
            "messages": [{ "role": "user", "content": prompt }],
            "stream": true,
            "max_tokens": 3_000,
        });
        let mut call = outgoing(arena.address, &arena.key, &body.to_string());
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
            assert_eq!(told(200, true, &text), Told::Complete);
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
}
