//! Pages against a running `trunkline dev`. What a language means, and what is not run, stands in `pages.py`;
//! both scripts take what they read from the installation, not from the source.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use crate::dev::{DEV, Dev, TRUNKLINE, audit};

/// All pages of a group, with agents of vendors among them, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(900);

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn cached(name: &str) -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "where the home is, is no configuration of ours"
    )]
    let home = std::env::var_os("HOME").expect("a home");
    let path = PathBuf::from(home).join(".cache/trunkline").join(name);
    assert!(path.exists(), "{name} is not installed: run just setup");
    path
}

/// What the scripts are told.
fn facts(dev: &Dev) -> Value {
    let mut facts = dev.ready.clone();
    facts["trunkline"] = json!(TRUNKLINE);
    facts["sdk"] = json!(cached("sdk"));
    facts["clients"] = json!(cached("clients"));
    facts["scripts"] = json!(here("../../scripts"));
    facts
}

/// Runs a script of this folder to its end, which must be a good one.
async fn script(name: &str, words: &[&str]) {
    let run = Command::new(cached("sdk/venv/bin/python"))
        .arg(here("tests/it/docs").join(name))
        .args(words)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NO_PROXY", "*")
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, run).await.expect("it comes to an end");
    let output = output.unwrap();
    let reply = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    println!("{reply}");
    assert!(output.status.success(), "{reply}\n{complained}");
}

/// Every block of the pages of some groups. Those with commands for operators get a PostgreSQL of their own.
async fn every_block(groups: &[&str], has_server: bool) {
    let dev = Dev::start().await;
    let mut facts = facts(&dev);
    facts["server"] = json!(has_server);
    let facts = facts.to_string();
    let words: Vec<&str> = std::iter::once(facts.as_str())
        .chain(groups.iter().copied())
        .collect();
    script("pages.py", &words).await;
    audit(&dev).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_block_of_the_guides_runs_and_says_what_is_true() {
    every_block(&["Start", "Guides", "Reference"], true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_client_page_installs_connects_verifies_and_removes_the_client() {
    every_block(&["Connect"], false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_is_set_up_as_the_pages_for_operators_say() {
    every_block(&["Operate"], true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_the_nginx_of_the_page_streams_stay_streams_and_nothing_is_cut() {
    let mut config = tempfile::NamedTempFile::new().unwrap();
    let text = "[edge]\ntrusted_proxies = [\"127.0.0.1/32\"]\n";
    config.write_all(text.as_bytes()).unwrap();
    let mut command = Command::new(TRUNKLINE);
    command.args(DEV).arg(config.path());
    let dev = Dev::started(command).await;
    script("nginx.py", &["walk", &facts(&dev).to_string()]).await;
    audit(&dev).await;
    dev.end().await;
}
