//! The line is cut between a COMMIT and its answer: the ledger says the same words again and finds
//! that they were heard, or compensates what has no waiter any more.

use crate::chaos::child_process::Holds;
use crate::chaos::config::{STEP_LIMIT, rounds, until};
use crate::chaos::process_harness::{ProcessHarness, durable, in_flight};
use crate::chaos::servers::{finish, settle_down};

/// How the answer is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// The connection is reset at once; callers still wait.
    Cut,
    /// Nothing comes until every caller has given up, and then the connection is dropped.
    Silence,
}

const WAYS: [(&str, &[&str], &str, Loss); 7] = [
    (
        "settle, and its callers give up",
        &["reserve 16"],
        "settle",
        Loss::Silence,
    ),
    ("settle", &["reserve 16"], "settle", Loss::Cut),
    ("reserve", &[], "reserve 16", Loss::Cut),
    ("refund", &["reserve 16", "settle"], "refund", Loss::Cut),
    (
        "reserve, and its callers give up",
        &[],
        "reserve 16",
        Loss::Silence,
    ),
    ("void", &["reserve 16"], "void", Loss::Cut),
    (
        "refund, and its callers give up",
        &["reserve 16", "settle"],
        "refund",
        Loss::Silence,
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_with_a_lost_answer_is_found_again_or_compensated() {
    lose_answers(Holds::Rows).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_with_a_lost_answer_is_found_again_or_compensated() {
    lose_answers(Holds::Packed).await;
}

async fn lose_answers(holds: Holds) {
    let mut harness =
        ProcessHarness::new("cut between COMMIT and its answer", holds, durable()).await;
    let mut worker = harness.process("worker");
    worker.done("open").await;
    for round in 0..rounds() {
        let (name, before, order, loss) = WAYS[round % WAYS.len()];
        for order in before {
            worker.done(order).await;
        }
        let strikes = harness.postgres.wire().strikes();
        match loss {
            Loss::Cut => harness.postgres.wire().cut_after_commit(),
            Loss::Silence => harness.postgres.wire().stall_after_commit(),
        }
        let number = worker.order(order);
        until("a commit's answer is lost", STEP_LIMIT, async || {
            harness.postgres.wire().strikes() > strikes
        })
        .await;
        worker.history.read_on();
        let words = in_flight(&worker.history);
        let seconds = settle_down(&harness, &mut worker, Some(number)).await;
        harness.tell(&format!("COMMIT of a {name}"), &words, seconds);
    }
    finish(harness, worker).await;
}
