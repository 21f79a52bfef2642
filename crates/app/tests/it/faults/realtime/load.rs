//! Many voice connections at once, whose server detects turns: bounded memory, all settled, and frames that wait for no
//! charge are hardly later than through a bare relay.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::bare_relay::{BareRelay, ticks};
use super::{MODEL, UPSTREAM_MODEL, Voice, audio, sold};
use crate::faults::media::memory::{Watch, resident_kb};
use crate::faults::number;
use crate::faults::process_harness::MONEY;

const CONNECTIONS: &str = "TRUNKLINE_REALTIME_CONNECTIONS";
const SECONDS: &str = "TRUNKLINE_REALTIME_SECONDS";
const SHORT_CONNECTIONS: u64 = 100;
const SHORT_SECONDS: u64 = 30;
/// What one connection may take.
const EACH_KB: u64 = 100;
/// What the process may grow by beside them: buffers of pools, caches of the allocator.
const BESIDE_KB: u64 = 32_000;
/// How much later a frame may be than through a bare relay, in the median.
const LATER: Duration = Duration::from_millis(2);
/// Frames whose processor time is measured: enough for the kernel's ticks of 10 ms.
const COUNTED_FRAMES: u64 = if cfg!(debug_assertions) {
    2_000
} else {
    40_000
};
/// Frames between two that clear the buffer and wait for it.
const BURST: u64 = 500;
/// A tenth of a second has a frame of its own.
const FRAME: Duration = Duration::from_millis(100);
const SPOKEN_FRAMES: usize = 10;
const SILENT_FRAMES: usize = 6;
const LOUD: i16 = 8_000;

#[derive(Debug, Default)]
struct Spoken {
    responses: usize,
    /// Nano-USD.
    cost: i64,
}

/// Speaks, is answered, and speaks on.
async fn speaks(address: SocketAddr, key: String, until: Instant) -> Spoken {
    let mut voice = Voice::connect(address, MODEL, &key).await.expect("open");
    let session = json!({ "type": "realtime", "instructions": "Be brief. [[tokens:4]]" });
    voice.session(session).await.expect("a session");
    let (loud, silent) = (audio(LOUD), audio(0));
    let mut spoken = Spoken::default();
    while Instant::now() < until {
        let mut beat = tokio::time::interval(FRAME);
        let loud = std::iter::repeat_n(&loud, SPOKEN_FRAMES);
        for frame in loud.chain(std::iter::repeat_n(&silent, SILENT_FRAMES)) {
            beat.tick().await;
            assert!(voice.send(frame).await);
        }
        let delivered = voice.delivered().await.expect("a response");
        spoken.responses += 1;
        spoken.cost += delivered.cost;
    }
    spoken
}

/// The median time of a frame there and back.
async fn median(address: SocketAddr, model: &str, key: &str, until: Instant) -> Duration {
    let mut voice = Voice::connect(address, model, key).await.expect("open");
    voice.until("session.created").await.expect("a session");
    let mut times = Vec::new();
    while Instant::now() < until {
        let began = Instant::now();
        assert!(
            voice
                .send(&json!({ "type": "input_audio_buffer.clear" }))
                .await
        );
        voice
            .until("input_audio_buffer.cleared")
            .await
            .expect("an answer");
        times.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    times.sort_unstable();
    times[times.len() / 2]
}

/// Sends frames of sound in a session that answers nothing.
async fn sends(address: SocketAddr, model: &str, key: &str) {
    let mut voice = Voice::connect(address, model, key).await.expect("open");
    let silent_session = json!({
        "type": "realtime", "output_modalities": ["text"], "audio": { "input": { "turn_detection": null } },
    });
    voice.session(silent_session).await.expect("a session");
    let frame = audio(LOUD);
    for _ in 0..COUNTED_FRAMES / BURST {
        for _ in 0..BURST {
            assert!(voice.send(&frame).await);
        }
        let clear = json!({ "type": "input_audio_buffer.clear" });
        assert!(voice.send(&clear).await);
        let cleared = voice.until("input_audio_buffer.cleared").await;
        cleared.expect("the end of a burst");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_voice_connections_use_bounded_memory_and_are_charged_as_reported() {
    let (connections, seconds) = (
        number(CONNECTIONS, SHORT_CONNECTIONS),
        number(SECONDS, SHORT_SECONDS),
    );
    let harness = sold(false).await;
    let (address, key) = (harness.address, harness.key.clone());
    let relay = BareRelay::to(harness.simulator.address());
    let pid = harness.pid();
    let (idle, watch) = (resident_kb(pid), Watch::over(pid));
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut clients = JoinSet::new();
    for _ in 0..connections {
        clients.spawn(speaks(address, key.clone(), until));
    }
    let (through_gateway, through_relay) = tokio::join!(
        median(address, MODEL, &key, until),
        median(relay.address, UPSTREAM_MODEL, &key, until)
    );
    let (mut responses, mut cost) = (0, 0);
    while let Some(spoken) = clients.join_next().await {
        let spoken = spoken.unwrap();
        assert!(spoken.responses > 0);
        responses += spoken.responses;
        cost += spoken.cost;
    }
    let highest = watch.highest_kb();
    let bound = idle + BESIDE_KB + connections * EACH_KB;
    let began = Instant::now();
    while harness.balance().await.1 != 0 {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "something is held"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(harness.balance().await, (MONEY - cost, 0));
    harness.audit().await;
    let process = PathBuf::from(format!("/proc/{pid}/stat"));
    let before = (ticks(&process), relay.ticks());
    sends(address, MODEL, &key).await;
    sends(relay.address, UPSTREAM_MODEL, &key).await;
    let (of_gateway, of_relay) = (ticks(&process) - before.0, relay.ticks() - before.1);
    println!(
        "{connections} connections for {seconds} s: {responses} responses, {cost} nano-USD; idle {idle} kB, \
         highest {highest} kB, bound {bound} kB; there and back {through_gateway:?}, bare {through_relay:?}; \
         ticks for {COUNTED_FRAMES} frames {of_gateway}, bare {of_relay}"
    );
    assert!(highest <= bound, "{highest} kB, bound {bound} kB");
    // There and back are two frames.
    let later = through_gateway.saturating_sub(through_relay) / 2;
    assert!(
        later <= LATER,
        "{through_gateway:?}, bare {through_relay:?}"
    );
    // Without optimisation both are mostly the compiler's own checks.
    if !cfg!(debug_assertions) {
        assert!(
            2 * of_gateway <= 3 * of_relay,
            "{of_gateway} ticks, bare {of_relay}"
        );
    }
    println!("figures: requests={responses}");
}
