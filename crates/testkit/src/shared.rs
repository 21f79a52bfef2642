//! The Redis and the NATS that all tests of a run share. Each test that takes a share has a database of the
//! one and an account of the other to itself, so tests beside each other neither see nor slow each other
//! as servers of their own would.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::test_run::{self, Run};
use crate::{Nats, Redis};

/// Shares of one run: databases of Redis and accounts of NATS, made when the servers start.
const SHARES: usize = 2_000;

/// A share of both, for one gateway and the nodes beside it.
#[derive(Debug, Clone)]
pub struct Shared {
    /// The address of an empty Redis database.
    pub redis_url: String,
    /// The address of a NATS account without streams, with its login.
    pub nats_url: String,
}

impl Shared {
    /// Takes the next share; starts the servers when it is the first.
    pub async fn take() -> Self {
        let directory = Run::current().await.new_or_existing_folder("engines");
        let lock = File::create(directory.join("lock")).expect("the lock can be written");
        test_run::wait_for(&lock, &directory).await;
        let ready = directory.join("ready");
        if !ready.exists() {
            let ports = start(&directory).await;
            std::fs::write(&ready, ports).expect("the run's directory can be written");
        }
        let share = next(&directory.join("next"));
        assert!(share < SHARES, "a run has {SHARES} shares; more are needed");
        let ports = read(&ready);
        let (redis, nats) = ports.split_once(' ').expect("two ports");
        Self {
            redis_url: format!("redis://127.0.0.1:{redis}/{share}"),
            nats_url: format!("nats://share-{share}:test@127.0.0.1:{nats}"),
        }
    }
}

/// Starts both, for the run and not for this process; their ports.
async fn start(directory: &Path) -> String {
    let accounts = directory.join("accounts.conf");
    std::fs::write(&accounts, config()).expect("the run's directory can be written");
    let redis = Redis::start_with(&["--databases", &SHARES.to_string()]).await;
    let config = accounts.to_str().expect("a path of ours");
    let nats = Nats::start_with(&["--config", config]).await;
    let ports = format!("{} {}", redis.address().port(), nats.address().port());
    redis.leave_running();
    nats.leave_running();
    ports
}

/// One account a share, each with a store of its own.
fn config() -> String {
    let account = |share: usize| {
        format!(
            "  A{share} {{ jetstream: enabled, users: [{{ user: share-{share}, password: test }}] }}\n"
        )
    };
    let accounts: String = (0..SHARES).map(account).collect();
    format!("accounts {{\n{accounts}}}\n")
}

/// Counts in a file; only the holder of the lock does.
fn next(file: &PathBuf) -> usize {
    let share = match file.exists() {
        true => read(file).parse().expect("a number of ours"),
        false => 0,
    };
    let following = share + 1;
    std::fs::write(file, following.to_string()).expect("the run's directory can be written");
    share
}

fn read(file: &Path) -> String {
    let bytes = std::fs::read(file).expect("this run has written it");
    String::from_utf8_lossy(&bytes).into_owned()
}
