//! Rules and dashboard against a loaded `trunkline dev` and the real Prometheus: every query has data.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::dev::{DEV, Dev, TRUNKLINE};
use crate::sdk::customer::send_bytes;

const PATIENCE: Duration = Duration::from_secs(60);

fn packaged(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    folder.join(name).canonicalize().unwrap()
}

fn text_of(name: &str) -> String {
    String::from_utf8(std::fs::read(packaged(name)).unwrap()).unwrap()
}

/// The names of our metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = text.split(|character| !is_part(character));
    words
        .filter(|word| word.starts_with("trunkline_"))
        .map(|word| {
            let parts = ["_bucket", "_count", "_sum"];
            let family = parts.iter().find_map(|part| word.strip_suffix(part));
            family.unwrap_or(word).to_owned()
        })
        .collect()
}

/// A node that has served a few calls, whole and streamed, charged and refused.
async fn loaded() -> Dev {
    let mut command = Command::new(TRUNKLINE);
    // A collector that does not exist: its numbers are on the page only if one is set.
    command
        .args(DEV)
        .arg("/dev/null")
        .env("TRUNKLINE__TELEMETRY__OTLP_ENDPOINT", "http://127.0.0.1:9");
    let dev = Dev::started(command).await;
    load(&dev).await;
    dev
}

async fn load(dev: &Dev) {
    let key = format!("Bearer {}", dev.text("key"));
    let headers = [
        ("authorization", key.as_str()),
        ("content-type", "application/json"),
    ];
    for (model, stream) in [
        ("gpt-5-mini", false),
        ("gpt-5-mini", true),
        ("absent", false),
    ] {
        let body = json!({
            "model": model, "stream": stream,
            "messages": [{ "role": "user", "content": "hello" }],
        });
        let url = format!("{}/chat/completions", dev.api());
        let sent = send_bytes("POST", &url, &headers, body.to_string().as_bytes()).await;
        assert_eq!(sent.status == 200, model != "absent", "{}", sent.text());
    }
}

async fn metrics(dev: &Dev) -> String {
    let url = format!("{}/metrics", dev.text("admin_url"));
    send_bytes("GET", &url, &[], b"").await.text()
}

/// A Prometheus that scrapes a node each second.
struct Prometheus {
    _process: Child,
    _folder: tempfile::TempDir,
    address: String,
}

impl Prometheus {
    fn start(dev: &Dev) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: [{:?}]\nscrape_configs:\n\
             - {{ job_name: trunkline, static_configs: [ {{ targets: [{:?}] }} ] }}\n",
            packaged("prometheus/trunkline.rules.yml"),
            dev.text("admin_url").trim_start_matches("http://"),
        );
        let file = folder.path().join("prometheus.yml");
        std::fs::write(&file, config).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        drop(free);
        let process = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("prometheus: run just setup");
        Self {
            _process: process,
            _folder: folder,
            address,
        }
    }

    /// The result of a query; nothing while it starts.
    async fn query(&self, expression: &str) -> Vec<Value> {
        let escaped: String = url::form_urlencoded::byte_serialize(expression.as_bytes()).collect();
        let url = format!("http://{}/api/v1/query?query={escaped}", self.address);
        if tokio::net::TcpStream::connect(&self.address).await.is_err() {
            return Vec::new();
        }
        let sent = send_bytes("GET", &url, &[], b"").await;
        assert_ne!(sent.status, 400, "{expression}: {}", sent.text());
        let found = sent.json()["data"]["result"].as_array().cloned();
        found.unwrap_or_default()
    }
}

/// Every query of the dashboard, over windows that a short test can fill.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&text_of("grafana/trunkline.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array());
    let queries = targets.flatten().map(|target| {
        let expression = target["expr"].as_str().unwrap();
        expression.replace("$__rate_interval", "1h")
    });
    queries.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_rule_names_metrics_that_a_loaded_node_has() {
    let dev = loaded().await;
    let rules = text_of("prometheus/trunkline.rules.yml");
    let rules = rules.split("groups:").nth(1).unwrap();
    let required = names(rules);
    assert!(required.len() > 25, "{required:?}");
    let began = Instant::now();
    loop {
        // Losses are read by a job, once at the start and then each minute.
        let page = metrics(&dev).await;
        let families: BTreeSet<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
            .collect();
        let absent: Vec<&String> = required
            .iter()
            .filter(|name| !families.contains(name.as_str()))
            .collect();
        if absent.is_empty() {
            break;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "{absent:?} are no metrics:\n{page}"
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // What was called is counted as what it was, once its context is dropped.
    let required = [
        ("trunkline_responses_total{class=\"client_error\"} ", 1),
        ("trunkline_responses_total{class=\"success\"} ", 2),
        (
            "trunkline_settlement_seconds_count{operation=\"settle\"} ",
            2,
        ),
        ("trunkline_added_seconds_count{stream=\"true\"} ", 1),
    ];
    for (name, least) in required {
        loop {
            let page = metrics(&dev).await;
            let value = page.lines().find_map(|line| line.strip_prefix(name));
            if value.is_some_and(|value| value.parse::<u64>().unwrap() >= least) {
                break;
            }
            assert!(began.elapsed() < PATIENCE, "{name} in {page}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_query_of_the_dashboard_has_data_of_a_loaded_node() {
    let dev = loaded().await;
    let prometheus = Prometheus::start(&dev);
    let queries = queries();
    assert!(queries.len() > 30, "{}", queries.len());
    let began = Instant::now();
    let mut empty = queries;
    while !empty.is_empty() {
        assert!(began.elapsed() < PATIENCE, "without data: {empty:#?}");
        tokio::time::sleep(Duration::from_secs(1)).await;
        load(&dev).await;
        let mut still = Vec::new();
        for query in empty {
            if prometheus.query(&query).await.is_empty() {
                still.push(query);
            }
        }
        empty = still;
    }
    let up = prometheus
        .query("ALERTS{alertname=\"TrunklineNotReady\"}")
        .await;
    assert_eq!(up, Vec::<Value>::new(), "a node that serves is ready");
    dev.end().await;
}
