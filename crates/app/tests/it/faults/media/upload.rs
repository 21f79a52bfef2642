//! Uploads of any size in little memory. Two hundred megabytes in the gate; `just upload` sends the
//! largest that is sold, two gigabytes.

use std::time::Instant;

use super::form::{self, Sound};
use super::memory::{Watch, line_kb, resident_kb};
use super::{Kind, MediaHarness, MediaResult, cost_of, id_of};
use crate::faults::process_harness::SECOND;

const BYTES: &str = "TRUNKLINE_UPLOAD_BYTES";
const SHORT_BYTES: u64 = 200_000_000;
/// The largest file if nothing else is set.
const USUAL_BYTES: u64 = 2_000_000_000;
/// What an upload may add to an idle gateway, whatever its size.
const MOST_KB: u64 = 64_000;
/// Seconds of sound in a file that is mostly something else.
const SOUND: u32 = 10;
/// The largest file of the test that goes beyond it.
const SMALL: u64 = 3_000_000;

fn bytes() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads how large the upload is; tests have no configuration"
    )]
    let variable = std::env::var(BYTES);
    variable.map_or(SHORT_BYTES, |text| text.parse().expect("a number of bytes"))
}

impl MediaHarness {
    /// Sends a file that is made on the way; what it answers, and what it told of the price.
    async fn uploads(&self, model: &str, sound: Sound) -> (Option<String>, u16, i64, String) {
        let body = sound.streamed(&[("model", model)]);
        let call = self.outgoing(Kind::Transcript.path(), &form::content_type(), body);
        let mut answer = self.client.send(call).await.unwrap();
        let reply = answer.whole(super::MOST).await.unwrap();
        let reply = String::from_utf8_lossy(&reply).into_owned();
        let status = answer.status.as_u16();
        let cost = if status == 200 { cost_of(&answer) } else { 0 };
        (id_of(&answer), status, cost, reply)
    }
}

/// The highest memory of one upload, above what the gateway took before it.
async fn upload(harness: &MediaHarness, model: &str, sound: Sound) -> i64 {
    let pid = harness.process.pid();
    let idle = resident_kb(pid);
    let watch = Watch::over(pid);
    let began = Instant::now();
    let (_, status, cost, reply) = harness.uploads(model, sound).await;
    let took = began.elapsed().as_millis();
    let (seen, peak) = (watch.highest_kb(), line_kb(pid, "VmHWM"));
    println!(
        "{model}: {} bytes in {took} ms; idle {idle} kB, highest seen {seen} kB, ever {peak} kB",
        sound.bytes()
    );
    assert_eq!(status, 200, "{reply}");
    assert_eq!(cost, SECOND * i64::from(sound.billed()), "{reply}");
    assert!(seen < idle + MOST_KB, "{idle} kB, then {seen} kB");
    assert!(peak < idle + MOST_KB, "{idle} kB, then {peak} kB");
    let totals = harness.process.simulator.audio_calls().pop().unwrap();
    assert_eq!(totals.bytes, sound.bytes(), "all of it arrived");
    cost
}

// covers: D-5-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_of_any_size_uses_little_memory_and_is_billed_by_seconds() {
    let bytes = bytes();
    // One more byte than this is too much: by the usual limit in the long form, by a smaller one here.
    let most = [("TRUNKLINE__UPLOADS__MAX_BYTES", &*bytes.to_string().leak())];
    let harness = MediaHarness::with(false, if bytes == USUAL_BYTES { &[] } else { &most }).await;
    // What is loaded once is no part of what an upload takes.
    let first = harness.ask(Kind::Transcript, "ears", "first").await;
    let MediaResult::Whole(mut spent) = first.result else {
        panic!("{first:?}");
    };
    spent += upload(&harness, "ears", Sound::of_bytes(bytes)).await;
    spent += upload(&harness, "five-minute-ears", Sound::with_junk(SOUND, bytes)).await;
    beyond(&harness, "ears", bytes + 1).await;
    harness.spent(spent).await;
    assert_eq!(harness.usage().await.len(), 3);
    let totals = harness.process.simulator.audio_calls().len();
    assert_eq!(totals, 3);
    println!("figures: requests={totals}");
}

// row: C6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_byte_more_than_a_file_may_have_is_413_and_free() {
    let harness = MediaHarness::with(false, &[("TRUNKLINE__UPLOADS__MAX_BYTES", "3000000")]).await;
    let most = harness.uploads("ears", Sound::of_bytes(SMALL)).await;
    assert_eq!(most.1, 200, "{}", most.3);
    beyond(&harness, "ears", SMALL + 1).await;
    // Beyond what a whole form may have: its head is enough to refuse it.
    beyond(&harness, "ears", SMALL + 5_000_000).await;
    harness.spent(most.2).await;
    assert_eq!(harness.usage().await.len(), 1);
    assert_eq!(harness.process.simulator.audio_calls().len(), 1);
}

async fn beyond(harness: &MediaHarness, model: &str, bytes: u64) {
    let (id, status, _, reply) = harness.uploads(model, Sound::of_bytes(bytes)).await;
    assert_eq!(status, 413, "{reply}");
    let body: serde_json::Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(
        body["error"]["charged"],
        serde_json::json!(false),
        "{reply}"
    );
    assert_eq!(harness.net(&id.unwrap()).await, 0);
}
