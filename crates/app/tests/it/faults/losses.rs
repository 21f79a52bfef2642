//! What upstreams may bill and customers do not pay, provoked by two accounts and seen by account: in the view, by
//! the command with its thresholds, and in the metrics.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::Instant;
use trunkline_db::Role;
use trunkline_store::PolicyFields;
use trunkline_types::{AccountId, Money};

use super::process_harness::{INPUT, OUTPUT, ProcessHarness, TRUNKLINE, account, key_of};

const STEP: Duration = Duration::from_secs(20);
/// Of an account that provokes losses, nano-USD.
const WALLET: i64 = 1_000_000_000;

/// An account that provokes losses, and what they must be.
struct Customer {
    account: AccountId,
    key: String,
    undelivered: i64,
    overrun: i64,
}

struct Losses {
    harness: ProcessHarness,
}

impl Losses {
    async fn customer(&self) -> Customer {
        let account = account(&self.harness.console, WALLET).await;
        let (_, key) = key_of(&self.harness.console, account, PolicyFields::default()).await;
        let customer = Customer {
            account,
            key,
            undelivered: 0,
            overrun: 0,
        };
        reached("the key is known", async || {
            let request = format!(
                "GET /v1/balance HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
                customer.key
            );
            read(self.harness.address, &request).await.starts_with("HTTP/1.1 200")
        })
        .await;
        customer
    }

    /// Sends a chat call and reads nothing.
    async fn send(&self, customer: &Customer, prompt: &str, stream: bool) -> TcpStream {
        let body = json!({
            "model": "sim-fast", "stream": stream, "max_tokens": 4_000,
            "messages": [{ "role": "user", "content": prompt }],
        })
        .to_string();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            customer.key,
            body.len()
        );
        let mut line = TcpStream::connect(self.harness.address).await.unwrap();
        line.write_all(head.as_bytes()).await.unwrap();
        line.write_all(body.as_bytes()).await.unwrap();
        line
    }

    /// One number of the account's rows.
    async fn number(&self, customer: &Customer, sum: &str, table: &str) -> i64 {
        let account = customer.account.number();
        let query =
            format!("SELECT ({sum})::text FROM ledger.{table} WHERE account_id = {account}");
        self.harness.postgres.ask(&query).await[0].parse().unwrap()
    }

    async fn until(&self, customer: &Customer, what: &str, (table, rows): (&str, i64)) {
        reached(what, async || {
            self.number(customer, "count(*)", table).await == rows
        })
        .await;
    }

    async fn until_asked(&self, marker: &str) {
        reached("the upstream is asked", async || {
            let requests = self.harness.simulator.requests();
            let is_it = |marked: &Option<String>| marked.as_deref() == Some(marker);
            requests.iter().any(|one| is_it(&one.marker))
        })
        .await;
    }

    /// Closes both halves before the answer: charged and refunded.
    async fn undelivered(&self, customer: &mut Customer) {
        let prompt = "Hello [[tokens:5]] [[fault:slow_first_byte:700]]";
        let line = self.send(customer, prompt, false).await;
        self.until(customer, "money is held", ("any_hold", 1)).await;
        drop(line);
        self.until(customer, "the call is charged", ("usage", 1))
            .await;
        customer.undelivered = self.number(customer, "sum(paid)", "usage").await;
        assert!(customer.undelivered > 0);
        let moved = "count(*) FILTER (WHERE kind = 'undelivered')";
        reached("the charge is refunded", async || {
            self.number(customer, moved, "transfer").await == 1
        })
        .await;
    }

    /// Resets the connection before the first byte: nothing is charged, and the upstream was asked.
    async fn reset(&self, customer: &Customer, calls: i64) {
        let marker = format!("reset-{}-{calls}", customer.account.number());
        let prompt = format!("[[id:{marker}]] [[tokens:5]] [[fault:slow_first_byte:9000]]");
        let line = self.send(customer, &prompt, false).await;
        self.until_asked(&marker).await;
        line.set_zero_linger().unwrap();
        drop(line);
        self.until(customer, "the hold is released", ("usage", calls))
            .await;
    }

    /// Leaves a stream at its first words: charged by an estimate.
    async fn left(&self, customer: &Customer, calls: i64) {
        let mut line = self
            .send(customer, "Go on [[tokens:900]] [[pace:20]]", true)
            .await;
        let (mut text, mut piece) = (String::new(), [0; 4_096]);
        while !text.contains("sim3 ") {
            let count = line.read(&mut piece).await.unwrap();
            assert!(count > 0, "{text}");
            text.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
        line.set_zero_linger().unwrap();
        drop(line);
        self.until(customer, "the stream is charged", ("usage", calls))
            .await;
    }

    /// An upstream that reports more than the wallet has.
    async fn overrun(&self, customer: &mut Customer, factor: u64) {
        let before = self.number(customer, "sum(paid)", "usage").await;
        let prompt = format!("Short [[tokens:5]] [[fault:lying_usage:{factor}]]");
        let mut line = self.send(customer, &prompt, false).await;
        let mut answer = String::new();
        line.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let body: Value = serde_json::from_str(answer.split("\r\n\r\n").last().unwrap()).unwrap();
        let of = |name: &str| body["usage"][name].as_i64().unwrap();
        let due = of("prompt_tokens") * INPUT + of("completion_tokens") * OUTPUT;
        let charged = self.number(customer, "sum(paid)", "usage").await - before;
        customer.overrun = due - charged;
        assert!(
            charged > 0 && customer.overrun > WALLET,
            "{charged} of {due}"
        );
    }
}

impl Customer {
    /// The rows of the view, with so many interrupted calls.
    fn rows(&self, interrupted: i64) -> [String; 4] {
        [
            format!("interrupted {interrupted} unknown"),
            format!("overrun 1 {}", self.overrun),
            "unbilled 1 unknown".to_owned(),
            format!("undelivered 1 {}", self.undelivered),
        ]
        .map(|row| format!("{} {row}", self.account.number()))
    }

    /// What the command says of it.
    fn lines(&self, interrupted: i64) -> [Value; 4] {
        let line = |kind: &str, calls: i64, nanos: Option<i64>| {
            let usd = nanos.map(|nanos| Money::from_nanos(nanos).to_string());
            let amounts = json!({ "calls": calls, "usd": usd });
            let account = self.account.number();
            json!({ "account": account, "kind": kind, "total": amounts, "today": amounts })
        };
        [
            line("overrun", 1, Some(self.overrun)),
            line("undelivered", 1, Some(self.undelivered)),
            line("interrupted", interrupted, None),
            line("unbilled", 1, None),
        ]
    }

    fn known(&self) -> i64 {
        self.overrun + self.undelivered
    }
}

async fn reached(what: &str, is_so: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < STEP, "not reached: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn read(address: std::net::SocketAddr, request: &str) -> String {
    let mut line = TcpStream::connect(address).await.unwrap();
    line.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    line.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Runs `trunkline losses`; its exit code and what it prints.
async fn command(harness: &ProcessHarness, words: &[&str]) -> (Option<i32>, String) {
    let url = harness.postgres.direct_url(Role::Audit);
    let output = Command::new(TRUNKLINE)
        .args(["losses", "--config", "/dev/null"])
        .args(words)
        .env("TRUNKLINE__DATABASE__URL", url.reveal())
        .output();
    let output = output.await.unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(printed).unwrap())
}

/// The samples of today's losses, once the job has run.
async fn metrics(harness: &ProcessHarness) -> Vec<String> {
    let admin = harness.admin.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let samples = async || {
        let page = read(admin, request).await;
        let is_loss = |line: &&str| line.starts_with("trunkline_losses_");
        page.lines().filter(is_loss).map(str::to_owned).collect()
    };
    let none = Vec::<String>::new();
    reached("the losses are measured", async || samples().await != none).await;
    samples().await
}

#[tokio::test]
async fn losses_of_every_kind_are_seen_by_account_in_view_command_and_metrics() {
    let mut losses = Losses {
        harness: ProcessHarness::new().await,
    };
    let quiet = command(&losses.harness, &["--alarm-usd", "0.000000001"]).await;
    assert_eq!(quiet, (Some(0), "No losses.\n".to_owned()));
    let (mut first, mut second) = (losses.customer().await, losses.customer().await);
    for (customer, resets) in [(&mut first, 1), (&mut second, 2)] {
        losses.undelivered(customer).await;
        for reset in 1..=resets {
            losses.reset(customer, 1 + reset).await;
        }
        losses.left(customer, 2 + resets).await;
    }
    // Their outcome is lost with the process; the money of all others is spent meanwhile.
    let mut lost = Vec::new();
    for (customer, factor) in [(&mut first, 1_000_000), (&mut second, 2_000_000)] {
        let marker = format!("lost-{}", customer.account.number());
        let prompt = format!("[[id:{marker}]] [[tokens:5]] [[fault:slow_first_byte:9000]]");
        lost.push(losses.send(customer, &prompt, false).await);
        losses.until_asked(&marker).await;
        losses.overrun(customer, factor).await;
    }
    losses.harness.kill_gateway().await;
    losses.harness.roles = "edge,worker";
    losses.harness.start_gateway().await;
    let harness = &losses.harness;

    let query = "SELECT account_id || ' ' || kind || ' ' || calls || ' ' || COALESCE(sale::text, 'unknown') \
                 FROM ledger.exposure_day WHERE day = (app.now() AT TIME ZONE 'UTC')::date ORDER BY account_id, kind";
    let rows = [first.rows(2), second.rows(3)].concat();
    assert_eq!(harness.postgres.ask(query).await, rows);

    let (code, printed) = command(harness, &["--days", "2", "--json"]).await;
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        (code, &report["alarms"]),
        (Some(0), &json!([])),
        "{printed}"
    );
    let mut expected = [first.lines(2), second.lines(3)].concat();
    let mut listed = report["losses"].as_array().unwrap().clone();
    assert_eq!(listed[0], second.lines(3)[0], "the largest is first");
    expected.sort_by_key(Value::to_string);
    listed.sort_by_key(Value::to_string);
    assert_eq!(listed, expected);
    let between = Money::from_nanos(first.known()).to_string();
    for threshold in [["--alarm-usd", &between], ["--alarm-calls", "5"]] {
        let (code, printed) = command(harness, &threshold).await;
        assert_eq!(code, Some(1), "{printed}");
        let known = Money::from_nanos(second.known());
        let account = second.account.number();
        let alarm = format!("ALARM  account {account}: 6 calls and {known} USD today\n");
        assert!(printed.ends_with(&alarm), "{printed}");
        assert_eq!(printed.matches("ALARM").count(), 1, "{printed}");
    }

    let usd = |nanos| Money::from_nanos(nanos).to_string();
    let samples = metrics(harness).await;
    for (sample, value) in [
        ("calls{kind=\"overrun\"}", "2".to_owned()),
        ("calls{kind=\"interrupted\"}", "5".to_owned()),
        ("calls{kind=\"unbilled\"}", "2".to_owned()),
        ("calls{kind=\"undelivered\"}", "2".to_owned()),
        ("account_max_calls{kind=\"interrupted\"}", "3".to_owned()),
        ("usd{kind=\"overrun\"}", usd(first.overrun + second.overrun)),
        (
            "usd{kind=\"undelivered\"}",
            usd(first.undelivered + second.undelivered),
        ),
        ("usd{kind=\"interrupted\"}", "0".to_owned()),
        ("account_max_usd{kind=\"overrun\"}", usd(second.overrun)),
    ] {
        let line = format!("trunkline_losses_{sample} {value}");
        assert!(samples.contains(&line), "{line}: {samples:#?}");
    }
    assert_eq!(samples.len(), 16, "{samples:#?}");
    harness.audit().await;
}
