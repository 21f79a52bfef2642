//! Rotations of the keyring under load: every reseal is killed once, a node starts in the middle of each, and no call
//! fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::process::Command;
use tokio::task::JoinSet;
use trunkline_db::Role;
use trunkline_keyring::{FileSource, Keyring, SystemRandom};
use trunkline_store::sealed::{self, SealedColumn};
use trunkline_upstream::Client;

use crate::faults::checker::judge;
use crate::faults::prices::send;
use crate::faults::process_harness::{ProcessHarness, TRUNKLINE};
use crate::faults::upgrade::{Callers, call};
use crate::keyrings::{readable_in, sealed_emails};

/// Calls a second.
const RATE: u64 = 50;
const ROTATIONS: u64 = 5;
/// Rows enough that a reseal can be killed among them.
const EMAILS: usize = 2_000;
/// A process reads its files anew within this time.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(30);

/// A command under a login that has both roles which write sealed values.
fn command(harness: &ProcessHarness, words: &[&str]) -> Command {
    let (data, console) = (
        harness.postgres.direct_url(Role::Data),
        harness.postgres.direct_url(Role::Console),
    );
    let mut command = Command::new(TRUNKLINE);
    command
        .args(words)
        .args(["--config", "/dev/null"])
        .current_dir(harness.folder.path())
        .env("TRUNKLINE__DATABASE__URL", data.reveal())
        .env("TRUNKLINE__CONSOLE__DATABASE_URL", console.reveal())
        .env("TRUNKLINE__KEYRING__FILE", "keyring.toml")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn done(harness: &ProcessHarness, words: &[&str]) {
    let output = command(harness, words).output().await.unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{words:?}: {text}");
}

fn keyring(harness: &ProcessHarness) -> Keyring {
    let source = FileSource::new(harness.folder.path().join("keyring.toml"));
    Keyring::load(&source, Arc::new(SystemRandom)).unwrap()
}

/// How many sealed values there are, and how many of them the keyring of now opens.
async fn opened(harness: &ProcessHarness) -> (usize, usize) {
    readable_in(&harness.data, &harness.console, &keyring(harness)).await
}

/// How many emails an older generation sealed.
async fn left(harness: &ProcessHarness) -> usize {
    let mut session = harness.console.session().await.unwrap();
    let header = keyring(harness).token_header();
    let rows = sealed::unsealed_by(&mut session, SealedColumn::Email, &header).await;
    rows.unwrap().len()
}

/// Begins a reseal and kills it when it has sealed some of the emails and not all.
async fn kill_reseal(harness: &ProcessHarness) {
    let mut reseal = command(harness, &["keyring", "reseal"]).spawn().unwrap();
    let began = Instant::now();
    while left(harness).await == EMAILS {
        assert!(began.elapsed() < FOLLOWS_WITHIN, "it seals nothing");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    reseal.kill().await.unwrap();
    let left = left(harness).await;
    assert!((1..EMAILS).contains(&left), "{left} are left");
}

async fn follows(harness: &ProcessHarness, client: &Client, generation: u64) {
    let line = format!("trunkline_keyring_generation {generation}\n");
    let began = Instant::now();
    loop {
        let page = send(client, harness.admin.unwrap(), ("/metrics", None), &[]).await;
        // The channels are opened anew a moment after the keyring is.
        let is_open = !page.text.contains("trunkline_credentials_unopened{");
        if is_open && page.text.contains(&line) {
            return;
        }
        assert!(began.elapsed() < FOLLOWS_WITHIN, "{}", page.text);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_rotates_the_keyring_five_times_under_load_and_no_customers_call_fails() {
    let harness = ProcessHarness::new().await;
    harness
        .postgres
        .ask(&sealed_emails(&harness.keyring, EMAILS))
        .await;
    let (all, readable) = opened(&harness).await;
    assert_eq!(all, readable);
    let callers = Arc::new(Callers::new(&harness, RATE));
    let mut calling = JoinSet::new();
    calling.spawn(Arc::clone(&callers).run());
    let client = Client::new(Duration::from_secs(5)).unwrap();
    let mut calls = Vec::new();
    for round in 0..ROTATIONS {
        let generation = round + 2;
        done(&harness, &["keyring", "rotate"]).await;
        kill_reseal(&harness).await;
        assert_eq!(
            opened(&harness).await,
            (all, all),
            "killed in round {round}"
        );
        // A node that starts now reads values of both generations; it is killed when it goes out of scope.
        let node = harness.second_node().await;
        let marker = format!("n{round}");
        let prompt = format!("[[id:{marker}]] [[tokens:3]]");
        let to = (node.address, harness.key.as_str());
        calls.push(call(&client, to, &marker, &prompt, false).await);
        done(&harness, &["keyring", "reseal"]).await;
        assert_eq!(left(&harness).await, 0, "round {round}");
        follows(&harness, &client, generation).await;
    }
    callers.stop();
    calls.extend(calling.join_next().await.unwrap().unwrap());
    assert_eq!(opened(&harness).await, (all, all));
    judge(&harness, &calls).await;
    println!(
        "{ROTATIONS} rotations under load, each reseal killed among its rows: {} calls, 0 failed",
        calls.len()
    );
    println!("figures: requests={} faults={}", calls.len(), 2 * ROTATIONS);
}
