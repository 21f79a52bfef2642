//! What a served customer gets, checked with both verifiers: through HTTP, from real processes that are killed.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::process::Command;
use tokio::time::Instant;
use trunkline_db::{Database, Role};
use trunkline_ledger::chain::{self, StatementReader};
use trunkline_ledger::usage_report;
use trunkline_receipts::{SigningKey, verify};
use trunkline_testkit::Postgres;
use trunkline_types::AccountId;

use super::by_both;
use crate::dev::TRUNKLINE;
use crate::faults::process_harness::ProcessHarness;
use crate::sdk::customer::send_bytes;

const DAY: i64 = 86_400;
/// For a job that comes every few seconds, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(90);

struct Customer {
    harness: ProcessHarness,
}

impl Customer {
    async fn call(&self) -> String {
        let body = json!({
            "model": "sim-fast", "max_tokens": 50,
            "messages": [{ "role": "user", "content": "Hello [[tokens:5]]" }],
        })
        .to_string();
        let url = format!("http://{}/v1/chat/completions", self.harness.address);
        let bearer = format!("Bearer {}", self.harness.key);
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
        ];
        let sent = send_bytes("POST", &url, &headers, body.as_bytes()).await;
        assert_eq!(sent.status, 200, "{}", sent.text());
        sent.header("x-request-id").expect("an id")
    }

    /// Saves what a path answers.
    async fn save(&self, path: &str, file: &Path) {
        let run = Command::new("curl")
            .args(["-sS", "--fail", "--noproxy", "*", "-o"])
            .arg(file)
            .arg("-H")
            .arg(format!("authorization: Bearer {}", self.harness.key))
            .arg(format!("http://{}{path}", self.harness.address))
            .output();
        let output = run.await.unwrap();
        let complained = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{path}: {complained}");
    }

    async fn number(&self, query: &str) -> i64 {
        let rows = self.harness.postgres.ask(query).await;
        rows[0].parse().unwrap()
    }

    /// Until a number of the tables is zero.
    async fn until_none(&self, what: &str, query: &str) {
        let began = Instant::now();
        while self.number(query).await != 0 {
            assert!(began.elapsed() < PATIENCE, "not reached: {what}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Until the worker has entered everything.
    async fn entered(&self) {
        self.until_none(
            "everything is a line",
            "SELECT ((SELECT count(*) FROM ledger.usage_unsummed) + (SELECT count(*) FROM ledger.unchained)
                 + abs((SELECT COALESCE(sum(lines), 0) FROM ledger.chain_day)
                     - (SELECT count(*) FROM ledger.usage) - (SELECT count(*) FROM ledger.transfer)))::bigint::text",
        )
        .await;
    }

    /// Until the worker has signed all days but today.
    async fn signed(&self) {
        self.until_none(
            "every day is signed",
            "SELECT count(*)::text FROM ledger.chain_day WHERE head IS NULL",
        )
        .await;
    }
}

/// After chaos: the statements of all accounts verify, have a line for every call and transfer, and add up to the
/// wallets. Moves the clock of the database by a day.
pub(crate) async fn chains_hold(postgres: &Postgres, data: &Database, key: &SigningKey) {
    let waiting = "SELECT ((SELECT count(*) FROM ledger.usage_unsummed)
        + (SELECT count(*) FROM ledger.unchained))::text";
    let began = Instant::now();
    // A node that sums up at this moment does so instead of us.
    while postgres.ask(waiting).await != ["0"] {
        assert!(began.elapsed() < PATIENCE, "calls wait to be entered");
        usage_report::sum_up(data).await.unwrap();
        chain::link(data).await.unwrap();
    }
    postgres.shift_clock(DAY).await;
    while chain::sign_days(data, key).await.unwrap().has_more {}
    let accounts = postgres
        .ask("SELECT id::text FROM ledger.account ORDER BY id")
        .await;
    let today = usage_report::today(data).await.unwrap();
    let (from, to) = (today.earlier(3), today.earlier(1));
    for account in accounts {
        let id = AccountId::new(account.parse().unwrap());
        let opened = StatementReader::open(data, id, from, to, key).await;
        let mut reader = opened.unwrap();
        let mut file = String::new();
        while let Some(piece) = reader.next_piece().await.unwrap() {
            file.push_str(&piece);
        }
        let report = verify(&mut file.as_bytes(), None).unwrap();
        assert!(report.is_ok(), "account {account}: {:?}", report.findings);
        let expected = postgres
            .ask(&format!(
                "SELECT ((SELECT count(*) FROM ledger.usage WHERE account_id = a.id)
                     + (SELECT count(*) FROM ledger.transfer WHERE account_id = a.id))::text
                     || ' ' || a.paid_posted || ' ' || a.trial_posted
                 FROM ledger.account AS a WHERE a.id = {account}"
            ))
            .await;
        let totals = report.totals;
        let found = format!("{} {} {}", totals.lines, totals.paid, totals.trial);
        assert_eq!([found], expected[..], "account {account}");
    }
}

#[tokio::test]
async fn a_customer_checks_the_bill_of_processes_that_were_killed_with_both_verifiers() {
    let mut customer = Customer {
        harness: ProcessHarness::new().await,
    };
    customer.harness.kill_gateway().await;
    customer.harness.roles = "edge,worker";
    let mut calls = Vec::new();
    for _ in 0..3 {
        customer.harness.start_gateway().await;
        for _ in 0..4 {
            calls.push(customer.call().await);
        }
        // In the middle of the jobs, wherever they are.
        customer.harness.kill_gateway().await;
    }
    customer.harness.start_gateway().await;
    customer.entered().await;
    customer.harness.audit().await;
    let receipt = format!("/v1/usage/{}/receipt", calls[0]);
    // A node that lives through a day in a moment would take itself for dead.
    customer.harness.kill_gateway().await;
    customer.harness.postgres.shift_clock(DAY).await;
    customer.harness.start_gateway().await;
    customer.signed().await;

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    customer
        .save("/.well-known/trunkline-keys.json", &at("keys.json"))
        .await;
    customer.save("/v1/statement", &at("statement")).await;
    customer.save(&receipt, &at("receipt")).await;
    let today = usage_report::today(&customer.harness.data).await.unwrap();
    let account = customer.harness.account.to_string();
    let yesterday = today.earlier(1).to_string();
    let written = Command::new(TRUNKLINE)
        .args([
            "statement",
            &account,
            "--from",
            &yesterday,
            "--to",
            &yesterday,
        ])
        .arg("--output")
        .arg(at("by-operator"))
        .args(["--config", "/dev/null"])
        .current_dir(customer.harness.folder.path())
        .env("TRUNKLINE__KEYRING__FILE", "keyring.toml")
        .env(
            "TRUNKLINE__DATABASE__URL",
            customer.harness.postgres.direct_url(Role::Console).reveal(),
        )
        .output();
    let written = written.await.unwrap();
    let complained = String::from_utf8_lossy(&written.stderr);
    assert!(written.status.success(), "{complained}");

    let words = ["--keys", "keys.json", "statement", "by-operator", "receipt"];
    let verdict = by_both(folder.path(), &words.map(str::to_owned));
    assert!(verdict.is_ok, "{:#?}", verdict.lines);
    let rows = customer
        .number(&format!(
            "SELECT ((SELECT count(*) FROM ledger.usage WHERE account_id = {account})
                 + (SELECT count(*) FROM ledger.transfer WHERE account_id = {account}))::text"
        ))
        .await;
    let lines = format!("lines {rows},");
    let (balance, _) = customer.harness.balance().await;
    let paid = format!("paid {balance},");
    let of_statements = verdict
        .lines
        .iter()
        .filter(|line| line.contains("statement of"));
    for line in of_statements {
        assert!(line.contains(&lines) && line.contains(&paid), "{line}");
    }
    let statement = std::fs::read(at("statement")).unwrap();
    let statement = String::from_utf8(statement).unwrap();
    for call in &calls {
        assert!(statement.contains(call), "{call}");
    }
}
