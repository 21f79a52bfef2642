//! The first minute of a new user: `trunkline dev` as it is started in a container or by a service, with
//! vendors' keys in the environment or without, and what its first answers look like.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use trunkline_simulator::{Settings, Simulator};
use trunkline_testkit::Db;

use crate::dev::{DEV, Dev, PATIENCE, TRUNKLINE, audit};
use crate::sdk::customer::send_bytes;
use crate::sdk::social::reply;
use crate::sdk::suites::every_model;

/// Stands for a vendor's key.
const CANARY: &str = "sk-vendor-canary-0123456789";

/// One without a terminal or a pipe.
async fn without_terminal(command: &mut Command) -> (Child, Value) {
    let mut process = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let output = BufReader::new(process.stdout.take().unwrap());
    let line = timeout(PATIENCE, output.lines().next_line()).await;
    let line = line.expect("it is ready in time").unwrap().expect("a line");
    (process, serde_json::from_str(&line).unwrap())
}

async fn chat(base_url: &str, key: &str, body: &Value) -> Value {
    let bearer = format!("Bearer {key}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    let url = format!("{base_url}/v1/chat/completions");
    let sent = send_bytes("POST", &url, &headers, body.to_string().as_bytes()).await;
    assert_eq!(sent.status, 200, "{}", sent.text());
    sent.json()
}

fn hello(model: &str) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": "Hello" }] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dev_without_a_terminal_runs_until_a_signal() {
    let mut command = Command::new(TRUNKLINE);
    let words = DEV.into_iter().filter(|word| *word != "--exit-on-eof");
    command.args(words).arg("/dev/null");
    let (mut process, ready) = without_terminal(&mut command).await;
    // The end of its input was there from the start; it would be gone by now.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(process.try_wait().unwrap(), None);
    let text = |name: &str| ready[name].as_str().unwrap();
    let base_url = text("base_url");
    assert_eq!(
        base_url
            .strip_prefix("http://127.0.0.1:")
            .unwrap()
            .find('/'),
        None,
        "an address without a path, as the documents mean it: {base_url}"
    );
    chat(base_url, text("key"), &hello("sim-fast")).await;
    let id = process.id().unwrap().to_string();
    let kill = Command::new("kill").args(["-TERM", &id]).status().await;
    assert!(kill.unwrap().success());
    let status = timeout(PATIENCE, process.wait()).await;
    assert!(status.expect("it ends").unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_simulator_answers_dev_in_sentences_and_counts_their_words() {
    let dev = Dev::start().await;
    let answer = chat(dev.text("base_url"), dev.text("key"), &hello("sim-fast")).await;
    let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(
        text.trim_end(),
        "Hello! This answer comes from the simulator that ships with Trunkline, so no vendor was called and \
         no vendor will send a bill."
    );
    let words = text.split_whitespace().count();
    assert_eq!(answer["usage"]["completion_tokens"], json!(words));
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    audit(&dev).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vendor_key_in_the_environment_makes_a_real_channel_and_dev_says_so() {
    let vendor = Simulator::start(Settings {
        keys: vec![CANARY.to_owned()],
        ..Settings::default()
    });
    let vendor = vendor.await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    // The vendor's own file, but for its address: the internet ends here.
    let file = include_str!("../../../../upstream/providers/deepseek.toml");
    let file = file.replace("https://api.deepseek.com/v1", &vendor.base_url());
    let providers = folder.path().join("providers");
    std::fs::create_dir(&providers).unwrap();
    std::fs::write(providers.join("deepseek.toml"), file).unwrap();
    let config = folder.path().join("trunkline.toml");
    let text = format!("[providers]\nfolder = {providers:?}\n");
    std::fs::write(&config, text).unwrap();
    let mut command = Command::new(TRUNKLINE);
    command
        .args(["dev", "--ephemeral", "--json", "--exit-on-eof", "--config"])
        .arg(&config)
        .env("DEEPSEEK_API_KEY", CANARY);
    let dev = Dev::started(command).await;
    assert_eq!(dev.ready["vendors"], json!(["deepseek"]));
    // The simulated vendor does not know the model, and says so: the call came to it, with the key.
    let bearer = format!("Bearer {}", dev.text("key"));
    let url = format!("{}/chat/completions", dev.api());
    let body = hello("deepseek-flash").to_string();
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    let sent = send_bytes("POST", &url, &headers, body.as_bytes()).await;
    assert_ne!(sent.status, 200, "{}", sent.text());
    let served = vendor.requests();
    let models: Vec<&str> = served.iter().map(|one| one.model.as_str()).collect();
    assert_eq!(models, ["deepseek-flash"], "{}", sent.text());
    // Another vendor's model is still simulated.
    chat(dev.text("base_url"), dev.text("key"), &hello("gpt-4.1")).await;
    assert_eq!(vendor.requests().len(), 1);
    audit(&dev).await;
    dev.end().await;
    vendor.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_greeting_names_the_vendors_that_are_called_and_billed() {
    for (key, simulated, expected) in [
        (
            Some(CANARY),
            false,
            "openai is called with OPENAI_API_KEY of the environment",
        ),
        (
            Some(CANARY),
            true,
            "no vendor is called, no vendor bills you",
        ),
        (None, false, "no vendor is called, no vendor bills you"),
    ] {
        let mut command = Command::new(TRUNKLINE);
        command.args(["dev", "--ephemeral", "--config", "/dev/null"]);
        command.args(simulated.then_some("--simulated"));
        command.env_remove("OPENAI_API_KEY");
        command.envs(key.map(|key| ("OPENAI_API_KEY", key)));
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut greeting = String::new();
        while !greeting.contains("Ctrl-C stops everything") {
            let line = timeout(PATIENCE, lines.next_line()).await;
            greeting.push_str(&line.expect("it greets").unwrap().expect("a line"));
            greeting.push('\n');
        }
        assert!(greeting.contains(expected), "{greeting}");
        assert!(
            !greeting.contains(CANARY),
            "a key is not printed: {greeting}"
        );
        process.kill().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_takes_long_prints_no_statement() {
    let db = Db::empty().await;
    let url = db.migrator_url();
    // A second transaction that makes the same schema waits for this one.
    let holder = Command::new("psql")
        .args([
            "-qX",
            "-c",
            "BEGIN; CREATE SCHEMA app; SELECT pg_sleep(3); ROLLBACK",
        ])
        .arg(url.reveal())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let mut holder = holder.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut migrate = Command::new(TRUNKLINE)
        .args(["migrate", "--config", "/dev/null"])
        .env("TRUNKLINE__DATABASE__URL", url.reveal())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut reported = String::new();
    let mut errors = migrate.stderr.take().unwrap();
    errors.read_to_string(&mut reported).await.unwrap();
    assert!(migrate.wait().await.unwrap().success(), "{reported}");
    assert!(holder.wait().await.unwrap().success());
    assert_eq!(reported, "", "a statement that waited is not printed");
}

// covers: G-1-01, G-2.6-04, D-1-20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_model_that_dev_lists_answers_the_plainest_call_of_its_endpoint() {
    let dev = Dev::start().await;
    let account = dev.ready["account"].to_string();
    reply(&dev, &["topup", &account, "5000"]).await;
    let mut keys = Vec::new();
    for name in ["one", "two", "three"] {
        let made = reply(&dev, &["key", "create", &account, "--name", name]).await;
        keys.push(made["key"].as_str().unwrap().to_owned());
    }
    every_model(&dev, &keys).await;
    audit(&dev).await;
    dev.end().await;
}
