//! The checker: what clients were told, what the upstreams did and the ledger, joined task by task.

use std::collections::{BTreeMap, BTreeSet};

use trunkline_simulator::{Phase, VideoJob};

use super::clients::{ClientAnswer, ClientBehaviour, VideoTask};
use super::scenarios::Scenario;
use super::tables::Row;

/// Results of video tasks, for the log.
#[derive(Debug, Default, Clone)]
pub(crate) struct Counts {
    pub(crate) video_tasks: usize,
    pub(crate) tasks: usize,
    pub(crate) jobs: usize,
    pub(crate) done: usize,
    /// Failed tasks by their code.
    pub(crate) failed: BTreeMap<String, usize>,
    /// Losses by their reason.
    pub(crate) losses: BTreeMap<String, usize>,
    /// Charges that fell on both wallets, and refunds that went back to both.
    pub(crate) split_charges: usize,
    pub(crate) split_refunds: usize,
    pub(crate) broken: usize,
    /// Statuses of errors.
    pub(crate) refused: BTreeMap<u16, usize>,
    pub(crate) mirrored: usize,
    /// Requests that became more than one task.
    pub(crate) doubled: usize,
    pub(crate) scenarios: BTreeMap<Scenario, usize>,
    pub(crate) behaviours: BTreeMap<ClientBehaviour, usize>,
}

/// Checks one video task and counts it.
pub(crate) fn check(
    task: &VideoTask,
    rows: &[Row],
    jobs: &[VideoJob],
    price: i64,
    counts: &mut Counts,
) {
    let scene = || format!("{task:?}\n{rows:#?}\n{jobs:#?}");
    check_told(task, rows, price, &scene);
    for row in rows {
        check_money(row, price, &scene);
    }
    check_jobs(task, rows, jobs, &scene);
    count(task, rows, jobs, counts);
}

/// What the client was told is so.
fn check_told(task: &VideoTask, rows: &[Row], price: i64, scene: &dyn Fn() -> String) {
    let mut made = BTreeSet::new();
    let mut broken = 0;
    for answer in &task.answer {
        match answer {
            ClientAnswer::Made { id, cost } => {
                made.insert(id.as_str());
                let there = rows.iter().any(|row| row.id == *id);
                assert!(there, "told 200, and the task is not there: {}", scene());
                if let Some(cost) = cost {
                    assert_eq!(nanos(cost), price, "told another price: {}", scene());
                }
            }
            ClientAnswer::Refused { charged, .. } => {
                assert!(!charged, "an error that says it was charged: {}", scene());
            }
            ClientAnswer::Broken => broken += 1,
        }
    }
    // A task that no client was answered with comes of a connection that broke, or it costs nothing.
    let untold = rows.iter().filter(|row| !made.contains(row.id.as_str()));
    let paid = untold.filter(|row| row.is_done()).count();
    assert!(paid <= broken, "told an error, and charged: {}", scene());
    if task.behaviour == ClientBehaviour::Keyed {
        let alive = rows.iter().filter(|row| row.is_done()).count();
        assert!(alive <= 1, "one key, two videos: {}", scene());
    }
    let first_was_made = matches!(task.answer.first(), Some(ClientAnswer::Made { .. }));
    if task.behaviour == ClientBehaviour::Retrying && first_was_made {
        assert_eq!(rows.len(), 1, "a retry made another video: {}", scene());
    }
    assert!(
        rows.len() <= task.answer.len(),
        "too many tasks: {}",
        scene()
    );
    if task.cancelled {
        let stands = rows.iter().any(Row::is_done);
        assert!(!stands, "cancelled, and done: {}", scene());
    }
}

/// It ended, and its money with it.
fn check_money(row: &Row, price: i64, scene: &dyn Fn() -> String) {
    let (charge, refund) = (row.legs("charge"), row.legs("refund"));
    assert!(row.exact && row.amount == price, "priced anew: {}", scene());
    assert_ne!(row.hold.as_deref(), Some("open"), "held: {}", scene());
    let known = |kind: &str| matches!(kind, "charge" | "refund");
    let strange = row.transfers.iter().any(|one| !known(&one.kind));
    assert!(!strange, "a movement of another kind: {}", scene());
    match row.state.as_str() {
        "completed" => {
            assert_eq!(row.net(), price, "not charged its price: {}", scene());
            assert!(refund.is_empty(), "done and refunded: {}", scene());
        }
        "failed" => {
            assert_eq!(row.net(), 0, "failed and charged: {}", scene());
            assert_eq!(charge, refund, "to another wallet: {}", scene());
        }
        _ => panic!("it has not ended: {}", scene()),
    }
}

/// The upstreams' truth is the ledger's.
fn check_jobs(task: &VideoTask, rows: &[Row], jobs: &[VideoJob], scene: &dyn Fn() -> String) {
    assert!(jobs.len() <= rows.len(), "too many jobs: {}", scene());
    for row in rows.iter().filter(|row| row.is_done()) {
        let job = jobs
            .iter()
            .find(|job| row.upstream.as_ref() == Some(&job.id));
        let phase = job.map(VideoJob::phase);
        assert_eq!(
            phase,
            Some(Phase::Succeeded),
            "no upstream made it: {}",
            scene()
        );
    }
    let made = jobs.iter().filter(|job| job.phase() == Phase::Succeeded);
    let (mut sold, mut lost) = (0, 0);
    for job in made {
        let of = |row: &&Row| row.upstream.as_ref() == Some(&job.id);
        match rows.iter().find(of) {
            Some(row) if row.is_done() => sold += 1,
            Some(row) => assert!(!row.losses.is_empty(), "an unnoted loss: {}", scene()),
            None => lost += 1,
        }
    }
    let done = rows.iter().filter(|row| row.is_done()).count();
    assert_eq!(sold, done, "sold something else: {}", scene());
    // Jobs that no lookup could name: each has a task that was given up with a loss.
    let given_up = |row: &&Row| row.upstream.is_none() && !row.losses.is_empty();
    let given_up = rows.iter().filter(given_up).count();
    assert!(lost <= given_up, "an unnoted loss: {}", scene());
    if matches!(task.scenario, Scenario::Refused | Scenario::FullForever) {
        assert!(jobs.is_empty() && done == 0, "taken: {}", scene());
    }
    if matches!(task.scenario, Scenario::Failed | Scenario::Stuck) {
        assert_eq!(done, 0, "done: {}", scene());
    }
}

fn count(task: &VideoTask, rows: &[Row], jobs: &[VideoJob], counts: &mut Counts) {
    counts.video_tasks += 1;
    counts.tasks += rows.len();
    counts.jobs += jobs.len();
    counts.doubled += usize::from(rows.len() > 1);
    *counts.scenarios.entry(task.scenario).or_default() += 1;
    *counts.behaviours.entry(task.behaviour).or_default() += 1;
    for answer in &task.answer {
        match answer {
            ClientAnswer::Made { .. } => {}
            ClientAnswer::Refused { status, .. } => {
                *counts.refused.entry(*status).or_default() += 1
            }
            ClientAnswer::Broken => counts.broken += 1,
        }
    }
    for row in rows {
        counts.done += usize::from(row.is_done());
        counts.mirrored += usize::from(row.mirrored);
        counts.split_charges += usize::from(row.legs("charge").len() > 1);
        counts.split_refunds += usize::from(row.legs("refund").len() > 1);
        if let Some(code) = &row.code {
            *counts.failed.entry(code.clone()).or_default() += 1;
        }
        for reason in &row.losses {
            *counts.losses.entry(reason.clone()).or_default() += 1;
        }
    }
}

/// USD as they are written, in nano-USD.
pub(crate) fn nanos(text: &str) -> i64 {
    let money: trunkline_types::Money = text.parse().unwrap();
    money.nanos()
}
