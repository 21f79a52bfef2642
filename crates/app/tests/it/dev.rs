//! A running `trunkline dev`, started as a new user would start it.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

pub(crate) const PATIENCE: Duration = Duration::from_secs(180);
pub(crate) const TRUNKLINE: &str = env!("CARGO_BIN_EXE_trunkline");

/// One that calls no vendor and ends with the test that started it; a configuration follows.
pub(crate) const DEV: [&str; 6] = [
    "dev",
    "--ephemeral",
    "--json",
    "--simulated",
    "--exit-on-eof",
    "--config",
];

/// A running `trunkline dev --ephemeral --json`.
pub(crate) struct Dev {
    pub(crate) process: Child,
    pub(crate) ready: Value,
}

impl Dev {
    pub(crate) async fn start() -> Self {
        let mut command = Command::new(TRUNKLINE);
        command.args(DEV).arg("/dev/null");
        Self::started(command).await
    }

    pub(crate) async fn started(mut command: Command) -> Self {
        trunkline_testkit::count("gateway process");
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

    /// Where clients of OpenAI's API are pointed at.
    pub(crate) fn api(&self) -> String {
        format!("{}/v1", self.text("base_url"))
    }

    /// Closes its input, as a terminal that goes away does.
    pub(crate) async fn end(mut self) {
        drop(self.process.stdin.take());
        let status = timeout(PATIENCE, self.process.wait()).await;
        assert!(status.expect("it ends").unwrap().success());
    }
}

/// The books hold.
pub(crate) async fn audit(dev: &Dev) {
    let database = dev.text("database_url").to_owned();
    let audit = Command::new(TRUNKLINE)
        .args(["audit", "--config", "/dev/null"])
        .env("TRUNKLINE__DATABASE__URL", database)
        .output();
    let output = audit.await.unwrap();
    let reply = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{reply}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
