//! Telemetry: none. A node with the configuration that the page about one server begins with is connected to its
//! database and to nothing else.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::process::Command;
use trunkline_db::Role;

use crate::admin_cli::AdminCli;
use crate::dev::Dev;
use crate::sdk::customer::send_bytes;

/// Longer than the longest period of a job that could call somewhere, but for those of minutes.
const WATCHED: Duration = Duration::from_secs(12);
/// The state of a listening socket, as the kernel writes it.
const LISTENING: &str = "0A";

/// The configuration of the page.
fn page() -> String {
    let page = include_str!("../../../../docs/operate/single-server.md");
    let block = page.split("```toml\n").nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

/// The inodes of a process's sockets.
fn sockets(pid: u32) -> BTreeSet<String> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links
        .filter_map(|link| {
            let text = link.to_str()?.strip_prefix("socket:[")?;
            text.strip_suffix(']').map(str::to_owned)
        })
        .collect()
}

/// The remote ports of its TCP connections, and the number of its UDP sockets.
fn connected(pid: u32) -> (BTreeSet<u16>, usize) {
    let mine = sockets(pid);
    let rows = |name: &str| -> Vec<Vec<String>> {
        let bytes = std::fs::read(Path::new("/proc/net").join(name)).unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap();
        let rows = text.lines().skip(1);
        let rows = rows.map(|line| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        rows.filter(|row| row.get(9).is_some_and(|inode| mine.contains(inode)))
            .collect()
    };
    let tcp = [rows("tcp"), rows("tcp6")].concat();
    let open = tcp.iter().filter(|row| row[3] != LISTENING);
    let remote = open.map(|row| {
        let (_, port) = row[2].rsplit_once(':').unwrap();
        u16::from_str_radix(port, 16).unwrap()
    });
    (remote.collect(), [rows("udp"), rows("udp6")].concat().len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_with_the_eight_keys_of_the_page_starts_and_connects_to_its_database_alone() {
    let cli = AdminCli::new().await;
    cli.write("trunkline.toml", &page());
    let environment = [("TRUNKLINE__KEYRING__FILE", "trunkline.keyring.toml")];
    let run = |words: &[&str]| {
        let mut command = cli.command(Role::Data, words);
        let console = cli.db.url(Role::Console);
        command
            .envs(environment)
            .env("TRUNKLINE__CONSOLE__DATABASE_URL", console.reveal())
            // Where things are on this machine; nothing of what the node does.
            .env("TRUNKLINE__MEDIA__DIRECTORY", "media");
        for listener in ["EDGE", "CONSOLE", "ADMIN"] {
            command.env(format!("TRUNKLINE__{listener}__LISTEN"), "127.0.0.1:0");
        }
        command
    };
    assert!(
        run(&["keyring", "generate"])
            .output()
            .unwrap()
            .status
            .success()
    );
    let node = Dev::started(Command::from(run(&["serve", "--json"]))).await;
    let ready = send_bytes(
        "GET",
        &format!("http://{}/readyz", node.text("admin")),
        &[],
        b"",
    )
    .await;
    assert_eq!(ready.status, 200, "{}", ready.text());
    let url = url::Url::parse(cli.db.url(Role::Data).reveal()).unwrap();
    let database = url.port();
    let pid = node.process.id().unwrap();
    let began = Instant::now();
    let mut seen = BTreeSet::new();
    while began.elapsed() < WATCHED {
        let (ports, udp) = connected(pid);
        assert_eq!(udp, 0, "no name is looked up");
        seen.extend(ports);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Scrapes come in; their ports are those of this test, which has none open by now.
    let others: Vec<u16> = seen
        .iter()
        .copied()
        .filter(|port| Some(*port) != database)
        .collect();
    assert_eq!(
        others,
        Vec::<u16>::new(),
        "connections that are not configured"
    );
    assert!(
        database.is_none() || seen.len() == 1,
        "it is connected to its database"
    );
}
