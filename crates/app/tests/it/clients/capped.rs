//! `trunkline run`: commands that call without end, and agents, with a key that cannot spend more than its
//! budget.

mod agents;

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

use crate::clients::ledger_rows::{Customer, key_status, nanos};
use crate::clients::sandbox::{ProgramOutput, Sandbox, attempt};
use crate::dev::{Dev, PATIENCE, TRUNKLINE, audit};

const WALLET: &str = "5";
/// Calls until one fails, and leaves the key behind.
const RUNAWAY: &str = r#"printf %s "$TRUNKLINE_KEY" >key
while curl -sf -o /dev/null "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \
  -H 'Content-Type: application/json' -d '{"model": "gpt-5-mini", "max_completion_tokens": 60,
  "messages": [{"role": "user", "content": "Hello [[tokens:50]]"}]}'; do :; done"#;
const REFUSED_WITHIN: Duration = Duration::from_secs(20);

/// A customer whose key the node knows already: it follows new keys within a second.
async fn customer(dev: &Dev) -> Customer {
    customer_with(dev, WALLET).await
}

async fn customer_with(dev: &Dev, usd: &str) -> Customer {
    let customer = Customer::with_usd(dev, usd).await;
    let began = Instant::now();
    while key_status(dev, &customer.key).await != 200 {
        assert!(began.elapsed() < REFUSED_WITHIN, "the key is not known");
        sleep(Duration::from_millis(50)).await;
    }
    customer
}

/// `trunkline run` in an empty home.
fn capped(scratch: &Sandbox, dev: &Dev, customer: &Customer, words: &[&str]) -> Command {
    let mut command = scratch.command(TRUNKLINE);
    command
        .args(["run", "--json", "--url", dev.text("base_url")])
        .args(words)
        .env("TRUNKLINE_KEY", &customer.key);
    command
}

/// What the wrapper printed last.
fn receipt(reply: &ProgramOutput) -> Value {
    let events = reply.events();
    let last = events.last().unwrap_or_else(|| panic!("{reply:?}")).clone();
    assert_eq!(last["ok"], true, "{last}");
    assert_eq!(last["receipt"]["still_reserved_usd"], Value::Null, "{last}");
    last["receipt"].clone()
}

fn usd(value: &Value) -> i128 {
    nanos(value.as_str().unwrap())
}

/// What the lines of a receipt add up to.
fn listed(receipt: &Value) -> i128 {
    let lines = receipt["lines"].as_array().unwrap();
    lines.iter().map(|line| usd(&line["charged_usd"])).sum()
}

/// The receipt, the statement and the wallet agree to the nano-dollar, and none is above the budget.
async fn assert_adds_up(dev: &Dev, customer: &Customer, receipt: &Value, budget: &str) -> i128 {
    let spent = usd(&receipt["spent_usd"]);
    let calls = customer.calls(dev).await;
    let charged: i128 = calls.iter().map(|call| call.nanos).sum();
    assert_eq!((listed(receipt), charged), (spent, spent), "{receipt:#}");
    assert_eq!(customer.left(dev).await, nanos(WALLET) - spent);
    assert!(spent <= nanos(budget), "{spent} of {budget}");
    spent
}

fn left_key(scratch: &Sandbox) -> String {
    #[expect(clippy::disallowed_methods, reason = "a key that the script wrote")]
    let key = std::fs::read_to_string(scratch.work().join("key"));
    key.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_calls_without_end_spends_its_budget_and_not_a_nano_dollar_more() {
    let dev = Dev::start().await;
    let scratch = Sandbox::new();
    let customer = customer(&dev).await;
    let budget = "0.001";
    let words = ["--budget", budget, "--", "sh", "-c", RUNAWAY];
    let reply = attempt(&mut capped(&scratch, &dev, &customer, &words)).await;
    assert!(reply.succeeded, "{reply:?}");
    let receipt = receipt(&reply);
    let spent = assert_adds_up(&dev, &customer, &receipt, budget).await;
    let lines = receipt["lines"].as_array().unwrap();
    let dearest = lines.iter().map(|line| usd(&line["charged_usd"])).max();
    // What is left would not have paid for one more.
    assert!(
        lines.len() > 3 && spent + 2 * dearest.unwrap() > nanos(budget),
        "{receipt:#}"
    );
    assert_eq!(key_status(&dev, &left_key(&scratch)).await, 401);
    audit(&dev).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_keeps_its_exit_code_and_a_refused_budget_starts_nothing() {
    let dev = Dev::start().await;
    let scratch = Sandbox::new();
    let customer = customer(&dev).await;
    let words = ["--budget", "1", "--", "sh", "-c", "exit 7"];
    let status = capped(&scratch, &dev, &customer, &words).status().await;
    assert_eq!(status.unwrap().code(), Some(7));
    let stranger = Customer {
        key: "sk-tl-unknown".to_owned(),
        ..customer.clone()
    };
    let words = ["--budget", "1", "--", "sh", "-c", "touch started"];
    let reply = attempt(&mut capped(&scratch, &dev, &stranger, &words)).await;
    assert!(
        !reply.succeeded && reply.output.contains("401"),
        "{reply:?}"
    );
    assert!(!scratch.work().join("started").exists());
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_whose_wrapper_was_killed_expires() {
    let dev = Dev::start().await;
    let scratch = Sandbox::new();
    let customer = customer(&dev).await;
    let script = "printf %s \"$TRUNKLINE_KEY\" >key.new && mv key.new key && exec sleep 20";
    let words = ["--budget", "1", "--for", "6s", "--", "sh", "-c", script];
    let mut command = capped(&scratch, &dev, &customer, &words);
    // What it leaves behind must not hold the output of this test open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut wrapper = command.spawn().unwrap();
    let began = Instant::now();
    while left_key(&scratch).is_empty() {
        assert!(
            began.elapsed() < REFUSED_WITHIN,
            "the command did not start"
        );
        sleep(Duration::from_millis(50)).await;
    }
    let key = left_key(&scratch);
    assert_eq!(key_status(&dev, &key).await, 200);
    wrapper.kill().await.unwrap();
    while key_status(&dev, &key).await == 200 {
        assert!(began.elapsed() < REFUSED_WITHIN, "the key is still alive");
        sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(key_status(&dev, &key).await, 401);
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrapper_that_is_told_to_end_tells_its_command_and_prints_the_receipt() {
    let dev = Dev::start().await;
    let customer = customer(&dev).await;
    let call = r#"curl -sf -o /dev/null "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \
  -H 'Content-Type: application/json' -d '{"model": "gpt-5-mini", "max_completion_tokens": 60,
  "messages": [{"role": "user", "content": "Hello [[tokens:50]]"}]}'"#;
    for (name, code) in [("INT", 31), ("TERM", 32), ("HUP", 33)] {
        let scratch = Sandbox::new();
        // It ends by the signal alone, in its own way, after one more call.
        let script = format!(
            "{call}; trap '{}; exit {code}' {name}; printf ready >key.new && mv key.new key; \
             i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done",
            call.replace('\'', "'\\''")
        );
        // The runner of these tests may ignore signals, and a shell cannot trap those.
        let shell = ["env", "--default-signal", "sh", "-c", &script];
        let words = [["--budget", "1", "--"].as_slice(), &shell].concat();
        let mut command = capped(&scratch, &dev, &customer, &words);
        command.stdout(Stdio::piped()).kill_on_drop(true);
        let wrapper = command.spawn().unwrap();
        let began = Instant::now();
        while left_key(&scratch).is_empty() {
            assert!(began.elapsed() < REFUSED_WITHIN, "{name}: it did not start");
            sleep(Duration::from_millis(50)).await;
        }
        let id = wrapper.id().unwrap().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().await;
        assert!(sent.unwrap().success());
        let output = timeout(PATIENCE, wrapper.wait_with_output()).await;
        let output = output.expect("it ends").unwrap();
        assert_eq!(output.status.code(), Some(code), "{name}: {output:?}");
        let reply = ProgramOutput {
            succeeded: true,
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::new(),
        };
        assert_eq!(receipt(&reply)["calls"], 2, "{name}: {reply:?}");
    }
    audit(&dev).await;
    dev.end().await;
}
