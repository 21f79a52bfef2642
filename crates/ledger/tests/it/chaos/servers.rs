//! PostgreSQL dies under its clients: one backend, or all of it. The ledger processes live on.

use trunkline_testkit::Postgres;

use crate::chaos::child_process::Holds;
use crate::chaos::config::{STEP_LIMIT, rounds};
use crate::chaos::process::Process;
use crate::chaos::process_harness::{OrphanedBy, ProcessHarness, durable, in_flight};
use crate::chaos::steps::{STEPS, Spot, Step, superuser};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_backend_at_any_step_loses_no_charge_and_makes_none_twice() {
    kill_backends(Holds::Rows).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_backend_at_any_step_loses_no_charge_of_packed_holds_and_makes_none_twice() {
    kill_backends(Holds::Packed).await;
}

async fn kill_backends(holds: Holds) {
    let mut harness =
        ProcessHarness::new("kill -9 of a PostgreSQL backend", holds, durable()).await;
    let mut worker = harness.process("worker");
    worker.done("open").await;
    for round in 0..rounds() {
        one_fault(
            &mut harness,
            &mut worker,
            nth_step(round),
            |postgres, backend| {
                postgres.kill_9_backend(backend);
            },
        )
        .await;
    }
    finish(harness, worker).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_immediate_stop_at_any_step_loses_no_charge_and_makes_none_twice() {
    stop_servers(Holds::Rows).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_immediate_stop_at_any_step_loses_no_charge_of_packed_holds_and_makes_none_twice() {
    stop_servers(Holds::Packed).await;
}

async fn stop_servers(holds: Holds) {
    let mut harness = ProcessHarness::new("immediate stop and restart", holds, durable()).await;
    let mut worker = harness.process("worker");
    worker.done("open").await;
    for round in 0..rounds() {
        one_fault(&mut harness, &mut worker, nth_step(round), |postgres, _| {
            postgres.stop_immediate();
        })
        .await;
    }
    finish(harness, worker).await;
}

/// Steps at which a backend is at work, the most telling first: three are enough for the short form.
fn nth_step(round: usize) -> &'static Step {
    let mut busy: Vec<&Step> = STEPS
        .iter()
        .filter(|step| step.spot != Spot::Free)
        .collect();
    let telling = |step: &Step| match step.spot {
        Spot::CommitUnseen => 0,
        Spot::Statement(..) => 1,
        Spot::CommitUnsent => 2,
        Spot::NodeLock | Spot::AccountRow | Spot::Free => 3,
    };
    // Of each kind the settlement, which moves money, comes first.
    busy.sort_by_key(|step| (telling(step), step.order != Some("settle")));
    busy[(round * 3 + round / busy.len()) % busy.len()]
}

async fn one_fault(
    harness: &mut ProcessHarness,
    worker: &mut Process,
    step: &Step,
    fault: impl FnOnce(&Postgres, u32),
) {
    let mut reached = step
        .reach(&harness.postgres, worker, harness.accounts[0])
        .await;
    worker.history.read_on();
    let words = in_flight(&worker.history);
    let mut witness = superuser(&harness.postgres).await;
    fault(
        &harness.postgres,
        reached.backend.expect("a backend is at work"),
    );
    // Every session is thrown out, so this one is too; then the server is on its way back.
    let thrown_out = async { while sqlx::Connection::ping(&mut witness).await.is_ok() {} };
    let thrown_out = tokio::time::timeout(STEP_LIMIT, thrown_out).await;
    thrown_out.expect("the server ends every session");
    reached.lift(&harness.postgres).await;
    harness.server_is_back().await;
    let seconds = settle_down(harness, worker, reached.order).await;
    harness.tell(step.name, &words, seconds);
}

/// The order under way is answered, what is still held is ended, and everything heals.
pub(crate) async fn settle_down(
    harness: &ProcessHarness,
    worker: &mut Process,
    order: Option<u64>,
) -> f64 {
    let started = tokio::time::Instant::now();
    if let Some(order) = order {
        worker
            .wait_for(order, "the order under way", STEP_LIMIT)
            .await;
    }
    worker.done("settle").await;
    let answered = started.elapsed().as_secs_f64();
    let node = worker.node.clone();
    answered
        + harness
            .heal(&node, &[&worker.history], OrphanedBy::Itself)
            .await
}

/// The worker's last words, and the bystander's.
pub(crate) async fn finish(harness: ProcessHarness, mut worker: Process) {
    worker.quit().await;
    let node = worker.node.clone();
    harness
        .heal(&node, &[&worker.history], OrphanedBy::Itself)
        .await;
    println!("worker: {:?}", worker.history.counts());
    harness.close().await;
}
