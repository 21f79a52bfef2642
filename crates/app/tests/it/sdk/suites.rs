//! The vendors' SDKs against `trunkline dev`. What they got is then looked for in the books.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::dev::{Dev, PATIENCE, audit};

/// What a script is written in.
#[derive(Debug, Clone, Copy)]
enum Language {
    Python,
    Node,
}

/// Runs a script of this folder against a new `trunkline dev`, and looks into the books afterwards.
/// Something it reads, such as a page of our documents, may be named too.
async fn passes(language: Language, name: &str, reads: Option<&str>) {
    let dev = Dev::start().await;
    runs(&dev, language, name, reads, &[]).await;
    audit(&dev).await;
    dev.end().await;
}

/// Every model that is listed, called by these keys.
pub(crate) async fn every_model(dev: &Dev, keys: &[String]) {
    runs(dev, Language::Python, "every_model.py", None, keys).await;
}

async fn runs(dev: &Dev, language: Language, name: &str, reads: Option<&str>, keys: &[String]) {
    let (program, libraries) = match language {
        Language::Python => (sdk("venv/bin/python"), None),
        Language::Node => (PathBuf::from("node"), Some(sdk("node"))),
    };
    let run = Command::new(program)
        .arg(beside(name))
        .args(libraries)
        .args(reads.map(beside))
        .args([dev.api().as_str(), dev.text("key")])
        .env("SIMULATOR_URL", dev.text("simulator_url"))
        .env("DASH_URL", dev.text("dash_url"))
        .env("KEYS", keys.join(","))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NO_PROXY", "*")
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, run)
        .await
        .expect("the SDK comes to an end");
    let output = output.unwrap();
    let reply = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{reply}\n{complained}");
    println!("{reply}");
}

pub(crate) fn sdk(name: &str) -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "where the home is, is no configuration of ours"
    )]
    let home = std::env::var_os("HOME").expect("a home");
    let path = PathBuf::from(home).join(".cache/trunkline/sdk").join(name);
    assert!(path.exists(), "the SDKs are not installed: run just setup");
    path
}

/// A file by its place seen from this folder.
fn beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/sdk")
        .join(name)
}

// covers: G-4-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_sdk_works_and_is_charged_exactly() {
    passes(Language::Python, "openai_chat.py", None).await;
}

// covers: G-4-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_sdk_works_and_is_charged_exactly() {
    passes(Language::Node, "openai_chat.mjs", None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_about_quotes_says_what_is_true() {
    let page = Some("../../../../../docs/guide/quotes.md");
    passes(Language::Python, "quotes.py", page).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_pages_three_platforms_into_a_file_and_keeps_its_cap() {
    let example = Some("../../../../../docs/examples/social_csv.py");
    passes(Language::Python, "social_csv.py", example).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_vendors_sdks_page_through_the_models() {
    passes(Language::Python, "models.py", None).await;
}

// covers: G-4-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_sdk_makes_videos_of_every_family_and_is_charged_exactly() {
    passes(Language::Python, "openai_videos.py", None).await;
}

// covers: G-4-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_sdk_makes_videos_of_every_family_and_is_charged_exactly() {
    passes(Language::Node, "openai_videos.mjs", None).await;
}

// covers: G-4-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_sdk_draws_speaks_and_listens_and_is_charged_exactly() {
    passes(Language::Python, "openai_media.py", None).await;
}

// covers: G-4-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_sdk_draws_speaks_and_listens_and_is_charged_exactly() {
    passes(Language::Node, "openai_media.mjs", None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dev_leaves_nothing_behind_however_it_ends() {
    for killed in [false, true] {
        let mut dev = Dev::start().await;
        let database: http::Uri = dev.text("database_url").parse().unwrap();
        let port = database.port_u16().unwrap();
        let there = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        assert!(there());
        if killed {
            dev.process.kill().await.unwrap();
        } else {
            dev.end().await;
        }
        let mut left = there();
        for _ in 0..200 {
            if !left {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            left = there();
        }
        assert!(!left, "its PostgreSQL is gone (killed: {killed})");
    }
}
