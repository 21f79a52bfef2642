//! Nothing is left behind: not after a panic, not after a kill of the whole runner.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use trunkline_testkit::{Db, Nats, OwnSettings, Postgres, Redis, random_bytes};

const SOON: Duration = Duration::from_secs(20);

/// The processes that are at home in a directory.
fn residents(folder: &Path) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|process| fs::read_link(process.ok()?.path().join("cwd")).ok())
        .filter(|home| home.starts_with(folder))
        .collect()
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < SOON, "not in {SOON:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The ids of the System V shared memory that the servers in a directory have taken.
fn shared_memory(folder: &Path) -> Vec<String> {
    let folders = fs::read_dir(folder).unwrap();
    let files = folders.map(|entry| entry.unwrap().path().join("data/postmaster.pid"));
    files
        .filter_map(|file| {
            let text = String::from_utf8(fs::read(file).ok()?).ok()?;
            let line = text.lines().nth(6)?;
            Some(line.split_whitespace().nth(1)?.to_owned())
        })
        .collect()
}

fn shared_memory_is_there(id: &str) -> bool {
    let listed = Command::new("ipcs")
        .args(["-m", "-i", id])
        .output()
        .unwrap();
    String::from_utf8_lossy(&listed.stdout).contains("bytes=")
}

#[tokio::test]
async fn a_test_that_panics_leaves_no_server_and_no_directory() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let folder = postgres.folder().to_owned();
    assert!(!residents(&folder).is_empty());
    let ids = shared_memory(folder.parent().unwrap());
    let panics = std::thread::spawn(move || {
        let _held = postgres;
        panic!("as a test might");
    });
    drop(panics.join().unwrap_err());
    assert_eq!(residents(&folder), Vec::<PathBuf>::new());
    assert!(!folder.exists());
    assert!(!ids.is_empty());
}

#[tokio::test]
async fn a_killed_server_leaves_no_memory_in_the_kernel() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let data = fs::read(postgres.folder().join("data/postmaster.pid")).unwrap();
    let text = String::from_utf8(data).unwrap();
    let id = text
        .lines()
        .nth(6)
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap();
    assert!(shared_memory_is_there(id));
    postgres.kill_9_postmaster();
    let folder = postgres.folder().to_owned();
    drop(postgres);
    wait_until("the backends have left", || residents(&folder).is_empty());
    assert!(!shared_memory_is_there(id));
}

/// Not a test by itself: what the next one runs, in a run of its own, and never lets finish.
#[tokio::test]
#[ignore = "part of nothing_is_left_when_the_runner_is_killed"]
async fn a_test_that_holds_every_engine_and_hangs() {
    let db = Db::fresh().await;
    let postgres = Postgres::own(OwnSettings::default()).await;
    let frozen = Postgres::own(OwnSettings::default()).await;
    frozen.pause();
    let killed = Postgres::own(OwnSettings::default()).await;
    killed.kill_9_postmaster();
    let redis = Redis::start().await;
    let nats = Nats::start().await;
    nats.pause();
    let folder = postgres.folder().parent().unwrap();
    println!("holding {} {}", std::process::id(), folder.display());
    tokio::time::sleep(SOON * 3).await;
    drop((db, postgres, frozen, killed, redis, nats));
}

/// A runner as nextest is one: a process whose child is the test.
fn start_runner(run_id: &str) -> Child {
    Command::new("sh")
        .args(["-c", "\"$@\" & wait", "runner"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture"])
        .arg("leftovers::a_test_that_holds_every_engine_and_hangs")
        .env("NEXTEST_RUN_ID", run_id)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn nothing_is_left_when_the_runner_is_killed() {
    let run_id = format!("killed-{:016x}", u64::from_be_bytes(random_bytes()));
    let mut runner = start_runner(&run_id);
    let log = BufReader::new(runner.stdout.take().unwrap());
    let held: String = log
        .lines()
        .map_while(Result::ok)
        .find_map(|line| Some(line.split_once("holding ")?.1.to_owned()))
        .expect("the test gets that far");
    let (test, folder) = held.split_once(' ').unwrap();
    let folder = PathBuf::from(folder);
    assert!(folder.ends_with(format!("trunkline-test-{run_id}")));
    // The shared one, two that serve, one that froze; a killed one's file is still there too.
    assert!(residents(&folder).len() > 10);
    let memory = shared_memory(&folder);
    assert_eq!(memory.len(), 4);
    let watchdog = fs::read(folder.join("watchdog")).unwrap();
    let watchdog = PathBuf::from("/proc").join(String::from_utf8(watchdog).unwrap());
    assert!(watchdog.exists());

    runner.kill().unwrap();
    runner.wait().unwrap();

    wait_until("every process has ended", || residents(&folder).is_empty());
    wait_until("the directory is gone", || !folder.exists());
    for id in memory {
        assert!(!shared_memory_is_there(&id), "{id}");
    }
    // Our own leftover: the test that hangs has lost its parent.
    Command::new("kill").args(["-9", test]).status().unwrap();
    wait_until("the watchdog has gone home", || {
        !watchdog.exists()
            || fs::read(watchdog.join("cmdline"))
                .unwrap_or_default()
                .is_empty()
    });
}
