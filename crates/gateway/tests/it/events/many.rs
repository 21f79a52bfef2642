//! Many connections on one node: what they cost, and how fast an event reaches all of them. Their other
//! ends are in a process of their own, so that memory and files are counted for the node alone.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;
use tokio::time::Instant;
use trunkline_account_api::EventSettings;
use trunkline_db::events::{NewEvent, SYSTEM_ACCOUNT};
use trunkline_gateway::Settings;
use trunkline_ledger::accounts as ledger_accounts;
use trunkline_store::keys::{self, NewKey};
use trunkline_store::{Policy, PolicyFields};
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, Topic};

use crate::events::fixtures::{happen, news};
use crate::events::sse_client::WAIT;
use crate::test_gateway::{TestGateway, TestOptions, account};

/// Connections of the short form; the long form says how many in the environment.
const SHORT: usize = 200;
/// Events of the system account, one after the other.
const ROUNDS: usize = 10;
/// Connections that are opened at once.
const AT_ONCE: usize = 100;
/// What a connection may take of a node's memory.
const MAX_BYTES_EACH: usize = 128_000;
/// Where the process of the other ends finds its task.
const TASK: &str = "TRUNKLINE_EVENT_CLIENT";

#[expect(clippy::disallowed_methods, reason = "the long form says how long")]
fn reader_count() -> usize {
    let text = std::env::var("TRUNKLINE_EVENT_READERS").unwrap_or_default();
    text.parse().unwrap_or(SHORT)
}

/// Bytes of memory that this process has.
#[expect(clippy::disallowed_methods, reason = "the system's own short file")]
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
    kilobytes.parse::<usize>().unwrap() * 1_024
}

/// The process of the other ends.
struct ReaderProcess {
    _child: Child,
    say: ChildStdin,
    hear: Lines<BufReader<ChildStdout>>,
}

impl ReaderProcess {
    /// Opens connections with keys that a file lists, one a line.
    async fn gather(address: SocketAddr, keys: &str) -> Self {
        let own = std::env::current_exe().unwrap();
        let mut child = Command::new(own)
            .args([
                "events::many::the_other_ends",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env(TASK, format!("{address} {keys}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let say = child.stdin.take().unwrap();
        let hear = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut process = Self {
            _child: child,
            say,
            hear,
        };
        process.answers("all are open").await;
        process
    }

    /// Waits until all have received this text.
    async fn hears(&mut self, words: &str) {
        self.say
            .write_all(format!("{words}\n").as_bytes())
            .await
            .unwrap();
        self.answers("all have heard").await;
    }

    async fn answers(&mut self, words: &str) {
        let answered = async {
            loop {
                let line = self.hear.next_line().await.unwrap();
                if line.expect("the other ends live").contains(words) {
                    return;
                }
            }
        };
        let answered = tokio::time::timeout(WAIT * 5, answered).await;
        answered.expect("they answer in time");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the other process says what to do, and wrote the file"
)]
fn task() -> (SocketAddr, Vec<String>) {
    let task = std::env::var(TASK).unwrap();
    let (address, file) = task.split_once(' ').unwrap();
    let keys = std::fs::read_to_string(file).unwrap();
    let keys = keys.lines().map(str::to_owned).collect();
    (address.parse().unwrap(), keys)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other process of the test below"]
async fn the_other_ends() {
    let (address, keys) = task();
    let mut streams: Vec<TcpStream> = Vec::with_capacity(keys.len());
    for some in keys.chunks(AT_ONCE) {
        let mut opening = JoinSet::new();
        for key in some {
            opening.spawn(open(address, key.clone()));
        }
        streams.extend(opening.join_all().await);
    }
    println!("all are open");
    while let Some(words) = tokio::task::spawn_blocking(reported).await.unwrap() {
        let mut hearing = JoinSet::new();
        for mut stream in streams.drain(..) {
            let words = words.clone();
            hearing.spawn(async move {
                assert!(until(&mut stream, &words).await, "a stream ended");
                stream
            });
        }
        streams = hearing.join_all().await;
        println!("all have heard");
    }
}

/// What the other process waits for; none when it has left.
fn reported() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line).unwrap();
    (read > 0).then(|| line.trim_end().to_owned())
}

async fn open(address: SocketAddr, key: String) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request =
        format!("GET /v1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    // The place is the last of what comes by itself.
    let found = until(&mut stream, "\nid: a").await;
    assert!(found, "a stream ended at its beginning");
    stream
}

/// Reads until something was said; false if the stream ends.
async fn until(stream: &mut TcpStream, words: &str) -> bool {
    let mut received = Vec::new();
    let mut piece = [0; 1_024];
    loop {
        let read = tokio::time::timeout(WAIT * 4, stream.read(&mut piece)).await;
        match read.expect("it comes in time") {
            Ok(0) | Err(_) => return false,
            Ok(length) => received.extend_from_slice(&piece[..length]),
        }
        if String::from_utf8_lossy(&received).contains(words) {
            return true;
        }
    }
}

/// A key that the gateway does not know of yet: to compare after each of many takes long.
async fn quiet_key(harness: &TestGateway, account: AccountId) -> String {
    let new = NewKey {
        account,
        parent: None,
        name: "key",
        policy: Policy::new(PolicyFields::default()).unwrap(),
    };
    let mut tx = harness.console.begin().await.unwrap();
    let made = keys::create(&mut tx, &new, &random_bytes()).await.unwrap();
    let known = ledger_accounts::register_key(&mut tx, account, made.key.id, None).await;
    assert!(known.unwrap());
    tx.commit().await.unwrap();
    made.plain.reveal().to_owned()
}

/// Accounts, each with a key.
async fn accounts(harness: &TestGateway, many: usize) -> Vec<(AccountId, String)> {
    let mut accounts = Vec::new();
    for _ in 0..many {
        let id = account(&harness.console, 0, 0).await;
        accounts.push((id, quiet_key(harness, id).await));
    }
    harness.gateway.refresh().await.unwrap();
    accounts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_connections_hear_of_everything_in_little_memory() {
    let readers = reader_count();
    let settings = Settings {
        events: EventSettings {
            max_connections: readers,
            // How fast all are told is measured, and not how long until the table is looked at.
            look: Duration::from_millis(100),
            ..EventSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::build(TestOptions {
        settings,
        ..TestOptions::default()
    })
    .await;
    let accounts = accounts(&harness, readers.div_ceil(10)).await;
    let mut keys = tempfile::NamedTempFile::new().unwrap();
    for nth in 0..readers {
        writeln!(keys, "{}", accounts[nth % accounts.len()].1).unwrap();
    }
    let before = resident();
    let began = Instant::now();
    let mut process = ReaderProcess::gather(harness.address, keys.path().to_str().unwrap()).await;
    let opened = began.elapsed();
    assert_eq!(
        trunkline_account_api::event_readers(harness.gateway.account_api()),
        readers
    );
    let each = resident().saturating_sub(before) / readers;
    println!(
        "{readers} connections over {} accounts in {opened:?}: {each} bytes each",
        accounts.len()
    );
    assert!(each < MAX_BYTES_EACH, "{each} bytes");
    let mut slowest = Duration::ZERO;
    let began = Instant::now();
    for round in 0..ROUNDS {
        let words = format!("round-{round}-");
        let reported = Instant::now();
        happen(
            &harness.data,
            &[news(SYSTEM_ACCOUNT, Topic::PriceChanged, &words)],
        )
        .await;
        process.hears(&words).await;
        slowest = slowest.max(reported.elapsed());
    }
    let took = began.elapsed();
    let frames = readers * ROUNDS;
    let rate = frames as u128 * 1_000 / took.as_millis().max(1);
    println!(
        "{frames} frames to all readers in {took:?}: {rate} a second; all had one {slowest:?} after \
         its commit at the latest"
    );
    // And to each account its own.
    let began = Instant::now();
    for some in accounts.chunks(100) {
        let events: Vec<NewEvent> = some
            .iter()
            .map(|(id, _)| news(*id, Topic::CallRefunded, &format!("own-{id}-")))
            .collect();
        happen(&harness.data, &events).await;
    }
    process.hears("own-").await;
    let took = began.elapsed();
    println!(
        "{readers} frames of {} accounts in {took:?}",
        accounts.len()
    );
    assert_eq!(
        trunkline_account_api::event_readers(harness.gateway.account_api()),
        readers,
        "no reader was lost"
    );
    println!("figures: requests={readers}");
}
