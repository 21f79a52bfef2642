//! `kill -9` of a ledger process at every step.

use crate::chaos::process_harness::{ProcessHarness, OrphanedBy, durable, in_flight};
use crate::chaos::history::History;
use crate::chaos::config::rounds_over;
use crate::chaos::steps::{REGISTERING, STEPS, Step};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_any_step_leaves_no_open_hold_and_no_double_charge() {
    let mut arena = ProcessHarness::new("kill -9 of a ledger process", durable()).await;
    let steps: Vec<&Step> = STEPS.iter().chain([&REGISTERING]).collect();
    for round in 0..rounds_over(steps.len()) {
        let step = steps[round % steps.len()];
        // Half of the dead come back, the others are swept.
        let turn = round + round / steps.len();
        let heir = if turn.is_multiple_of(2) {
            OrphanedBy::Return
        } else {
            OrphanedBy::Sweep
        };
        one_kill(&mut arena, round, step, heir).await;
    }
    arena.close().await;
}

async fn one_kill(arena: &mut ProcessHarness, round: usize, step: &Step, heir: OrphanedBy) {
    let node = format!("killed-{round}");
    let mut earlier = None;
    if step.name == REGISTERING.name {
        let mut last_life = arena.process(&node);
        last_life.done("open").await;
        last_life.done("reserve 16").await;
        last_life.kill_9();
        earlier = Some(last_life);
    }
    let mut victim = arena.process(&node);
    if earlier.is_none() {
        victim.done("open").await;
    }
    let mut reached = step
        .reach(&arena.postgres, &mut victim, arena.accounts[0])
        .await;
    victim.kill_9();
    reached.lift(&arena.postgres).await;
    let mut histories: Vec<&History> = vec![&victim.history];
    histories.extend(earlier.as_ref().map(|process| &process.history));
    let seconds = arena.heal(&node, &histories, heir).await;
    arena.backends_are_gone(&node).await;
    arena.tell(
        &format!("{} ({heir:?})", step.name),
        &in_flight(&victim.history),
        seconds,
    );
}
