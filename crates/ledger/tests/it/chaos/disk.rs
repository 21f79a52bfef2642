//! The disk under PostgreSQL is full: first for the tables, then for the write-ahead log, which it
//! does not survive. Space comes back, and everything resolves.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use sqlx::{Connection as _, PgConnection};
use trunkline_testkit::{OwnSettings, privileged};

use crate::chaos::child_process::Holds;
use crate::chaos::config::{STEP_LIMIT, rounds, until};
use crate::chaos::process_harness::{ProcessHarness, durable, in_flight};
use crate::chaos::servers::{finish, settle_down};

const DISK_MB: u32 = 160;
const CLIENTS: &str = "load 8";
const BLOCK: usize = 64 * 1024;
const NO_SPACE: &str = "53100";
const CRASHED: &str = "57P0";
/// How long the disk stays full after it was proved to be.
const WHILE_FULL: Duration = Duration::from_millis(700);

/// What cannot grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Full {
    Table,
    Log,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_no_charge_and_heals_when_there_is_space() {
    fill_disks(Holds::Rows).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_no_charge_of_packed_holds_and_heals_when_there_is_space() {
    fill_disks(Holds::Packed).await;
}

async fn fill_disks(holds: Holds) {
    if !privileged().await {
        return;
    }
    let mut settings = durable();
    // The log must not fill the disk by itself, nor be written ahead of the ballast.
    for (name, value) in [("max_wal_size", "8MB"), ("min_wal_size", "2MB")] {
        settings
            .extra_config
            .push((name.to_owned(), value.to_owned()));
    }
    let settings = OwnSettings {
        disk_limit_mb: Some(DISK_MB),
        ..settings
    };
    let mut harness = ProcessHarness::new("disk full", holds, settings).await;
    let mut worker = harness.process("worker");
    worker.done("open").await;
    let ballast = harness.postgres.folder().join("ballast");
    for round in 0..rounds() {
        let full = if round.is_multiple_of(2) {
            Full::Log
        } else {
            Full::Table
        };
        worker.done(CLIENTS).await;
        fill(&ballast);
        let submitted = run_into(&harness, full, &ballast).await;
        tokio::time::sleep(WHILE_FULL).await;
        worker.history.read_on();
        let words = in_flight(&worker.history);
        let rest = worker.order("rest");
        std::fs::remove_file(&ballast).unwrap();
        harness.server_is_back().await;
        let seconds = settle_down(&harness, &mut worker, Some(rest)).await;
        harness.tell(
            &format!("no space for the {full:?}: {submitted}"),
            &words,
            seconds,
        );
    }
    finish(harness, worker).await;
}

/// Writes until nothing more fits.
fn fill(ballast: &Path) {
    let mut file = File::options()
        .create(true)
        .append(true)
        .open(ballast)
        .unwrap();
    let mut block = vec![0_u8; BLOCK];
    while !block.is_empty() {
        match file.write_all(&block) {
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{error}");
                block.truncate(block.len() / 2);
            }
        }
    }
}

/// Proves that the disk is full for PostgreSQL, in its own words.
async fn run_into(harness: &ProcessHarness, full: Full, ballast: &Path) -> String {
    let statement = match full {
        Full::Table => {
            "BEGIN; CREATE TEMP TABLE probe AS SELECT repeat('x', 2000) FROM generate_series(1, 2000); ROLLBACK"
        }
        Full::Log => "SELECT pg_logical_emit_message(false, 'probe', repeat('x', 8000000))",
    };
    let mut submitted = String::new();
    until(
        "PostgreSQL runs into the full disk",
        STEP_LIMIT,
        async || {
            // What it gave back meanwhile is taken again.
            fill(ballast);
            let url = harness.postgres.superuser_url();
            let probed = match PgConnection::connect(url.reveal()).await {
                Ok(mut probe) => sqlx::raw_sql(statement).execute(&mut probe).await,
                Err(error) => Err(error),
            };
            let Err(error) = probed else { return false };
            submitted = error.to_string();
            match error.as_database_error().and_then(|error| error.code()) {
                Some(code) if code == NO_SPACE => true,
                // The ledger's own writing was faster than the probe: it has fallen over already, and
                // the disk alone has pushed it.
                Some(code) => code.starts_with(CRASHED),
                None => true,
            }
        },
    )
    .await;
    submitted
}
