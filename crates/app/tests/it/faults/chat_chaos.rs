//! Faults under load, of callers of every format to upstreams of every format. Short in the gate; `just
//! chat-chaos` runs the long form.

use std::time::{Duration, Instant};

use trunkline_receipts::SigningKey;
use trunkline_testkit::random_bytes;

use crate::faults::checker::{Counts, check_broken, judge};
use crate::faults::formats::{Format, Pair};
use crate::faults::load::Load;
use crate::faults::process_harness::ProcessHarness;
use crate::verifying::served::chains_hold;

const CALLS: &str = "TRUNKLINE_CHAT_CHAOS_CALLS";
const SHORT_CALLS: u64 = 2_000;
/// Faults for so many calls: 500 for 50,000, and never fewer than 40.
const CALLS_PER_FAULT: u64 = 100;
const LEAST_FAULTS: u64 = 40;
const CLIENTS: usize = 16;
/// Work between two faults.
const CALM: Duration = Duration::from_millis(250);

fn calls() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads how long the load lasts; tests have no configuration"
    )]
    let variable = std::env::var(CALLS);
    variable.map_or(SHORT_CALLS, |text| text.parse().expect("a number of calls"))
}

// covers: D-2-58
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chaos_loses_and_doubles_no_answer_and_charges_no_failure() {
    let mut harness = ProcessHarness::new().await;
    let calls = calls();
    let load = Load::new(harness.address, &harness.key, calls);
    #[expect(clippy::disallowed_methods, reason = "it is joined below")]
    let clients = tokio::spawn(std::sync::Arc::clone(&load).run(CLIENTS));
    let enough = LEAST_FAULTS.max(calls / CALLS_PER_FAULT);
    let (mut faults, mut kills) = (0, Vec::new());
    while !load.is_over() || faults < enough {
        tokio::time::sleep(CALM).await;
        let [dice] = random_bytes::<1>();
        match dice % 4 {
            0 => {
                let before = Instant::now();
                harness.kill_gateway().await;
                kills.push((before, Instant::now()));
                harness.start_gateway().await;
            }
            1 => harness.freeze_gateway(Duration::from_millis(300)).await,
            2 => {
                harness.postgres.stop_immediate();
                harness.postgres.start();
            }
            _ => {
                harness.postgres.kill_9_postmaster();
                harness.postgres.start();
            }
        }
        faults += 1;
    }
    load.end();
    let history = clients.await.unwrap();
    assert!(u64::try_from(history.len()).unwrap() >= calls);
    check_broken(&history, &kills);
    let results = judge(&harness, &history).await;
    let seed = harness.keyring.statement_seed();
    let key = SigningKey::from_seed(seed.reveal()).unwrap();
    chains_hold(&harness.postgres, &harness.data, &key).await;
    let all = sum(results.values());
    println!(
        "{faults} faults, {} of them kills, {} calls: {all:?}",
        kills.len(),
        history.len()
    );
    for ((pair, stream), counts) in &results {
        println!(
            "{pair}, {}: {counts:?}",
            if *stream { "streamed" } else { "whole" }
        );
        assert!(counts.complete > 0, "{pair} {counts:?}");
    }
    assert_eq!(results.len(), 2 * Pair::all().len());
    for caller in Format::ALL {
        let of_caller = results
            .iter()
            .filter(|((pair, _), _)| pair.caller == caller);
        let counts = sum(of_caller.map(|(_, counts)| counts));
        let kinds = [counts.complete, counts.failed, counts.left];
        assert!(!kinds.contains(&0), "{caller:?}: {counts:?}");
    }
    println!("figures: requests={} faults={faults}", history.len());
}

fn sum<'a>(counts: impl Iterator<Item = &'a Counts>) -> Counts {
    counts.fold(Counts::default(), |all, one| Counts {
        complete: all.complete + one.complete,
        failed: all.failed + one.failed,
        left: all.left + one.left,
        unknown: all.unknown + one.unknown,
    })
}
