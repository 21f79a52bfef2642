//! The vendors' SDKs against `trunkline dev`, started as a new user would start it. What they got is
//! then looked for in the books.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

pub(crate) const PATIENCE: Duration = Duration::from_secs(180);
pub(crate) const TRUNKLINE: &str = env!("CARGO_BIN_EXE_trunkline");

/// A running `trunkline dev --ephemeral --json`.
pub(crate) struct Dev {
    process: Child,
    ready: Value,
}

impl Dev {
    pub(crate) async fn start() -> Self {
        let mut command = Command::new(TRUNKLINE);
        command.args(["dev", "--ephemeral", "--json", "--config", "/dev/null"]);
        Self::started(command).await
    }

    /// One that keeps its things in a folder, with edge and console on one address.
    pub(crate) async fn start_sharing(folder: &Path) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        drop(free);
        // Its PostgreSQL may run as another user, who must get through.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder, open).unwrap();
        let mut command = Command::new(TRUNKLINE);
        command
            .args(["dev", "--json", "--config", "/dev/null"])
            .current_dir(folder)
            .env("TRUNKLINE__EDGE__LISTEN", &address)
            .env("TRUNKLINE__CONSOLE__LISTEN", &address);
        Self::started(command).await
    }

    async fn started(mut command: Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = process.stdout.take().unwrap();
        let mut lines = BufReader::new(output).lines();
        let line = timeout(PATIENCE, lines.next_line()).await;
        let line = line.expect("it is ready in time").unwrap().expect("a line");
        let ready = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        Self { process, ready }
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.ready[name].as_str().unwrap()
    }

    /// Closes its input, as a terminal that goes away does.
    pub(crate) async fn end(mut self) {
        drop(self.process.stdin.take());
        let status = timeout(PATIENCE, self.process.wait()).await;
        assert!(status.expect("it ends").unwrap().success());
    }
}

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

/// The books hold.
async fn audit(dev: &Dev) {
    let database = dev.text("database_url").to_owned();
    let audit = Command::new(TRUNKLINE)
        .args(["audit", "--config", "/dev/null"])
        .env("TRUNKLINE__DATABASE__URL", database)
        .output();
    let output = audit.await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
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
