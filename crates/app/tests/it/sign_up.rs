//! Emails and trial credit with the real executable: mailed, kept, and not lost when a process dies.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_db::{Role, SystemClock};
use trunkline_ledger::accounts::{
    self as ledger_accounts, AccountKind, TopUp, TopUpAnswer, Wallet,
};
use trunkline_ledger::audit;
use trunkline_store::accounts::{self, DEFAULT_GROUP, NewAccount};
use trunkline_store::trial_grants::{self, Granted, NewGrant, Recipient};
use trunkline_testkit::{Smtp, SmtpBehaviour, random_bytes};
use trunkline_types::{AccountId, Clock as _, Money, RequestId, Shard};

use crate::admin_cli::AdminCli;

const PASSWORD: &str = "correct horse canary";
/// Longest wait for what happens within a second on a machine that is idle.
const PATIENCE: Duration = Duration::from_secs(120);

/// A `trunkline serve`, killed when it is dropped.
struct Serving {
    process: Child,
    console: Option<String>,
}

impl Serving {
    fn start(cli: &AdminCli, log: &File, settings: &[(&str, &str)]) -> Self {
        trunkline_testkit::count("gateway process");
        let mut command = cli.command(Role::Data, &["serve", "--json"]);
        for listener in ["EDGE", "CONSOLE", "ADMIN"] {
            command.env(format!("TRUNKLINE__{listener}__LISTEN"), "127.0.0.1:0");
        }
        let people = cli.db.url(Role::Console);
        command.env("TRUNKLINE__CONSOLE__DATABASE_URL", people.reveal());
        for (name, value) in settings {
            command.env(format!("TRUNKLINE__{name}"), value);
        }
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.try_clone().unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let reported: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        Self {
            console: reported["console"].as_str().map(str::to_owned),
            process,
        }
    }

    /// Ends it at once, as a power cut does.
    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A browser, of the plainest kind.
struct Browser {
    host: String,
    jar: BTreeMap<String, String>,
}

impl Browser {
    fn at(serving: &Serving) -> Self {
        Self {
            host: serving.console.clone().unwrap(),
            jar: BTreeMap::new(),
        }
    }

    fn post(&mut self, path: &str, body: &Value) -> (u16, Value) {
        let host = &self.host;
        let cookies: Vec<String> = self
            .jar
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let body = body.to_string();
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\nx-trunkline-console: 1\r\n\
             cookie: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            cookies.join("; "),
            body.len()
        );
        let mut stream = TcpStream::connect(host).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        for line in head.lines() {
            if let Some(cookie) = line.strip_prefix("set-cookie: ") {
                let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
                self.jar.insert(name.to_owned(), value.to_owned());
            }
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn sign_up(&mut self, email: &str) {
        let body = json!({
            "email": email, "name": "Ada", "password": PASSWORD, "organisation": "Engines",
        });
        let (status, answer) = self.post("/api/sign-up", &body);
        assert_eq!(
            (status, &answer["status"]),
            (202, &json!("check_mail")),
            "{answer}"
        );
    }
}

async fn until(cli: &AdminCli, query: &str, expected: &str) {
    let began = Instant::now();
    loop {
        let got = cli.db.ask(query).await;
        if got == [expected] {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{query}: {got:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn mail<'a>(url: &'a str, from: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("CONSOLE__SIGN_UP", "open"),
        ("CONSOLE__NAME", "The Instance"),
        ("MAIL__SMTP", url),
        ("MAIL__FROM", from),
    ]
}

#[tokio::test]
async fn a_new_customer_is_mailed_a_link_and_it_lets_them_in() {
    let (cli, smtp) = (AdminCli::new().await, Smtp::start());
    assert_eq!(cli.run(&["keyring", "generate"]).code, Some(0));
    let log = tempfile::NamedTempFile::new().unwrap();
    let url = smtp.url();
    let settings = [
        mail(&url, "The Instance <mail@gateway.example>"),
        vec![("CONSOLE__TRIAL_AMOUNT_USD", "0.20")],
    ]
    .concat();
    let serving = Serving::start(&cli, log.as_file(), &settings);
    let mut ada = Browser::at(&serving);
    ada.sign_up("ada@example.com");
    let email = smtp.mail_to("ada@example.com").await;
    assert_eq!(
        email.header("subject"),
        "Verify your email for The Instance"
    );
    let host = serving.console.clone().unwrap();
    assert!(
        email.link().starts_with(&format!("http://{host}/verify#")),
        "{}",
        email.link()
    );
    let token = email.token();
    let (status, session) = ada.post("/api/email/verify", &json!({ "token": token }));
    assert_eq!(
        (status, &session["person"]["email_verified"]),
        (200, &json!(true)),
        "{session}"
    );
    let account = session["account"]["id"].as_i64().unwrap().to_string();
    let view = cli.json(&["account", "show", &account]);
    assert_eq!(view["balance"]["trial_usd"], "0.2");

    // Codes of the command line are redeemed at the console.
    let made = cli.json(&["code", "create", "--amount", "5"]);
    let code = made["codes"][0]["code"].as_str().unwrap().to_owned();
    let (status, redeemed) = ada.post("/api/wallet/redeem", &json!({ "code": code }));
    assert_eq!(
        (status, &redeemed["balance"]["paid_usd"]),
        (200, &json!("5")),
        "{redeemed}"
    );
    let listed = cli.json(&["code", "list"]);
    assert_eq!(listed["codes"][0]["state"], "redeemed");
    assert!(
        cli.refused(&["code", "revoke", listed["codes"][0]["id"].as_str().unwrap()])
            .contains("redeemed")
    );
    drop(serving);
    let logged = String::from_utf8(std::fs::read(log.path()).unwrap()).unwrap();
    let body = code.trim_start_matches("TL-");
    for secret in [token.as_str(), PASSWORD, "ada@example.com", body] {
        assert!(!logged.contains(secret), "{secret} in {logged}");
    }
}

#[tokio::test]
async fn an_email_outlives_the_process_that_was_sending_it() {
    let (cli, smtp) = (AdminCli::new().await, Smtp::start());
    assert_eq!(cli.run(&["keyring", "generate"]).code, Some(0));
    let log = tempfile::NamedTempFile::new().unwrap();
    smtp.behave(SmtpBehaviour::Hang);
    let url = smtp.url();
    let settings = mail(&url, "mail@gateway.example");
    let first = Serving::start(&cli, log.as_file(), &settings);
    Browser::at(&first).sign_up("ada@example.com");
    until(&cli, "SELECT tries::text FROM app.email", "1").await;
    first.kill();
    smtp.behave(SmtpBehaviour::Take);
    assert!(smtp.mails().is_empty());
    let second = Serving::start(&cli, log.as_file(), &settings);
    // It is the first one's until its lease is over.
    cli.db.shift_clock(91).await;
    let email = smtp.mail_to("ada@example.com").await;
    until(&cli, "SELECT state FROM app.email", "sent").await;
    assert_eq!(smtp.mails().len(), 1);
    let (status, _) =
        Browser::at(&second).post("/api/email/verify", &json!({ "token": email.token() }));
    assert_eq!(status, 200);
}

#[tokio::test]
async fn without_mail_the_command_line_has_the_link() {
    let cli = AdminCli::new().await;
    assert_eq!(cli.run(&["keyring", "generate"]).code, Some(0));
    let log = tempfile::NamedTempFile::new().unwrap();
    let serving = Serving::start(&cli, log.as_file(), &[("CONSOLE__SIGN_UP", "open")]);
    let mut ada = Browser::at(&serving);
    ada.sign_up("ada@example.com");
    let view = cli.json(&["emails"]);
    let email = &view["emails"][0];
    assert_eq!(
        (&email["to"], &email["state"]),
        (&json!("ada@example.com"), &json!("kept"))
    );
    let link = email["link"].as_str().unwrap();
    let token = link.split_once('#').unwrap().1;
    let (status, _) = ada.post("/api/email/verify", &json!({ "token": token }));
    assert_eq!(status, 200);
}

/// An organisation that was given a dollar for thirty days.
async fn granted(cli: &AdminCli, number: u32) -> AccountId {
    let console = cli.db.connect(Role::Console).await;
    let mut tx = console.begin().await.unwrap();
    let account = ledger_accounts::create_account(&mut tx, AccountKind::Live)
        .await
        .unwrap();
    let new = NewAccount {
        id: account,
        name: "Works",
        group: DEFAULT_GROUP,
        allowed_groups: &[],
        shard: Shard::new(1).unwrap(),
    };
    accounts::create(&mut tx, &new).await.unwrap();
    let recipient = Recipient::of_address(&format!("p{number}@example.com"));
    let amount: Money = "1".parse().unwrap();
    let grant = NewGrant {
        recipient,
        account,
        amount,
        days: 30,
        per_day: 1_000,
    };
    assert_eq!(
        trial_grants::grant(&mut tx, &grant).await.unwrap(),
        Granted::Now
    );
    let top_up = TopUp {
        request: RequestId::new(SystemClock.now(), random_bytes()),
        account,
        wallet: Wallet::Trial,
        amount,
        provider: "trial".to_owned(),
        event: recipient.event(),
    };
    assert_eq!(
        ledger_accounts::top_up(&mut tx, &top_up).await.unwrap(),
        TopUpAnswer::Done
    );
    tx.commit().await.unwrap();
    account
}

#[tokio::test]
async fn credit_that_is_over_goes_back_once_while_workers_die() {
    const GRANTS: u32 = 60;
    let cli = AdminCli::new().await;
    assert_eq!(cli.run(&["keyring", "generate"]).code, Some(0));
    let mut accounts = Vec::new();
    for number in 0..GRANTS {
        accounts.push(granted(&cli, number).await);
    }
    // One has spent a quarter, one has been given more since.
    let spender = accounts[0].number();
    let (key, _) = cli.key(spender, &[]);
    cli.call(spender, key, "0.25".parse().unwrap(), false).await;
    let lucky = accounts[1].number().to_string();
    cli.json(&["topup", &lucky, "3", "--trial"]);
    cli.db.shift_clock(31 * 86_400).await;

    let log = tempfile::NamedTempFile::new().unwrap();
    let worker = |name: &'static str| {
        let settings = [("NODE__NAME", name), ("NODE__ROLES", "worker")];
        Serving::start(&cli, log.as_file(), &settings)
    };
    let (first, _second) = (worker("w1"), worker("w2"));
    let ended = "SELECT (count(ended_at) > 3)::text FROM app.trial_grant";
    until(&cli, ended, "true").await;
    first.kill();
    let _third = worker("w3");
    let left = "SELECT count(*)::text FROM app.trial_grant WHERE ended_at IS NULL";
    until(&cli, left, "0").await;

    let sums = cli
        .db
        .ask("SELECT count(*) || ' ' || sum(amount) FROM ledger.adjustment WHERE reason = 'trial credit expired'")
        .await;
    let taken = i64::from(GRANTS) * 1_000_000_000 - 250_000_000;
    assert_eq!(sums, [format!("{GRANTS} -{taken}")]);
    for (place, account) in accounts.iter().enumerate() {
        let view = cli.json(&["account", "show", &account.to_string()]);
        let expected = if place == 1 { "3" } else { "0" };
        assert_eq!(view["balance"]["trial_usd"], expected, "account {account}");
    }
    let auditor = cli.db.connect(Role::Audit).await;
    let report = audit::run(&auditor).await.unwrap();
    let violations: Vec<_> = report
        .violations
        .iter()
        .filter(|violation| violation.view != "app.audit_clock_shifted")
        .collect();
    assert!(violations.is_empty(), "{violations:#?}");
}
