//! A bad day, compressed: a seeded script revokes, limits, slows and breaks upstreams, removes models from
//! them and heals them, while accounts call, some of them hostile. Short in the gate; `just trouble` runs the long
//! form.

mod checker;
mod customers;
mod script;
mod upstreams;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::faults::number;
use crate::faults::process_harness::ProcessHarness;
use checker::{Pauses, back_each_time, back_within, check_log, check_money, judge};
use customers::Customers;
use script::Script;
use upstreams::Upstreams;

const SEED: u64 = 28;
const SHORT_CALLS: u64 = 2_000;
/// What is healed is back so soon, without a person.
const BACK: Duration = Duration::from_secs(60);

/// Sizes of one run.
#[derive(Clone, Copy)]
struct Size {
    /// Calls with a healthy route, at least.
    calls: u64,
    seconds: u64,
    /// Between two steps of the script.
    step: Duration,
    /// Between two calls of one client.
    pace: Duration,
}

impl Size {
    fn of_run() -> Self {
        let seconds = number("TRUNKLINE_TROUBLE_SECONDS", 0);
        let is_long = seconds > 0;
        Self {
            calls: number("TRUNKLINE_TROUBLE_CALLS", SHORT_CALLS),
            seconds,
            step: Duration::from_millis(if is_long { 2_000 } else { 250 }),
            pace: Duration::from_millis(if is_long { 500 } else { 0 }),
        }
    }

    /// One failure of the gate's two thousand, one of two thousand in nightly.
    fn may_fail(self, calls: usize) -> usize {
        if self.seconds == 0 { 1 } else { calls / 2_000 }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn customers_calls_succeed_through_a_day_of_incidents_and_what_heals_is_back_by_itself() {
    let size = Size::of_run();
    let probes = if size.seconds == 0 { "2" } else { "30" };
    let mut harness =
        ProcessHarness::of_incidents(&[("TRUNKLINE__CHANNELS__PROBE_SECONDS", probes)]).await;
    let upstreams = Arc::new(Upstreams::start(&harness).await);
    let customers = Customers::new(&harness).await;
    harness.start_gateway().await;
    let (load, pauses) = (
        customers.load(harness.address, size.pace),
        Pauses::default(),
    );
    #[expect(clippy::disallowed_methods, reason = "it is joined below")]
    let clients = tokio::spawn(Arc::clone(&load).run());
    let mut script = Script::new(SEED, Arc::clone(&upstreams));
    let began = Instant::now();
    while load.calls() < size.calls || began.elapsed() < Duration::from_secs(size.seconds) {
        script.step();
        tokio::time::sleep(size.step).await;
        pauses.look(&harness).await;
    }
    script.heal_all();
    // The load goes on: what is back is seen by calls that arrive there.
    let healed = Instant::now();
    back_within(BACK, healed, &upstreams, &harness).await;
    load.end();
    let calls = clients.await.unwrap();
    pauses.look(&harness).await;
    let judged = judge(&calls, script.incidents());
    println!(
        "{} steps, {} calls, {} with a healthy route, {} of them failed",
        script.steps(),
        calls.len(),
        judged.healthy,
        judged.failed.len()
    );
    for call in &judged.failed {
        println!("{call:?}");
    }
    let enough = usize::try_from(size.calls).unwrap();
    assert!(judged.healthy >= enough, "the script leaves no route");
    back_each_time(BACK, &upstreams, script.incidents());
    assert!(judged.failed.len() <= size.may_fail(judged.healthy));
    check_log(&harness, &pauses, &script);
    check_money(&harness, &calls).await;
    println!(
        "figures: requests={} faults={}",
        calls.len(),
        script.steps()
    );
}
