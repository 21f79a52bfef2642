//! Video tasks while everything breaks: two nodes, each gateway and worker, are killed at each step of a
//! task, frozen beyond their leases and restarted, PostgreSQL is stopped and killed, and vendors take
//! jobs without an answer, have no capacity or never end. Short in the gate; `just video-chaos` runs the long form.

mod checker;
mod checker_selftest;
mod clients;
mod cluster;
mod scenarios;
mod tables;

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use http::Method;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use trunkline_simulator::VideoJob;
use trunkline_testkit::random_bytes;

use crate::faults::process_harness::audit_of;
use checker::{Counts, check, nanos};
use clients::{ClientAnswer, Clients, HttpCall, VideoTask};
use cluster::{DEADLINE, LEASE, PAID, VideoCluster};
use scenarios::{SHAPES, Scenario};
use tables::Row;

const TASKS: &str = "TRUNKLINE_VIDEO_CHAOS_TASKS";
const SHORT_TASKS: u64 = 500;
/// Faults of the short form at least; the long form goes on while there are videos to ask for.
const LEAST_FAULTS: usize = 22;
const CLIENTS: usize = 12;
const MOST_CLIENTS: u64 = 32;
const TASKS_PER_CLIENT: u64 = 200;
/// Work between two faults.
const CALM: Duration = Duration::from_millis(400);
/// Longest wait for a task to stand at a step.
const STEP: Duration = Duration::from_secs(2);
/// Everything has ended so long after its deadline.
const HEAL: Duration = Duration::from_secs(60);
/// Longest wait for finished files to be fetched.
const FILES: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(3);
const MOST_PER_PAGE: usize = 100;

/// What is broken, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// A node dies while some task stands at this step.
    KillAt(&'static str),
    KillBoth,
    Restart,
    FreezeShortly,
    /// Beyond its lease, so that the other node takes over.
    FreezeLong,
    StopDatabase,
    KillDatabase,
    /// Longer than a lease.
    DatabaseAway,
}

const FAULTS: [Fault; 13] = [
    Fault::KillAt("accepted"),
    Fault::KillAt("submitting"),
    Fault::KillAt("unknown"),
    Fault::KillAt("submitted"),
    Fault::KillAt("running"),
    Fault::KillAt("completed"),
    Fault::KillBoth,
    Fault::Restart,
    Fault::FreezeShortly,
    Fault::FreezeLong,
    Fault::StopDatabase,
    Fault::KillDatabase,
    Fault::DatabaseAway,
];

fn video_tasks() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads how many tasks are made; tests have no configuration"
    )]
    let variable = std::env::var(TASKS);
    variable.map_or(SHORT_TASKS, |text| text.parse().expect("a number of tasks"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_video_task_ends_and_settles_once_while_everything_breaks() {
    let mut cluster = VideoCluster::new().await;
    let video_tasks = video_tasks();
    let prices = quotes(&cluster).await;
    let load = Clients::of(&cluster, video_tasks);
    let clients = u64::try_from(CLIENTS)
        .unwrap()
        .max(video_tasks / TASKS_PER_CLIENT);
    let clients = usize::try_from(clients.min(MOST_CLIENTS)).unwrap();
    let began = Instant::now();
    #[expect(clippy::disallowed_methods, reason = "it is joined below")]
    let running = tokio::spawn(std::sync::Arc::clone(&load).run(clients));
    let mut faults: BTreeMap<Fault, usize> = BTreeMap::new();
    let mut deck: Vec<Fault> = Vec::new();
    while !load.is_over() || faults.values().sum::<usize>() < LEAST_FAULTS {
        tokio::time::sleep(CALM).await;
        if deck.is_empty() {
            deck.extend(FAULTS);
        }
        let [dice, node] = random_bytes::<2>();
        let fault = deck.swap_remove(usize::from(dice) % deck.len());
        strike(&mut cluster, fault, usize::from(node % 2)).await;
        *faults.entry(fault).or_default() += 1;
        cluster.give().await;
    }
    let video_tasks = running.await.unwrap();
    let submitted_in = began.elapsed();
    run_out(&cluster).await;
    let counts = judge(&cluster, &video_tasks, &prices).await;
    println!("{faults:?}\n{counts:#?}");
    println!(
        "{} tasks, {} faults, submitted in {submitted_in:?}, all over after {:?}",
        video_tasks.len(),
        faults.values().sum::<usize>(),
        began.elapsed()
    );
    assert!(
        counts.done > video_tasks.len() / 4,
        "hardly anything was made"
    );
    assert!(counts.split_charges > 0 && counts.split_refunds > 0);
    assert!(counts.losses.contains_key("unknown_outcome"));
    assert_eq!(counts.scenarios.len(), Scenario::ALL.len());
    let requests: usize = video_tasks.iter().map(|task| task.answer.len()).sum();
    let faults: usize = faults.values().sum();
    println!("figures: requests={requests} faults={faults}");
}

/// What each shape costs, as it is quoted before anything happens.
async fn quotes(cluster: &VideoCluster) -> Vec<i64> {
    let mut prices = Vec::new();
    for shape in SHAPES {
        let body = shape.body("a cat");
        let ask = HttpCall {
            method: Method::POST,
            url: format!("http://{}/v1/quotes", cluster.addresses[0]),
            key: &cluster.customers[0].key,
            body: format!("{{\"endpoint\":\"videos\",\"body\":{body}}}"),
            extra: Vec::new(),
            patience: PATIENCE,
        };
        let received = ask.send(&cluster.client).await.unwrap();
        assert_eq!(received.status, 200, "{body}: {}", received.body);
        assert_eq!(
            received.body["exact"],
            Value::Bool(true),
            "{}",
            received.body
        );
        prices.push(nanos(received.body["price_usd"].as_str().unwrap()));
    }
    prices
}

async fn strike(cluster: &mut VideoCluster, fault: Fault, node: usize) {
    match fault {
        Fault::KillAt(step) => {
            let began = Instant::now();
            while began.elapsed() < STEP && !tables::has_any(&cluster.postgres, step).await {
                tokio::time::sleep(PAUSE).await;
            }
            cluster.kill(node).await;
            cluster.start(node).await;
        }
        Fault::KillBoth => {
            cluster.kill(0).await;
            cluster.kill(1).await;
            cluster.start(node).await;
            tokio::time::sleep(CALM).await;
            cluster.start(1 - node).await;
        }
        Fault::Restart => {
            cluster.stop(node).await;
            cluster.start(node).await;
        }
        Fault::FreezeShortly => cluster.freeze(node, LEASE / 4).await,
        Fault::FreezeLong => cluster.freeze(node, LEASE + CALM * 3).await,
        Fault::StopDatabase => {
            cluster.postgres.stop_immediate();
            cluster.postgres.start();
        }
        Fault::KillDatabase => {
            cluster.postgres.kill_9_postmaster();
            cluster.postgres.start();
        }
        Fault::DatabaseAway => {
            cluster.postgres.stop_immediate();
            tokio::time::sleep(LEASE + CALM).await;
            cluster.postgres.start();
        }
    }
}

/// Lets everything end that has begun.
async fn run_out(cluster: &VideoCluster) {
    let began = Instant::now();
    loop {
        let left = tables::under_way(&cluster.postgres).await;
        if left.is_empty() {
            break;
        }
        assert!(began.elapsed() < DEADLINE + HEAL, "never ended: {left:?}");
        tokio::time::sleep(CALM).await;
    }
    // Files are fetched again after pauses that grow; a task that waits for one is on the list with its time.
    let began = Instant::now();
    loop {
        let left = tables::pending(&cluster.postgres).await;
        if left.is_empty() {
            return;
        }
        if began.elapsed() > FILES {
            let waits = |one: &String| one.starts_with("mirror, waits");
            assert!(left.iter().all(waits), "forgotten: {left:?}");
            println!("files that are fetched later: {left:?}");
            return;
        }
        tokio::time::sleep(CALM).await;
    }
}

async fn judge(cluster: &VideoCluster, video_tasks: &[VideoTask], prices: &[i64]) -> Counts {
    let mut rows = tables::rows(&cluster.postgres).await;
    let mut jobs: HashMap<String, Vec<VideoJob>> = HashMap::new();
    for job in cluster.simulator.video_jobs() {
        let marker = job.marker.clone().expect("every job has a marker");
        jobs.entry(marker).or_default().push(job);
    }
    let mut counts = Counts::default();
    let mut spent = vec![0; cluster.customers.len()];
    let mut tasks = vec![BTreeMap::new(); cluster.customers.len()];
    for task in video_tasks {
        let own = rows.remove(&hash(&task.body)).unwrap_or_default();
        let made = jobs.remove(&task.marker).unwrap_or_default();
        let checked = std::panic::catch_unwind(AssertUnwindSafe(|| {
            check(task, &own, &made, prices[task.shape], &mut counts);
        }));
        if let Err(found) = checked {
            for row in &own {
                println!("{}", cluster.log_of(&row.id));
            }
            std::panic::resume_unwind(found);
        }
        spent[task.customer] += own.iter().map(Row::net).sum::<i64>();
        tasks[task.customer].extend(own.into_iter().map(|row| (row.id.clone(), row)));
    }
    assert!(rows.is_empty(), "tasks that no client submitted: {rows:?}");
    assert!(jobs.is_empty(), "jobs that no task submitted: {jobs:?}");
    let stray = tables::stray(&cluster.postgres).await;
    assert!(stray.is_empty(), "money moved for no task: {stray:?}");
    for (place, customer) in cluster.customers.iter().enumerate() {
        let left = cluster.left(customer.account).await;
        let expected = PAID + cluster.given() - spent[place];
        assert_eq!(left, expected, "the wallets of {:?}", customer.account);
        check_list(cluster, place, &tasks[place]).await;
    }
    check_shown(cluster, video_tasks, &tasks).await;
    audit_of(&cluster.postgres).await;
    counts
}

/// The list of an account holds its tasks and no others.
async fn check_list(cluster: &VideoCluster, customer: usize, tasks: &BTreeMap<String, Row>) {
    let mut listed = Vec::new();
    loop {
        let after = listed.last().map(|last| format!("&after={last}"));
        let after = after.unwrap_or_default();
        let path = format!("/v1/videos?order=asc&limit={MOST_PER_PAGE}{after}");
        let page = get(cluster, customer, &path).await;
        let names = page["data"].as_array().unwrap().iter();
        listed.extend(names.map(|one| one["id"].as_str().unwrap().to_owned()));
        if page["has_more"] == Value::Bool(false) {
            break;
        }
    }
    listed.sort_unstable();
    let tasks: Vec<&String> = tasks.keys().collect();
    assert_eq!(listed.iter().collect::<Vec<_>>(), tasks);
}

/// A client that got the id of a task finds it, as it is in the tables.
async fn check_shown(
    cluster: &VideoCluster,
    video_tasks: &[VideoTask],
    tasks: &[BTreeMap<String, Row>],
) {
    for task in video_tasks {
        for answer in &task.answer {
            let ClientAnswer::Made { id, .. } = answer else {
                continue;
            };
            let view = get(cluster, task.customer, &format!("/v1/videos/{id}")).await;
            let row = &tasks[task.customer][id];
            assert_eq!(view["status"], row.state.as_str(), "{task:?} {view}");
            let code = view["error"]["code"].as_str();
            assert_eq!(code, row.code.as_deref(), "{task:?} {view}");
        }
    }
}

async fn get(cluster: &VideoCluster, customer: usize, path: &str) -> Value {
    let ask = HttpCall {
        method: Method::GET,
        url: format!("http://{}{path}", cluster.addresses[1]),
        key: &cluster.customers[customer].key,
        body: String::new(),
        extra: Vec::new(),
        patience: PATIENCE,
    };
    let received = ask.send(&cluster.client).await.unwrap();
    assert_eq!(received.status, 200, "{path}: {}", received.body);
    received.body
}

fn hash(body: &str) -> String {
    let bytes: [u8; 32] = Sha256::digest(body.as_bytes()).into();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
