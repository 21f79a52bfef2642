//! Starting the service: by systemd where it runs, else as a process in the background.

use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::paths::Paths;
use crate::cli::ETC_FOLDER;

const UNIT: &str = "trunkline.service";
/// Where packages put units; the first is Debian's before version 13.
const UNIT_FOLDERS: [&str; 3] = [
    "/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/etc/systemd/system",
];
/// There if systemd is the init of this machine.
const SYSTEMD_RUNS: &str = "/run/systemd/system";
const READY_WAIT: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(200);
const ASK_WAIT: Duration = Duration::from_secs(2);
/// Enough for the first line of an answer.
const HEAD_BYTES: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    /// The unit of the package.
    Systemd,
    /// None: it is a process of its own.
    Background,
}

/// Who can run it: systemd, if it runs here, knows the unit and this is the configuration of the unit.
pub(super) fn runner(paths: &Paths) -> Runner {
    let is_installed = UNIT_FOLDERS
        .iter()
        .any(|folder| Path::new(folder).join(UNIT).exists());
    let is_its_own = paths.config.parent() == Some(Path::new(ETC_FOLDER));
    if paths.service.is_some() && is_its_own && is_installed && Path::new(SYSTEMD_RUNS).exists() {
        Runner::Systemd
    } else {
        Runner::Background
    }
}

/// The command that serves in the foreground, for people to copy.
pub(super) fn command(paths: &Paths, user: &str) -> String {
    let serve = format!("trunkline --config {} serve", paths.config.display());
    match paths.service {
        Some(_) => format!("setpriv --reuid={user} --regid={user} --init-groups {serve}"),
        None => serve,
    }
}

/// Starts it and waits until it takes calls.
pub(super) async fn start(
    paths: &Paths,
    runner: Runner,
    listen: SocketAddr,
) -> anyhow::Result<String> {
    let (message, log) = match runner {
        Runner::Systemd => {
            let done = Command::new("systemctl")
                .args(["enable", "--now", UNIT])
                .stdin(Stdio::null())
                .output()
                .context("cannot run systemctl")?;
            if !done.status.success() {
                let words = String::from_utf8_lossy(&done.stderr);
                bail!("systemctl cannot start {UNIT}: {}", words.trim());
            }
            let text =
                format!("started by systemd, now and at every boot: systemctl status {UNIT}");
            (text, format!("journalctl -u {UNIT}"))
        }
        Runner::Background => {
            let number = spawn(paths)?;
            let log = paths.log();
            let text = format!("started as process {number}; its log is {}", log.display());
            (text, log.display().to_string())
        }
    };
    let ends = Instant::now().checked_add(READY_WAIT);
    while !is_ready(listen).await {
        if ends.is_none_or(|ends| Instant::now() > ends) {
            bail!("the service does not take calls on {listen}; see {log}");
        }
        sleep(LOOK_EVERY).await;
    }
    Ok(message)
}

/// Starts a process that outlives this one.
fn spawn(paths: &Paths) -> anyhow::Result<u32> {
    let executable = std::env::current_exe().context("cannot find this executable")?;
    let log = paths.open_log()?;
    let mut command = match paths.service {
        Some(owner) => {
            let mut command = Command::new("setpriv");
            command
                .arg(format!("--reuid={}", owner.user))
                .arg(format!("--regid={}", owner.group))
                .args(["--clear-groups", "--"])
                .arg(executable);
            command
        }
        None => Command::new(executable),
    };
    let child = command
        .arg("--config")
        .arg(&paths.config)
        .arg("serve")
        .current_dir(&paths.data)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        // Ctrl-C in this terminal is not meant for it.
        .process_group(0)
        .spawn()
        .context("cannot start the service")?;
    Ok(child.id())
}

/// Whether a service takes calls there.
pub(super) async fn is_ready(listen: SocketAddr) -> bool {
    matches!(timeout(ASK_WAIT, ask(listen)).await, Ok(Ok(true)))
}

async fn ask(listen: SocketAddr) -> std::io::Result<bool> {
    let mut at = listen;
    if at.ip().is_unspecified() {
        at.set_ip([127, 0, 0, 1].into());
    }
    let mut stream = TcpStream::connect(at).await?;
    let question = format!("GET /readyz HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\n\r\n");
    stream.write_all(question.as_bytes()).await?;
    let mut head = [0; HEAD_BYTES];
    let read = stream.read(&mut head).await?;
    Ok(head
        .get(..read)
        .is_some_and(|head| head.starts_with(b"HTTP/1.1 200")))
}
