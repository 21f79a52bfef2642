//! OpenAI's own clients, unmodified, over TLS: realtime, and Responses over WebSocket. The scripts are in `clients`; each
//! makes two responses over one connection.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;
use trunkline_edge::listener::EdgeSettings;

use super::harness::price;
use crate::format_pairs;
use crate::test_gateway::{TestGateway, TestOptions};
use crate::tls::make_certificate;

const MONEY: i64 = 10_000_000_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// What `just setup` installed, seen from its cache.
fn installed(name: &str) -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "where the home is, is no configuration of ours"
    )]
    let home = std::env::var_os("HOME").expect("a home");
    let path = PathBuf::from(home).join(".cache/trunkline").join(name);
    assert!(
        path.exists(),
        "the clients are not installed: run just setup"
    );
    path
}

/// A gateway that speaks TLS has a folder with its certificate.
fn with_tls(folder: &Path) -> TestOptions {
    TestOptions {
        paid: MONEY,
        edge: EdgeSettings {
            tls: Some(make_certificate(folder)),
            ..EdgeSettings::default()
        },
        ..TestOptions::default()
    }
}

/// Runs a script, and returns the ends of its two responses.
async fn two_responses(
    harness: &TestGateway,
    folder: &Path,
    script: &str,
    model: &str,
    transport: &str,
) -> Vec<Value> {
    let program = if Path::new(script).extension().is_some_and(|it| it == "py") {
        installed("sdk/venv/bin/python")
    } else {
        installed("clients/bin/node")
    };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/realtime/clients");
    let certificate = folder.join("cert.pem");
    let port = harness.address.port();
    let run = Command::new(program)
        .arg(scripts.join(script))
        .env("BASE_URL", format!("https://localhost:{port}/v1"))
        .env("API_KEY", &harness.key)
        .env("CLIENT_MODEL", model)
        .env("CLIENT_TRANSPORT", transport)
        .env("CLIENTS", installed("clients/npm"))
        .env("NODE_EXTRA_CA_CERTS", &certificate)
        .env("SSL_CERT_FILE", &certificate)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NO_PROXY", "*")
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, run).await.expect("it comes to an end");
    let output = output.unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{script} {transport}: {printed}\n{complained}"
    );
    let ends = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let ends: Vec<Value> = ends.collect();
    assert_eq!(ends.len(), 2, "{script} {transport}: {printed}");
    ends
}

/// Two responses are two charges of what the vendor served.
async fn talks(script: &str, transport: &str) {
    let folder = tempfile::tempdir().unwrap();
    let harness = TestGateway::realtime_of(with_tls(folder.path())).await;
    two_responses(&harness, folder.path(), script, "live-voice", transport).await;
    let spent = MONEY - harness.at_rest().await;
    let served = harness.served();
    let prices = served.responses.iter().map(|one| price(&one.usage));
    let prices: Vec<i64> = prices.collect();
    assert_eq!(prices.len(), 2);
    assert_eq!(spent, prices.iter().sum::<i64>(), "{script} {transport}");
    let rows = "SELECT count(*)::text FROM ledger.usage WHERE outcome = 'complete'";
    assert_eq!(harness.db.ask(rows).await, ["2"]);
}

#[tokio::test]
async fn openai_for_python_talks_over_realtime() {
    talks("openai_realtime.py", "").await;
}

#[tokio::test]
async fn openai_for_node_talks_over_realtime_by_both_of_its_transports() {
    for transport in ["ws", "browser"] {
        talks("openai_realtime.mjs", transport).await;
    }
}

#[tokio::test]
async fn openai_agents_talk_over_realtime_without_the_tracing_they_ask_for() {
    talks("agents_realtime.mjs", "").await;
}

// covers: D-4-25
#[tokio::test]
async fn openai_clients_continue_responses_over_a_websocket_at_an_upstream_of_claudes_format() {
    let folder = tempfile::tempdir().unwrap();
    let harness = format_pairs::harness(with_tls(folder.path())).await;
    let model = "gemini-to-messages";
    let mut charged = 0;
    for script in ["openai_responses.py", "openai_responses.mjs"] {
        let ends = two_responses(&harness, folder.path(), script, model, "").await;
        let [first, second] = ends.as_slice() else {
            panic!("{ends:?}");
        };
        let previous = &second["response"]["previous_response_id"];
        assert_eq!(previous, &first["response"]["id"], "{script}");
        for end in &ends {
            let id = end["trunkline"]["request_id"].as_str().unwrap();
            charged += harness.usage(id).await.1;
        }
        let requests = harness.simulator.requests();
        let sent = String::from_utf8_lossy(&requests.last().unwrap().body).into_owned();
        assert!(sent.contains("Hello there"), "{script}: {sent}");
    }
    assert_eq!(MONEY - harness.at_rest().await, charged);
}
