//! Every platform that is built in can be sold, and so can the example of `docs/dev/adding/platform.md`, which
//! an operator's folder adds: the executable lists it, prices it, serves a call of each cell and charges
//! it. The data source is a listener that answers with the cell's own fixture, so a new file of
//! `crates/social/cells` is tried by being there.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use trunkline_db::Role;
use trunkline_gateway::cells_with_folder;
use trunkline_social::{Cell, Cells};
use trunkline_types::Money;

use crate::admin_cli::AdminCli;

/// Within which a change of an operator holds on every node.
const SOON: Duration = Duration::from_secs(2);
/// Tries of a call while the books are slow.
const TRIES: usize = 5;
/// Reserved and unwritten in a query; enough for examples.
const ESCAPED: [(&str, &str); 6] = [
    ("%", "%25"),
    ("&", "%26"),
    ("+", "%2B"),
    ("#", "%23"),
    ("?", "%3F"),
    (" ", "%20"),
];

/// The data source: what it answers next, and the targets it was asked for.
#[derive(Default)]
struct Source {
    answer: Mutex<String>,
    requested: Mutex<Vec<String>>,
}

impl Source {
    fn open() -> (Arc<Self>, SocketAddr) {
        let source = Arc::<Self>::default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let behind = Arc::clone(&source);
        thread::spawn(move || {
            for stream in listener.incoming() {
                behind.serve(stream.unwrap());
            }
        });
        (source, address)
    }

    /// One request of a connection; a client that wants another one connects again.
    fn serve(&self, stream: TcpStream) {
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        let mut length = 0;
        loop {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            let line = line.trim().to_lowercase();
            if let Some(reported) = line.strip_prefix("content-length:") {
                length = reported.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        lines.take(length).read_to_end(&mut Vec::new()).unwrap();
        let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
        self.requested.lock().unwrap().push(target);
        let body = self.answer.lock().unwrap().clone();
        let head = format!(
            "content-type: application/json\r\ncontent-length: {}",
            body.len()
        );
        let mut stream = stream;
        let text = format!("HTTP/1.1 200 OK\r\n{head}\r\nconnection: close\r\n\r\n{body}");
        drop(stream.write_all(text.as_bytes()));
    }
}

/// A `trunkline serve`, killed when it is dropped.
pub(crate) struct Serving {
    process: Child,
    pub(crate) edge: String,
    console: String,
    _input: Option<ChildStdin>,
}

impl Serving {
    pub(crate) fn start(cli: &AdminCli) -> Self {
        trunkline_testkit::count("gateway process");
        let mut command = cli.command(Role::Data, &["serve", "--json"]);
        let people = cli.db.url(Role::Console);
        command.env("TRUNKLINE__CONSOLE__DATABASE_URL", people.reveal());
        for listener in ["EDGE", "CONSOLE", "ADMIN"] {
            command.env(format!("TRUNKLINE__{listener}__LISTEN"), "127.0.0.1:0");
        }
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let reported: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        let address = |name: &str| reported[name].as_str().unwrap().to_owned();
        Self {
            edge: address("listen"),
            console: address("console"),
            _input: process.stdin.take(),
            process,
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A status, the head and the body, by the plainest of clients.
fn get(host: &str, target: &str, key: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(host).unwrap();
    let text = format!(
        "GET {target} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), body.to_owned())
}

/// The same as often as an error of ours says that it may be tried again: a machine under many tests may
/// keep the books waiting, and nothing is charged for that.
fn patiently(host: &str, target: &str, key: &str) -> (u16, String, String) {
    let mut got = get(host, target, key);
    for _ in 1..TRIES {
        if got.0 != 503 || !got.2.contains("temporarily_unavailable") {
            break;
        }
        got = get(host, target, key);
    }
    got
}

/// The query that a cell's examples make.
fn query(cell: &Cell) -> String {
    let firsts: Vec<&String> = cell
        .require_one_of
        .iter()
        .filter_map(|group| group.first())
        .collect();
    let needed = cell
        .params
        .iter()
        .filter(|param| param.required || firsts.contains(&&param.name));
    let pairs: Vec<String> = needed
        .map(|param| {
            let example = param.example.as_ref().unwrap();
            let text = example
                .as_str()
                .map_or_else(|| example.to_string(), str::to_owned);
            let text = ESCAPED
                .iter()
                .fold(text, |text, (plain, escaped)| text.replace(plain, escaped));
            format!("{}={}", param.name, utf8(&text))
        })
        .collect();
    pairs.join("&")
}

/// A target is ASCII.
fn utf8(text: &str) -> String {
    let one = |byte: u8| {
        if byte.is_ascii() {
            return char::from(byte).to_string();
        }
        format!("%{byte:02X}")
    };
    text.bytes().map(one).collect()
}

/// The folder of a platform that does not exist.
fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dev/adding/platform")
}

/// What the source answers first, exactly.
fn page(cell: &Cell) -> String {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../social/tests/fixtures");
    let name = format!("{}.json", cell.capability.as_str());
    let of = |fixtures: PathBuf| fixtures.join(&cell.platform.key).join(&name);
    let path = Some(of(example())).filter(|path| path.exists());
    let path = path.unwrap_or_else(|| of(own));
    let bytes = std::fs::read(&path).unwrap_or_else(|_| panic!("{}", path.display()));
    let pages: Value = serde_json::from_slice(&bytes).unwrap();
    pages["page_1"].to_string()
}

/// An installation whose starter catalog and suggested prices sell every cell, and where a channel serves them.
async fn shop(source: SocketAddr) -> AdminCli {
    let cli = AdminCli::new().await;
    let folder = example().canonicalize().unwrap();
    let config = format!("[social]\ncells = \"{}\"\n", folder.display());
    cli.write("trunkline.toml", &config);
    cli.json(&["catalog", "import", "--starter"]);
    cli.json(&["social", "price", "--suggest", "--yes"]);
    cli.run(&["keyring", "generate"]);
    cli.write("key", "a-credential-of-the-source\n");
    let base = format!("http://{source}");
    let mut words = vec!["channel", "add", "--name", "source", "--provider", "tikhub"];
    words.extend(["--base-url", &base, "--key-file", "key"]);
    let cells = cells_with_folder(&example()).unwrap();
    let models: Vec<String> = cells.all().map(|cell| cell.model.clone()).collect();
    for model in &models {
        words.extend(["--model", model]);
    }
    cli.json(&words);
    cli
}

#[tokio::test]
async fn every_cell_is_listed_priced_called_and_charged() {
    let (source, address) = Source::open();
    let cli = shop(address).await;
    let account = cli.account("Ada");
    cli.json(&["topup", &account.to_string(), "25"]);
    let (_, key) = cli.key(account, &[]);
    let listed = cli.json(&["social", "list"]);
    let listed = listed["cells"].as_array().unwrap();
    let serving = Serving::start(&cli);
    let (status, _, catalog) = get(&serving.console, "/api/social/catalog", &key);
    assert_eq!(status, 200, "{catalog}");
    let catalog: Value = serde_json::from_str(&catalog).unwrap();
    let catalog = catalog["cells"].as_array().unwrap();
    let cells = cells_with_folder(&example()).unwrap();
    assert!(
        cells.all().count() > Cells::builtin().unwrap().all().count(),
        "the example of docs/dev/adding is sold too"
    );
    let mut spent = Money::ZERO;
    for (place, cell) in cells.all().enumerate() {
        let name = &cell.model;
        let [row, status_view] = [&listed[place], &catalog[place]];
        assert_eq!(
            (&row["model"], &row["status"]),
            (&name.as_str().into(), &"available".into())
        );
        assert_eq!(
            (&status_view["model"], &status_view["status"]),
            (&row["model"], &row["status"])
        );
        let price = row["price_usd"].as_str().unwrap();
        assert_eq!(status_view["price_usd"].to_string(), price, "{name}");
        let margin = row["margin_usd"].as_str().unwrap();
        assert!(
            !margin.starts_with('-') && margin != "0",
            "{name} is sold at a loss"
        );

        let data = page(cell);
        *source.answer.lock().unwrap() = format!(r#"{{"code":200,"data":{data}}}"#);
        let target = format!("{}?{}", cell.route(), query(cell));
        let (status, head, body) = patiently(&serving.edge, &target, &key);
        assert_eq!(status, 200, "{name} {target}: {body}");
        assert!(
            body.ends_with(&format!(r#""data":{data}}}"#)),
            "{name}: {body}"
        );
        assert!(
            head.contains(&format!("trunkline-cost-usd: {price}")),
            "{name}: {head}"
        );
        let requested = source.requested.lock().unwrap().pop().unwrap();
        assert!(
            requested.starts_with(cell.source_path()),
            "{name}: {requested}"
        );
        spent = spent.checked_add(price.parse().unwrap()).unwrap();
    }
    assert_eq!(
        (catalog.len(), listed.len()),
        (cells.all().count(), cells.all().count())
    );
    drop(serving);
    let left = cli.json(&["account", "show", &account.to_string()]);
    let left: Money = left["balance"]["paid_usd"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let credit: Money = "25".parse().unwrap();
    assert_eq!(credit.checked_sub(spent).unwrap(), left);
    let audited = cli.run_as(Role::Audit, &["audit"]);
    assert_eq!(audited.code, Some(0), "{audited:?}");
}

#[tokio::test]
async fn a_pause_is_told_and_holds_within_two_seconds() {
    let (source, address) = Source::open();
    let cli = shop(address).await;
    let account = cli.account("Ada");
    cli.json(&["topup", &account.to_string(), "25"]);
    let (_, key) = cli.key(account, &[]);
    let cells = Cells::builtin().unwrap();
    let cell = cells.get("douyin", "trending").unwrap();
    *source.answer.lock().unwrap() = format!(r#"{{"code":200,"data":{}}}"#, page(cell));
    let serving = Serving::start(&cli);
    let seen = || {
        let (_, _, catalog) = get(
            &serving.console,
            "/api/social/catalog?platform=douyin",
            &key,
        );
        let catalog: Value = serde_json::from_str(&catalog).unwrap();
        let status_view = catalog["cells"].as_array().unwrap().clone();
        let status_view = status_view
            .iter()
            .find(|one| one["model"] == cell.model.as_str());
        let status_view = status_view.unwrap()["status"].as_str().unwrap().to_owned();
        (status_view, get(&serving.edge, &cell.route(), &key).0)
    };
    let sold = ("available".to_owned(), 200);
    assert_eq!(seen(), sold);
    cli.json(&["social", "pause", "douyin", "trending", "--reason", "x"]);
    soon(|| seen() == ("paused".to_owned(), 503));
    cli.json(&["social", "resume", "douyin", "trending"]);
    soon(|| seen() == sold);
    cli.json(&["catalog", "set-price", &cell.model, "per_call=5000000000"]);
    soon(|| {
        let (_, head, _) = get(&serving.edge, &cell.route(), &key);
        head.contains("trunkline-cost-usd: 0.005")
    });
}

/// Looks until it is so, which must not take longer than two seconds and the last look.
fn soon(is_so: impl Fn() -> bool) {
    let since = Instant::now();
    loop {
        let began = since.elapsed();
        if is_so() {
            return;
        }
        assert!(began < SOON, "not within {SOON:?}");
        thread::sleep(Duration::from_millis(50));
    }
}
