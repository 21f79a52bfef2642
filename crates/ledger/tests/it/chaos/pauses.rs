//! A process is frozen, replaced, and wakes: everything it says is refused and nothing changes.

use std::time::Duration;

use trunkline_ledger::recovery::register;
use trunkline_types::NodeId;

use crate::chaos::child_process::Holds;
use crate::chaos::config::{HEAL_LIMIT, STEP_LIMIT, rounds, until};
use crate::chaos::history::{Answered, Event, History};
use crate::chaos::process::Process;
use crate::chaos::process_harness::{
    OrphanedBy, ProcessHarness, deadline_passes, durable, in_flight,
};
use crate::chaos::steps::{STEPS, Spot, Step};
use crate::chaos::tables;

/// How long a process works before it is replaced.
const AT_WORK: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_wakes_with_an_old_epoch_is_refused_and_only_gives_back() {
    pause_and_wake(Holds::Rows).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_of_packed_holds_that_wakes_with_an_old_epoch_is_refused_and_only_gives_back() {
    pause_and_wake(Holds::Packed).await;
}

async fn pause_and_wake(holds: Holds) {
    let mut harness =
        ProcessHarness::new("pause and wake with an old epoch", holds, durable()).await;
    let steps: Vec<&Step> = STEPS.iter().filter(|step| can_pause(step)).collect();
    for round in 0..rounds() {
        // From the settlements backwards, so that the short form has the telling ones.
        let step = steps[steps.len() - 1 - round % steps.len()];
        let orphaned_by = if round.is_multiple_of(2) {
            OrphanedBy::Return
        } else {
            OrphanedBy::Sweep
        };
        one_pause(&mut harness, round, step, orphaned_by).await;
    }
    harness.close().await;
}

/// A commit that the wire keeps for good says nothing about waking up; one that the sleeper had not
/// yet sent does, and that is where a statement's lock leads when it is lifted during the sleep.
fn can_pause(step: &Step) -> bool {
    !matches!(step.spot, Spot::CommitUnsent | Spot::NodeLock)
}

async fn one_pause(
    harness: &mut ProcessHarness,
    round: usize,
    step: &Step,
    orphaned_by: OrphanedBy,
) {
    let node = format!("paused-{round}");
    let mut sleeper = harness.process(&node);
    let epoch = sleeper.done("open").await;
    let mut other = silent_hold(harness, round).await;
    let mut reached = step
        .reach(&harness.postgres, &mut sleeper, harness.accounts[0])
        .await;
    sleeper.pause();
    reached.lift(&harness.postgres).await;
    sleeper.history.read_on();
    sleeper.history.died = true;
    let words = in_flight(&sleeper.history);
    let seconds = harness.heal(&node, &[&sleeper.history], orphaned_by).await;
    let seconds = seconds + be_replaced(harness, &node, epoch).await;
    if orphaned_by == OrphanedBy::Return {
        deadline_passes().await;
    }
    let nodes = [node.clone()];
    let before = tables::facts(&harness.data, &nodes).await;
    sleeper.wake();
    if let Some(order) = reached.order {
        sleeper
            .wait_for(order, "the order it slept over", STEP_LIMIT)
            .await;
    }
    sleeper.history.read_on();
    let woken = sleeper.history.events.len();
    for order in ["settle", "void", "refund", "reserve 4"] {
        let done = sleeper.done(order).await;
        assert_eq!(done, 0, "nothing is done for the replaced");
    }
    until("it is told that it was replaced", STEP_LIMIT, async || {
        // Its connections were lost while it slept; the first words may find none in time.
        let lines = sleeper.history.events.len();
        assert_eq!(sleeper.done("reserve 4").await, 0);
        told_after(&sleeper.history, lines).all(|answered| *answered == Answered::Stale)
    })
    .await;
    assert_eq!(sleeper.done("beat").await, 0, "its heart must not beat");
    assert_eq!(sleeper.done("sweep").await, 0, "it sweeps nothing");
    for answered in told_after(&sleeper.history, woken) {
        let refused = matches!(answered, Answered::Stale | Answered::Unavailable);
        assert!(refused, "{answered:?} after waking, {}", step.name);
    }
    // Nothing changes, but for one thing: a charge that was committed while it slept, and of which it
    // could not tell its caller, it gives back.
    let mut after = tables::facts(&harness.data, &nodes).await;
    for (request, fact) in &mut after {
        if before.get(request).is_some_and(|was| was.refunded == 0) && fact.refunded == fact.charged
        {
            fact.refunded = 0;
        }
    }
    assert_eq!(after, before, "nothing changes");
    harness
        .heal(&node, &[&sleeper.history], OrphanedBy::Itself)
        .await;
    other.quit().await;
    harness
        .heal(&other.node, &[&other.history], OrphanedBy::Itself)
        .await;
    harness.tell(&format!("{} ({orphaned_by:?})", step.name), &words, seconds);
}

/// Another node with a hold, for the sweep that the sleeper will try in its old name: a row, which has
/// a deadline to miss.
async fn silent_hold(harness: &ProcessHarness, round: usize) -> Process {
    let mut other = harness.process_of(&format!("other-{round}"), Holds::Rows);
    other.done("open").await;
    other.done("reserve 2").await;
    other
}

/// A sleeper that held nothing is not swept, which is right: then its next life begins instead.
async fn be_replaced(harness: &ProcessHarness, node: &str, epoch: i64) -> f64 {
    let started = tokio::time::Instant::now();
    let next = NodeId::new(node).unwrap();
    until("the sleeper is replaced", HEAL_LIMIT, async || {
        let mut session = harness.data.session().await.unwrap();
        let now = sqlx::query_scalar("SELECT epoch FROM ledger.node WHERE name = $1")
            .bind(node)
            .fetch_one(&mut *session);
        let now: i64 = now.await.unwrap();
        now > epoch || register(&harness.data, &next).await.is_ok()
    })
    .await;
    started.elapsed().as_secs_f64()
}

/// The answers after so many lines.
fn told_after(history: &History, lines: usize) -> impl Iterator<Item = &Answered> {
    history.events[lines..]
        .iter()
        .filter_map(|event| match event {
            Event::Answered { answered, .. } => Some(answered),
            Event::Requested { .. } | Event::Did { .. } => None,
        })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_replaced_under_load_is_refused_at_once_and_leaves_no_rows() {
    replace_under_load(Holds::Rows).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_replaced_under_load_is_refused_at_once_and_leaves_no_packed_hold_open() {
    replace_under_load(Holds::Packed).await;
}

async fn replace_under_load(holds: Holds) {
    let mut harness = ProcessHarness::new("replaced while at work", holds, durable()).await;
    for round in 0..rounds() {
        let node = format!("replaced-{round}");
        let mut worker = harness.process(&node);
        worker.done("open").await;
        worker.done("load 16").await;
        tokio::time::sleep(AT_WORK).await;
        worker.history.read_on();
        let words = in_flight(&worker.history);
        worker.history.died = true;
        let started = tokio::time::Instant::now();
        let next = NodeId::new(&node).unwrap();
        until("its next life begins", HEAL_LIMIT, async || {
            register(&harness.data, &next).await.is_ok()
        })
        .await;
        let seconds = started.elapsed().as_secs_f64();
        // Its clients stop when they are told, and they are told at their next word.
        worker.done("rest").await;
        assert_eq!(worker.done("reserve 4").await, 0);
        assert_eq!(worker.done("beat").await, 0);
        let healed = harness
            .heal(&node, &[&worker.history], OrphanedBy::Itself)
            .await;
        harness.tell("under load (Return)", &words, seconds + healed);
    }
    harness.close().await;
}
