//! The console of a running node: its own address, or the edge's, and what schemathesis makes of the
//! document that it serves.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::timeout;

use crate::dev::{Dev, TRUNKLINE};
use crate::sdk::suites::sdk;

/// Random cases of an operation: few in the gate, more by `just schemathesis`.
const EXAMPLES: &str = "TRUNKLINE_EXAMPLES";
/// For hundreds of cases of each operation.
const LONGEST: Duration = Duration::from_secs(1_800);
const WORKFLOW: &str = include_str!("../../../../catalog/tests/fixtures/workflows/base.json");

/// A status and a body, by the plainest of clients.
async fn get(url: &str, path: &str) -> (u16, String) {
    let host = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let text = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

/// One that keeps its things in a folder, with edge and console on one address.
async fn start_sharing(folder: &Path) -> Dev {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    // Its PostgreSQL may run as another user, who must get through.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder, open).unwrap();
    let mut command = Command::new(TRUNKLINE);
    command
        .args(["dev", "--json", "--simulated", "--exit-on-eof"])
        .args(["--config", "/dev/null"])
        .current_dir(folder)
        .env("TRUNKLINE__EDGE__LISTEN", &address)
        .env("TRUNKLINE__CONSOLE__LISTEN", &address);
    Dev::started(command).await
}

/// Workflows in the database of a running node, so that there is something to look at.
async fn import(dev: &Dev, names: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.json");
    for name in names {
        let mut record: Value = serde_json::from_str(WORKFLOW).unwrap();
        record["slug"] = json!(name);
        record["workflow_id"] = json!(name);
        std::fs::write(&file, record.to_string()).unwrap();
        let output = Command::new(TRUNKLINE)
            .args(["workflow", "import", "--config", "/dev/null"])
            .arg(&file)
            .env("TRUNKLINE__DATABASE__URL", dev.text("database_url"))
            .output()
            .await
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

fn edge(dev: &Dev) -> String {
    dev.text("base_url").to_owned()
}

// covers: D-1-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_console_has_an_address_of_its_own_and_metrics_are_on_neither() {
    let dev = Dev::start().await;
    import(&dev, &["clip"]).await;
    let dash = dev.text("dash_url");
    let (status, body) = get(dash, "/api/workflows/clip").await;
    assert_eq!(status, 200, "{body}");
    let session: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(session["workflow"]["title"], "Product clip");
    let edge = edge(&dev);
    assert_ne!(dash, edge);
    assert_eq!(get(&edge, "/api/workflows").await.0, 404);
    for path in ["/metrics", "/debug/pprof", "/readyz/metrics"] {
        assert_eq!(get(dash, path).await.0, 404, "{path}");
        assert_eq!(get(&edge, path).await.0, 404, "{path}");
    }
    assert_eq!(get(dev.text("admin_url"), "/metrics").await.0, 200);
    dev.end().await;
}

// covers: D-1-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edge_and_console_answer_at_one_address_if_they_are_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let dev = start_sharing(folder.path()).await;
    import(&dev, &["clip"]).await;
    let (dash, edge) = (dev.text("dash_url"), edge(&dev));
    assert_eq!(dash, edge);
    for path in [
        "/api/workflows",
        "/api/workflows/clip",
        "/openapi.json",
        "/schemas/workflow.json",
    ] {
        let (status, body) = get(dash, path).await;
        assert_eq!(status, 200, "{path}: {body}");
    }
    let (status, body) = get(dash, "/api/none").await;
    assert_eq!(status, 404);
    assert!(body.contains("/api/workflows"), "{body}");
    assert_eq!(get(&edge, "/healthz").await.0, 200);
    let (status, body) = get(&edge, "/v1/models").await;
    assert_eq!(status, 401, "{body}");
    assert!(body.contains("invalid_api_key"), "{body}");
    assert_eq!(get(&edge, "/metrics").await.0, 404);
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemathesis_finds_nothing_wrong_with_the_console_and_would_see_a_lie() {
    let dev = Dev::start().await;
    import(&dev, &["clip", "a-b", "a1"]).await;
    let dash = dev.text("dash_url");
    let (status, document) = get(dash, "/openapi.json").await;
    assert_eq!(status, 200, "{document}");
    let mut document: Value = serde_json::from_str(&document).unwrap();
    let paths = document["paths"].as_object().unwrap().values();
    let operations: usize = paths.map(|path| path.as_object().unwrap().len()).sum();
    let (succeeded, text) =
        schemathesis(dash, &document, ("examples,coverage,fuzzing", "all"), &[]).await;
    let lines: Vec<&str> = text.lines().collect();
    println!("{}", lines[lines.len().saturating_sub(25)..].join("\n"));
    assert!(succeeded, "{text}");
    // It warns of what an anonymous request may not do; every case must have passed.
    let cases = lines
        .iter()
        .find_map(|line| line.split_once(" generated, "));
    let (made, passed) = cases.expect("a count of cases");
    assert!(made.trim().parse::<u32>().unwrap() > 1_000, "{text}");
    assert_eq!(passed.trim(), format!("{} passed", made.trim()), "{text}");
    let all = format!("Selected: {operations}/{operations}");
    assert!(text.contains(&all), "{text}");

    document["components"]["schemas"]["WorkflowPage"]["properties"]["data"]["type"] =
        json!("string");
    let there = ["--include-path", "/api/workflows"];
    let (succeeded, text) = schemathesis(dash, &document, ("coverage", "all"), &there).await;
    assert!(!succeeded && text.contains("violates schema"), "{text}");
    dev.end().await;
}

/// Whether all was well, and what it said.
pub(crate) async fn schemathesis(
    dash: &str,
    document: &Value,
    (phases, checks): (&str, &str),
    more: &[&str],
) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("openapi.json"), document.to_string()).unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "the size of a long form is asked for by its recipe"
    )]
    let examples = std::env::var(EXAMPLES).unwrap_or_else(|_| "15".to_owned());
    let run = Command::new(sdk("venv/bin/st"))
        .args([
            "run",
            "--no-color",
            "--seed",
            "1",
            "--max-examples",
            &examples,
        ])
        .args(["--phases", phases, "--checks", checks])
        .args(more)
        .args(["--url", dash, "openapi.json"])
        .current_dir(folder.path())
        .env("NO_PROXY", "*")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(LONGEST, run)
        .await
        .expect("it comes to an end")
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), format!("{text}{stderr}"))
}
