//! `trunkline init`: a new installation from nothing, by the commands of the page; a second run; what it refuses.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use trunkline_simulator::{Settings, Simulator};
use trunkline_testkit::{OwnSettings, Postgres};

const TRUNKLINE: &str = env!("CARGO_BIN_EXE_trunkline");

/// What the page's commands meet here: `sudo` is the user that runs the tests, and `trunkline` works below a folder of its
/// own and finds the simulator where the vendor would be.
const SUDO: &str = r#"#!/usr/bin/env bash
set -euo pipefail
while [[ "$1" == --* ]]; do shift; done
exec "$@"
"#;
const EXECUTABLE: &str = r#"#!/usr/bin/env bash
set -euo pipefail
if [ "$1" = init ]; then
  shift
  exec "$REAL" init --folder "$MACHINE/etc" --data "$MACHINE/data" --user "$(id -un)" --admin-listen "$ADMIN" \
    --base-url "$SIMULATOR" --model gpt-5-mini=sim-fast "$@"
fi
exec "$REAL" --config "$MACHINE/etc/trunkline.toml" "$@"
"#;

/// A machine with a PostgreSQL, a simulated vendor and nothing else.
struct Machine {
    postgres: Postgres,
    simulator: Simulator,
    folder: tempfile::TempDir,
    port: u16,
    admin: u16,
}

impl Machine {
    async fn new() -> Self {
        let machine = Self {
            postgres: Postgres::own(OwnSettings::default()).await,
            simulator: Simulator::start(Settings::default()).await.unwrap(),
            folder: tempfile::tempdir().unwrap(),
            port: free_port(),
            admin: free_port(),
        };
        // The one that tests are given has the name that `init` wants.
        machine.sql("ALTER DATABASE trunkline RENAME TO before");
        std::fs::create_dir(machine.path("bin")).unwrap();
        for (name, text) in [("sudo", SUDO), ("trunkline", EXECUTABLE)] {
            let path = machine.path("bin").join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        machine
    }

    /// As the superuser.
    fn sql(&self, text: &str) {
        let words = [
            "-qX",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "postgres",
            "-d",
            "postgres",
        ];
        let done = self.command("psql").args(words).args(["-c", text]).output();
        let done = done.unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command in this machine's environment and no other.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let postgres = self.postgres.address();
        let mut command = Command::new(program);
        command
            .env_clear()
            .env(
                "PATH",
                format!(
                    "{}:/usr/local/bin:/usr/bin:/bin",
                    self.path("bin").display()
                ),
            )
            .env("HOME", self.folder.path())
            .env("LC_ALL", "C.UTF-8")
            .env("REAL", TRUNKLINE)
            .env("MACHINE", self.folder.path())
            .env("ADMIN", format!("127.0.0.1:{}", self.admin))
            .env("SIMULATOR", self.simulator.base_url())
            .env("PGHOST", postgres.ip().to_string())
            .env("PGPORT", postgres.port().to_string())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    fn trunkline(&self, words: &[&str]) -> Output {
        let path = self.path("bin/trunkline");
        self.command(path)
            .env("VENDOR_KEY", "key-of-the-vendor")
            .args(words)
            .output()
            .unwrap()
    }

    /// `init` of a database that is there, not started.
    fn init(&self, database: &str) -> Output {
        self.trunkline(&[
            "init",
            "--json",
            "--database",
            database,
            "--public-url",
            "https://api.example.com",
            "--operator",
            "Ada@example.com",
            "--provider",
            "openai",
            "--key-env",
            "VENDOR_KEY",
        ])
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn read(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Each step and whether it was done now.
fn steps(reported: &Value) -> Vec<(String, bool)> {
    let steps = reported["steps"].as_array().unwrap().iter();
    let step = |one: &Value| {
        let name = one["step"].as_str().unwrap().to_owned();
        (name, one["done_now"].as_bool().unwrap())
    };
    steps.map(step).collect()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o777
}

/// Every file below a folder, with what is in it.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            found.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// The service that `init` has started in the background; ended with the test.
struct Background {
    number: u32,
    config: String,
}

impl Drop for Background {
    fn drop(&mut self) {
        // Looked at once more: a number may be another process's by now.
        if serves(self.number, &self.config) {
            let number = self.number.to_string();
            drop(Command::new("kill").arg(number).status());
        }
    }
}

/// Whether a process is `trunkline serve` of a configuration.
fn serves(number: u32, config: &str) -> bool {
    let words = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
    let has = |word: &str| words.contains(&word.as_bytes());
    has("--config") && has(config) && has("serve")
}

/// Finds it by its numbers first: a guard is made of the one that was found, and of no other.
fn serving(machine: &Machine) -> Option<Background> {
    let config = machine.path("etc/trunkline.toml").display().to_string();
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some(number) = number
            && serves(number, &config)
        {
            numbers.push(number);
        }
    }
    assert!(numbers.len() <= 1, "{numbers:?}");
    let number = numbers.pop()?;
    Some(Background { number, config })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_quickstart_page_leads_from_nothing_to_a_charged_call() {
    let machine = Machine::new().await;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = machine
        .command("python3")
        .arg(root.join("scripts/page_blocks.py"))
        .arg(root.join("docs/operate/quickstart.md"))
        .args([
            "--skip",
            "sudo apt-get update",
            "--skip",
            "sudo apt-get remove",
        ])
        .args([
            "--replace",
            &format!("127.0.0.1:8080=127.0.0.1:{}", machine.port),
        ])
        .output()
        .unwrap();
    let _service = serving(&machine);
    let reply = String::from_utf8_lossy(&page.stdout);
    let complained = String::from_utf8_lossy(&page.stderr);
    assert!(page.status.success(), "{reply}\n{complained}");
    println!("{reply}");
    let served = machine.simulator.requests();
    assert_eq!(served.len(), 1, "one call has reached the vendor");
}

/// Posts as the console's own page does; status and body.
fn post(host: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(host).unwrap();
    let text = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\nx-trunkline-console: 1\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_set_up_link_of_init_creates_an_operator_of_the_first_account() {
    let machine = Machine::new().await;
    let public = format!("http://127.0.0.1:{}", machine.port);
    let made = machine.trunkline(&[
        "init",
        "--json",
        "--start",
        "--database",
        "here",
        "--public-url",
        &public,
        "--operator",
        "ada@example.com",
        "--provider",
        "openai",
        "--key-env",
        "VENDOR_KEY",
    ]);
    let _service = serving(&machine);
    assert!(made.status.success(), "{made:?}");
    let reported = read(&made);
    let link = reported["operator_link"].as_str().unwrap();
    let token = link.strip_prefix(&format!("{public}/setup#")).unwrap();
    let body = json!({
        "token": token, "email": "ada@example.com", "name": "Ada", "password": "correct horse battery",
        "organisation": "Acme",
    });
    let host = public.strip_prefix("http://").unwrap();
    let (status, session) = post(host, "/api/setup", &body);
    assert_eq!(status, 200, "{session}");
    assert_eq!(session["person"]["is_operator"], true);
    let accounts = session["accounts"].as_array().unwrap();
    assert_eq!(accounts.len(), 1);
    assert_eq!(accounts[0]["id"], 1000, "{session}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_init_changes_nothing_and_files_are_readable_by_the_service() {
    let machine = Machine::new().await;
    machine.sql("CREATE ROLE gateway LOGIN CREATEROLE");
    machine.sql("CREATE DATABASE gateway OWNER gateway");
    let address = machine.postgres.address();
    let url = format!("postgres://gateway:secret-canary@{address}/gateway?sslmode=disable");
    let first = machine.init(&url);
    assert!(first.status.success(), "{first:?}");
    let reported = read(&first);
    let done = |names: &[&str]| -> Vec<(String, bool)> {
        names
            .iter()
            .map(|name| ((*name).to_owned(), true))
            .collect()
    };
    let mut expected = done(&[
        "folders",
        "database",
        "configuration",
        "keyring",
        "schema",
        "roles",
        "catalog",
        "channel",
        "account",
    ]);
    expected.push(("service".to_owned(), false));
    assert_eq!(steps(&reported), expected);
    assert_eq!(reported["base_url"], "https://api.example.com");
    assert!(reported["key"].as_str().unwrap().starts_with("sk-tl-"));
    assert_eq!(reported["operator_link"], Value::Null);
    for secret in ["secret-canary", "key-of-the-vendor"] {
        assert!(!String::from_utf8_lossy(&first.stdout).contains(secret));
    }
    let etc = machine.path("etc");
    assert_eq!(mode(&etc.join("trunkline.toml")), 0o640);
    assert_eq!(mode(&etc.join("database.url")), 0o640);
    assert_eq!(mode(&etc.join("trunkline.keyring.toml")), 0o600);
    assert_eq!(mode(&machine.path("data")), 0o750);
    let before = files(&etc);

    // Other answers than before: they are not taken, and nothing is asked.
    let second = machine.trunkline(&[
        "init",
        "--json",
        "--public-url",
        "https://other.example.com",
    ]);
    assert!(second.status.success(), "{second:?}");
    let reported = read(&second);
    assert_eq!(reported["changed"], false);
    assert!(
        steps(&reported).iter().all(|(_, is_new)| !is_new),
        "{reported}"
    );
    assert_eq!(reported["base_url"], "https://api.example.com");
    assert_eq!(reported["key"], Value::Null);
    assert_eq!(files(&etc), before);
    let check = machine.trunkline(&["config", "check"]);
    assert!(check.status.success(), "{check:?}");
    let view = read(&machine.trunkline(&["account", "show", "1000", "--json"]));
    assert_eq!(view["account"]["name"], "ada");
    assert_eq!(view["balance"]["paid_usd"], "5");
    let channels = read(&machine.trunkline(&["channel", "list", "--json"]));
    assert_eq!(channels["channels"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_without_answers_names_every_missing_option_and_writes_nothing() {
    let machine = Machine::new().await;
    let refused = machine.trunkline(&["init"]);
    assert_eq!(refused.status.code(), Some(1));
    let reply = String::from_utf8_lossy(&refused.stderr).into_owned();
    for option in [
        "--database",
        "--public-url",
        "--operator",
        "--provider",
        "--key-env, --key-file or --key-stdin",
    ] {
        assert!(reply.contains(option), "{reply}");
    }
    assert!(!machine.path("etc").exists() && !machine.path("data").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_leaves_a_foreign_database_and_writes_nothing_on_a_wrong_answer() {
    let machine = Machine::new().await;
    machine.sql("CREATE ROLE trunkline LOGIN");
    let taken = machine.init("here");
    assert_eq!(taken.status.code(), Some(1));
    let reply = read(&taken)["error"].as_str().unwrap().to_owned();
    assert!(
        reply.contains("already has a login or a database named trunkline"),
        "{reply}"
    );
    assert!(!machine.path("etc/database.url").exists());
    let url = "postgres://gateway@127.0.0.1/gateway";
    let wrong = machine.trunkline(&[
        "init",
        "--json",
        "--database",
        url,
        "--public-url",
        "http://api.example.com",
        "--operator",
        "ada@example.com",
        "--provider",
        "openai",
        "--key-env",
        "VENDOR_KEY",
    ]);
    assert_eq!(read(&wrong)["findings"][0]["key"], "console.public_url");
    assert_eq!(files(&machine.path("etc")), []);
}

#[test]
fn the_unit_of_the_package_leaves_the_service_little_of_the_system() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/trunkline.service");
    let security = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager"])
        .arg(unit)
        .output()
        .unwrap();
    let reply = String::from_utf8_lossy(&security.stdout).into_owned();
    let level = reply
        .split("Overall exposure level for trunkline.service: ")
        .nth(1);
    let level = level.and_then(|rest| rest.split_whitespace().next());
    let level: f64 = level
        .unwrap_or_else(|| panic!("{security:?}"))
        .parse()
        .unwrap();
    assert!(level <= 2.5, "{reply}");
}
