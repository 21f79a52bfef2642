//! Alarms by email and webhook, without Prometheus: a thing is broken, and the operator hears of it.

mod each;

use std::io::Write as _;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use trunkline_db::Role;
use trunkline_testkit::Smtp;

use crate::admin_cli::AdminCli;
use crate::dev::Dev;
use crate::faults::process_harness::ProcessHarness;

const PATIENCE: Duration = Duration::from_secs(90);
/// 32 bytes, and the same as the scheme writes them.
const SECRET: &str = "01234567890123456789012345678901";
pub(crate) const ENCODED: &str = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

/// One message that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    head: String,
    body: String,
}

/// A receiver of an operator.
pub(crate) struct Receiver {
    pub(crate) url: &'static str,
    messages: Arc<Mutex<Vec<Message>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/alarms", listener.local_addr().unwrap());
        let messages = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&messages);
        #[expect(
            clippy::disallowed_methods,
            reason = "aborted when the receiver is dropped"
        )]
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                if let Some(message) = read(stream).await {
                    kept.lock().unwrap().push(message);
                }
            }
        });
        Self {
            // Settings of the harness live as long as the tests.
            url: Box::leak(url.into_boxed_str()),
            messages,
            task,
        }
    }

    fn messages(&self) -> Vec<Message> {
        self.messages.lock().unwrap().clone()
    }

    /// Waits for a message of this type about this alarm.
    pub(crate) async fn reported(&self, kind: &str, name: &str) -> Message {
        let began = Instant::now();
        loop {
            let messages = self.messages();
            let found = messages.iter().find(|message| {
                let body = message.json();
                body["type"] == kind && body["data"]["name"] == name
            });
            if let Some(found) = found {
                return found.clone();
            }
            assert!(
                began.elapsed() < PATIENCE,
                "no {kind} {name} in {messages:#?}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Message {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut named = lines.filter(|(one, _)| one.eq_ignore_ascii_case(name));
        named
            .next()
            .unwrap_or_else(|| panic!("{name} in {}", self.head))
            .1
    }

    /// The signature by another hand than ours.
    fn is_signed(&self) -> bool {
        let (id, at) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let script = format!("openssl dgst -sha256 -hmac {SECRET} -binary | base64 -w0");
        let mut openssl = std::process::Command::new("bash")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = openssl.stdin.take().unwrap();
        write!(stdin, "{id}.{at}.{}", self.body).unwrap();
        drop(stdin);
        let made = openssl.wait_with_output().unwrap();
        let made = String::from_utf8(made.stdout).unwrap();
        self.header("webhook-signature") == format!("v1,{made}")
    }
}

/// Reads one request and thanks for it.
async fn read(mut stream: TcpStream) -> Option<Message> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4_096];
        let count = stream
            .read(&mut piece)
            .await
            .ok()
            .filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let lengths = head.lines().filter_map(|line| line.split_once(": "));
        let length = lengths
            .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .find_map(|(_, value)| value.parse::<usize>().ok())?;
        if body.len() >= length {
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer.as_bytes()).await.ok()?;
            return Some(Message {
                head: head.to_owned(),
                body: body.to_owned(),
            });
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_hears_by_email_and_webhook_of_a_credential_that_cannot_be_opened_and_of_redis_away()
 {
    let (cli, smtp, receiver) = (
        AdminCli::new().await,
        Smtp::start(),
        Receiver::start().await,
    );
    cli.json(&["keyring", "generate"]);
    cli.write("key", "sk-canary-0123456789-tail");
    cli.json(&[
        "channel",
        "add",
        "--name",
        "one",
        "--provider",
        "simulator",
        "--base-url",
        "http://127.0.0.1:9",
        "--key-file",
        "key",
        "--model",
        "m",
    ]);
    // The keyring is lost, and another one made.
    std::fs::remove_file(cli.path("trunkline.keyring.toml")).unwrap();
    cli.json(&["keyring", "generate"]);
    let mut command = cli.command(Role::Data, &["serve", "--json"]);
    let console = cli.db.url(Role::Console);
    command
        .env("TRUNKLINE__CONSOLE__DATABASE_URL", console.reveal())
        .env("TRUNKLINE__MAIL__SMTP", smtp.url())
        .env("TRUNKLINE__MAIL__FROM", "Gate <mail@example.com>")
        .env("TRUNKLINE__ALARMS__EMAILS", "ops@example.com")
        .env("TRUNKLINE__ALARMS__WEBHOOK_URL", receiver.url)
        .env("TRUNKLINE__ALARMS__WEBHOOK_SECRET", ENCODED)
        .env("TRUNKLINE__ALARMS__WAIT_SECONDS", "1")
        .env("TRUNKLINE__REDIS__URL", "redis://127.0.0.1:1");
    for listener in ["EDGE", "CONSOLE", "ADMIN"] {
        command.env(format!("TRUNKLINE__{listener}__LISTEN"), "127.0.0.1:0");
    }
    let _node = Dev::started(Command::from(command)).await;

    let message = receiver
        .reported("alarm.firing", "credentials_unopened")
        .await;
    assert!(message.is_signed(), "{message:?}");
    let body = message.json();
    assert_eq!(body["data"]["subject"], "one");
    assert!(!message.body.contains("canary"), "{message:?}");
    receiver.reported("alarm.firing", "redis_away").await;
    let began = Instant::now();
    loop {
        let mails = smtp.mails();
        let reported = mails.iter().any(|mail| {
            let text = format!("{mail:?}");
            mail.to == "ops@example.com" && text.contains("ALARM: credentials_unopened one")
        });
        if reported {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{mails:#?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // Told once, though the condition lasts and the job runs on.
    tokio::time::sleep(Duration::from_secs(11)).await;
    let names: Vec<Value> = receiver
        .messages()
        .iter()
        .map(|message| message.json()["data"]["name"].clone())
        .collect();
    for name in ["credentials_unopened", "redis_away"] {
        let count = names.iter().filter(|one| *one == name).count();
        assert_eq!(count, 1, "{names:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_hears_that_the_database_is_away_and_that_it_is_back() {
    let receiver = Receiver::start().await;
    let environment = [
        ("TRUNKLINE__ALARMS__WEBHOOK_URL", receiver.url),
        ("TRUNKLINE__ALARMS__WEBHOOK_SECRET", ENCODED),
        ("TRUNKLINE__ALARMS__WAIT_SECONDS", "1"),
    ];
    let mut harness = ProcessHarness::of_neighbours(4_096, &environment).await;
    harness.roles = "edge,worker";
    harness.start_gateway().await;
    // Longer than two rounds of the job: nothing is wrong, and nothing is said.
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(receiver.messages().len(), 0, "{:?}", receiver.messages());
    harness.postgres.stop_fast();
    let away = receiver.reported("alarm.firing", "database_away").await;
    assert!(away.is_signed(), "{away:?}");
    assert_eq!(away.json()["data"]["node"], "node-1");
    harness.postgres.start();
    let back = receiver.reported("alarm.resolved", "database_away").await;
    assert_ne!(away.header("webhook-id"), back.header("webhook-id"));
}
