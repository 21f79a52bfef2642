//! The vendors' SDKs against `trunkline dev`. What they got is then looked for in the books.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::dev::{Dev, PATIENCE, audit};

async fn run(program: &Path, arguments: &[&str]) {
    let run = Command::new(program)
        .args(arguments)
        .env("NO_PROXY", "*")
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, run)
        .await
        .expect("the SDK comes to an end");
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    println!("{said}");
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

fn script(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sdk")
        .join(name);
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_sdk_works_and_is_charged_exactly() {
    let dev = Dev::start().await;
    let arguments = [
        &script("openai_chat.py"),
        dev.text("base_url"),
        dev.text("key"),
    ];
    run(&sdk("venv/bin/python"), &arguments).await;
    audit(&dev).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_about_quotes_says_what_is_true() {
    let dev = Dev::start().await;
    let page = script("../../../../docs/quotes.md");
    let arguments = [
        &script("quotes.py"),
        &page,
        dev.text("base_url"),
        dev.text("key"),
    ];
    run(&sdk("venv/bin/python"), &arguments).await;
    audit(&dev).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_pages_three_platforms_into_a_file_and_keeps_its_cap() {
    let dev = Dev::start().await;
    let example = script("../../../../docs/examples/social_csv.py");
    let arguments = [
        &script("social_csv.py"),
        &example,
        dev.text("base_url"),
        dev.text("key"),
    ];
    run(&sdk("venv/bin/python"), &arguments).await;
    audit(&dev).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_vendors_sdks_page_through_the_models() {
    let dev = Dev::start().await;
    let arguments = [&script("models.py"), dev.text("base_url"), dev.text("key")];
    run(&sdk("venv/bin/python"), &arguments).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_sdk_works_and_is_charged_exactly() {
    let dev = Dev::start().await;
    let folder = sdk("node");
    let arguments = [
        &script("openai_chat.mjs"),
        folder.to_str().unwrap(),
        dev.text("base_url"),
        dev.text("key"),
    ];
    run(Path::new("node"), &arguments).await;
    audit(&dev).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_sdk_makes_videos_of_every_family_and_is_charged_exactly() {
    let dev = Dev::start().await;
    let arguments = [
        &script("openai_videos.py"),
        dev.text("base_url"),
        dev.text("key"),
    ];
    run(&sdk("venv/bin/python"), &arguments).await;
    audit(&dev).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_sdk_makes_videos_of_every_family_and_is_charged_exactly() {
    let dev = Dev::start().await;
    let folder = sdk("node");
    let arguments = [
        &script("openai_videos.mjs"),
        folder.to_str().unwrap(),
        dev.text("base_url"),
        dev.text("key"),
    ];
    run(Path::new("node"), &arguments).await;
    audit(&dev).await;
    dev.end().await;
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
