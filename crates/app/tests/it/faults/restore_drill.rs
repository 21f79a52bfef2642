//! Backup under load and restore on a bare cluster, by the commands of `docs/operate/backup.md`: it serves, the audit is
//! clean, and what was lost is counted. Short in the gate; `just restore-drill` runs the long form.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::process::Command;
use trunkline_db::Role;
use trunkline_testkit::{OwnSettings, Postgres};

use crate::faults::client_view::ClientView;
use crate::faults::load::Load;
use crate::faults::number;
use crate::faults::process_harness::{ProcessHarness, TRUNKLINE, audit_of};
use crate::operator_page::{Page, Shell, nothing};

const SECONDS: &str = "TRUNKLINE_RESTORE_SECONDS";
const CLIENTS: &str = "TRUNKLINE_RESTORE_CLIENTS";
const CHARGES: &str = "SELECT count(*)::text FROM ledger.usage WHERE outcome = 'complete'";
const SETTLED: &str =
    "SELECT coalesce(max(extract(epoch FROM settled_at)), 0)::bigint::text FROM ledger.usage";
/// Where the page keeps archived segments.
const ARCHIVE: &str = "/backup/wal";

/// A shell of the machine of a database.
fn shell(postgres: &Postgres, keyring: &Path) -> Shell {
    let mut shell = Shell::new();
    shell.set("PGHOST", "127.0.0.1");
    shell.set("PGPORT", postgres.address().port().to_string());
    shell.set("PGUSER", "postgres");
    let audit = postgres.direct_url(Role::Audit);
    shell.set("TRUNKLINE__DATABASE__URL", audit.reveal());
    shell.set("TRUNKLINE__KEYRING__FILE", keyring.display().to_string());
    shell.replace(
        "/etc/trunkline/trunkline.keyring.toml",
        keyring.display().to_string(),
    );
    shell
}

async fn figure(postgres: &Postgres, query: &str) -> i64 {
    postgres.ask(query).await[0].parse().unwrap()
}

/// `trunkline restore check` with this keyring: whether it is content, and what it says.
async fn checked(postgres: &Postgres, keyring: &Path) -> (bool, String) {
    let url = postgres.direct_url(Role::Audit);
    let ran = Command::new(TRUNKLINE)
        .args(["restore", "check", "--config", "/dev/null"])
        .env("TRUNKLINE__DATABASE__URL", url.reveal())
        .env("TRUNKLINE__KEYRING__FILE", keyring)
        .output();
    let ran = ran.await.unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    (ran.status.success(), printed)
}

/// Calls that ended whole while something else was done.
async fn under_load<T>(harness: &ProcessHarness, busy: impl Future<Output = T>) -> T {
    let seconds = number(SECONDS, 2);
    let load = Load::new(harness.address, &harness.key, 1);
    let clients = usize::try_from(number(CLIENTS, 4)).unwrap();
    let mut running = tokio::task::JoinSet::new();
    running.spawn(std::sync::Arc::clone(&load).run(clients));
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let done = busy.await;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    load.end();
    let calls = running.join_next().await.unwrap().unwrap();
    let whole = calls
        .iter()
        .filter(|call| call.reported == ClientView::Complete);
    assert!(whole.count() > 5, "there was load: {}", calls.len());
    done
}

/// It serves on the restored database, and the books hold.
async fn serves(harness: &ProcessHarness, restored: &Postgres, keyring: &Path) {
    let before = figure(restored, CHARGES).await;
    let node = harness.node_on(restored, keyring).await;
    let load = Load::new(node.address, &harness.key, 20);
    load.end();
    let calls = load.run(2).await;
    let whole = calls
        .iter()
        .filter(|call| call.reported == ClientView::Complete);
    let whole = i64::try_from(whole.count()).unwrap();
    assert!(whole > 0, "calls are served: {calls:?}");
    assert!(figure(restored, CHARGES).await >= before + whole);
    drop(node);
    audit_of(restored).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_restores_a_dump_of_a_busy_gateway_on_a_bare_cluster_by_the_page() {
    let page = Page::open("backup.md");
    let mut harness = ProcessHarness::new().await;
    let keyring = harness.folder.path().join("keyring.toml");
    let machine = shell(&harness.postgres, &keyring);
    let dumped = under_load(&harness, async {
        machine
            .run(page.block("sudo -u postgres pg_dumpall"), nothing)
            .await;
        machine
            .run(page.block("cp -p /etc/trunkline"), nothing)
            .await;
        Instant::now()
    })
    .await;
    let lost_seconds = dumped.elapsed().as_secs();
    // The machine is lost, with everything on it but what was copied.
    let (before, settled) = (
        figure(&harness.postgres, CHARGES).await,
        figure(&harness.postgres, SETTLED).await,
    );
    harness.kill_gateway().await;
    let restoring = Instant::now();
    let bare = Postgres::bare().await;
    let kept = machine.folder().join("keyring-copy.toml");
    let mut other = shell(&bare, &kept);
    for file in ["roles.sql", "trunkline.dump"] {
        std::fs::copy(machine.folder().join(file), other.folder().join(file)).unwrap();
    }
    other.set("PGDATABASE", "postgres");
    other
        .run(
            page.block("sudo -u postgres psql --file=roles.sql"),
            nothing,
        )
        .await;
    let took = restoring.elapsed();
    // Without the keyring, and with one that is another's, it says so.
    let (usable, printed) = checked(&bare, &machine.folder().join("absent.toml")).await;
    assert!(!usable && printed.contains("LOST   keyring"), "{printed}");
    let strange = machine.folder().join("strange.toml");
    let made = Command::new(TRUNKLINE)
        .args(["keyring", "generate", "--config", "/dev/null"])
        .env("TRUNKLINE__KEYRING__FILE", &strange)
        .output();
    assert!(made.await.unwrap().status.success());
    let (usable, printed) = checked(&bare, &strange).await;
    assert!(!usable && printed.contains("opens none of"), "{printed}");
    let printed = other
        .run(page.block("trunkline restore check"), nothing)
        .await;
    assert!(
        printed.contains("ok     keyring: it opens all"),
        "{printed}"
    );
    let restored = figure(&bare, CHARGES).await;
    let behind = settled - figure(&bare, SETTLED).await;
    assert!(restored > 0 && restored < before, "{restored} of {before}");
    serves(&harness, &bare, &kept).await;
    println!(
        "dump: restored in {:.1} s; {} of {before} charges lost, the last {behind} s (dumped {lost_seconds} s before)",
        took.as_secs_f64(),
        before - restored
    );
    println!("figures: requests={before}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_restores_a_base_backup_and_the_archive_and_loses_no_archived_charge() {
    let page = Page::open("backup.md");
    let archive = tempfile::tempdir().unwrap();
    open_to_all(archive.path()).await;
    let place = archive.path().display().to_string();
    let command = page.setting("archive_command").replace(ARCHIVE, &place);
    let settings = OwnSettings {
        extra_config: vec![
            ("archive_mode".to_owned(), "on".to_owned()),
            ("archive_command".to_owned(), command),
        ],
        ..OwnSettings::default()
    };
    let mut harness = ProcessHarness::with(settings, false).await;
    let keyring = harness.folder.path().join("keyring.toml");
    let machine = shell(&harness.postgres, &keyring);
    under_load(&harness, async {
        let backup = page.block("sudo -u postgres pg_basebackup");
        machine.run(backup, nothing).await;
    })
    .await;
    let before = figure(&harness.postgres, CHARGES).await;
    harness.kill_gateway().await;
    // The segment that was being written when the disk was lost is lost; here it was archived.
    archived(&harness.postgres).await;
    harness.postgres.kill_9_postmaster();
    let restoring = Instant::now();
    let restore = page.setting("restore_command").replace(ARCHIVE, &place);
    let action = page.setting("recovery_target_action");
    let config = [
        ("restore_command", restore.as_str()),
        ("recovery_target_action", &action),
    ];
    let restored = Postgres::of_base_backup(&machine.folder().join("base"), &config).await;
    recovered(&restored).await;
    let took = restoring.elapsed();
    let (usable, printed) = checked(&restored, &keyring).await;
    assert!(usable, "{printed}");
    assert_eq!(
        figure(&restored, CHARGES).await,
        before,
        "no charge is lost"
    );
    serves(&harness, &restored, &keyring).await;
    println!(
        "base backup and archive: restored in {:.1} s; 0 of {before} charges lost",
        took.as_secs_f64()
    );
    println!("figures: requests={before}");
}

/// PostgreSQL's own user writes there.
async fn open_to_all(folder: &Path) {
    let opened = Command::new("chmod").arg("777").arg(folder).status();
    assert!(opened.await.unwrap().success());
}

/// Ends the segment that is being written, and waits until it is archived.
async fn archived(postgres: &Postgres) {
    let began = Instant::now();
    let ended = postgres
        .ask("SELECT pg_walfile_name(pg_switch_wal())")
        .await;
    let query = format!(
        "SELECT coalesce(last_archived_wal >= '{}' AND last_archived_wal NOT LIKE '%.backup', false)::text
         FROM pg_stat_archiver",
        ended[0]
    );
    while postgres.ask(&query).await != ["true"] {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "nothing is archived"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn recovered(postgres: &Postgres) {
    let began = Instant::now();
    while postgres.ask("SELECT pg_is_in_recovery()::text").await != ["false"] {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{}",
            postgres.log_tail()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
