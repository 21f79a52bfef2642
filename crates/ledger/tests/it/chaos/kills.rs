//! `kill -9` of a ledger process at every step.

use crate::chaos::child_process::Holds;
use crate::chaos::config::rounds_over;
use crate::chaos::history::History;
use crate::chaos::process_harness::{OrphanedBy, ProcessHarness, durable, in_flight};
use crate::chaos::steps::{REGISTERING, STEPS, Step};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_any_step_leaves_no_open_hold_and_no_double_charge() {
    kill_at_every_step(Holds::Rows).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_any_step_leaves_no_open_packed_hold_and_no_double_charge() {
    kill_at_every_step(Holds::Packed).await;
}

async fn kill_at_every_step(holds: Holds) {
    let mut harness = ProcessHarness::new("kill -9 of a ledger process", holds, durable()).await;
    let steps: Vec<&Step> = STEPS.iter().chain([&REGISTERING]).collect();
    for round in 0..rounds_over(steps.len()) {
        let step = steps[round % steps.len()];
        // Half of the dead come back, the others are swept.
        let turn = round + round / steps.len();
        let orphaned_by = if turn.is_multiple_of(2) {
            OrphanedBy::Return
        } else {
            OrphanedBy::Sweep
        };
        one_kill(&mut harness, round, step, orphaned_by).await;
    }
    harness.close().await;
}

async fn one_kill(
    harness: &mut ProcessHarness,
    round: usize,
    step: &Step,
    orphaned_by: OrphanedBy,
) {
    let node = format!("killed-{round}");
    let mut earlier = None;
    if step.name == REGISTERING.name {
        let mut last_life = harness.process(&node);
        last_life.done("open").await;
        last_life.done("reserve 16").await;
        last_life.kill_9();
        earlier = Some(last_life);
    }
    let mut victim = harness.process(&node);
    if earlier.is_none() {
        victim.done("open").await;
    }
    let mut reached = step
        .reach(&harness.postgres, &mut victim, harness.accounts[0])
        .await;
    victim.kill_9();
    reached.lift(&harness.postgres).await;
    let mut histories: Vec<&History> = vec![&victim.history];
    histories.extend(earlier.as_ref().map(|process| &process.history));
    let seconds = harness.heal(&node, &histories, orphaned_by).await;
    harness.backends_are_gone(&node).await;
    harness.tell(
        &format!("{} ({orphaned_by:?})", step.name),
        &in_flight(&victim.history),
        seconds,
    );
}
