//! An upgrade without a gap on one host: the running process starts its successor and sends it the listening sockets
//! over a pair of Unix sockets, of which the successor's end is its standard input. The successor says when it
//! serves; then the running one accepts nothing more, lets its calls end, and leaves ([ADR 82]).
//!
//! [ADR 82]: ../../../docs/adr/0082-upgrade-without-a-gap.md

use std::ffi::OsString;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use trunkline_listener::{receive_sockets, send_sockets};
use trunkline_types::NodeId;

/// A successor that does not serve by then has failed.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// What it says when it serves.
const READY: &[u8] = b"ready\n";
const TAKE_OVER: &str = "--take-over";
/// What stands between a node's name and the number of its successor.
const SUCCESSOR: char = '.';

/// What a socket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Listener {
    Edge,
    Console,
    Admin,
}

/// A listener with the address that was configured for it, where port 0 is any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListenerAt {
    pub(crate) listener: Listener,
    pub(crate) configured: SocketAddr,
}

/// The text that goes with the sockets, in their order.
#[derive(Debug, Serialize, Deserialize)]
struct Handover {
    node: String,
    listeners: Vec<ListenerAt>,
}

/// A socket that a successor gets, while it is open.
#[derive(Debug, Clone)]
pub(crate) struct Passable {
    pub(crate) at: ListenerAt,
    pub(crate) socket: Weak<TcpListener>,
}

/// The process before, seen by its successor.
#[derive(Debug)]
pub(crate) struct Predecessor {
    node: String,
    sockets: Vec<(ListenerAt, std::net::TcpListener)>,
    stream: UnixStream,
}

/// A process that was started; it ends with this value unless it has taken over.
#[derive(Debug)]
struct Successor(Option<Child>);

/// Starts the executable anew, with the words this one was started with, and waits until it serves. Returns its
/// process id.
pub(crate) async fn hand_over(node: &NodeId, passed: &[Passable]) -> anyhow::Result<u32> {
    let (ours, theirs) = UnixStream::pair().context("no pair of sockets")?;
    let mut successor = Successor(Some(spawn(theirs)?));
    let pid = successor.0.as_ref().and_then(Child::id);
    let pid = pid.context("the new process ended at once")?;
    offer(&ours, node, passed)?;
    let waited = tokio::time::timeout(READY_WITHIN, is_ready(ours)).await;
    match waited {
        Ok(Ok(())) => {
            drop(successor.0.take());
            Ok(pid)
        }
        Ok(Err(_)) => bail!("the new process ended{}", successor.status().await),
        Err(_) => bail!(
            "the new process does not serve after {} seconds",
            READY_WITHIN.as_secs()
        ),
    }
}

fn spawn(theirs: UnixStream) -> anyhow::Result<Child> {
    let mut words = std::env::args_os();
    let program = words.next().context("no name of the executable")?;
    let words = words.filter(|word| word != TAKE_OVER);
    let words: Vec<OsString> = words.chain([TAKE_OVER.into()]).collect();
    let started = Command::new(&program)
        .args(words)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn();
    started.with_context(|| format!("cannot start {}", program.display()))
}

fn offer(to: &UnixStream, node: &NodeId, passed: &[Passable]) -> anyhow::Result<()> {
    let open = |one: &Passable| Some((one.at, one.socket.upgrade()?));
    let open: Vec<(ListenerAt, Arc<TcpListener>)> = passed.iter().filter_map(open).collect();
    let message = Handover {
        node: node.as_str().to_owned(),
        listeners: open.iter().map(|(at, _)| *at).collect(),
    };
    let sockets: Vec<_> = open.iter().map(|(_, socket)| socket.as_fd()).collect();
    send_sockets(to, &serde_json::to_vec(&message)?, &sockets)
        .context("cannot pass the listening sockets")
}

async fn is_ready(ours: UnixStream) -> anyhow::Result<()> {
    ours.set_nonblocking(true)?;
    let mut received = [0; READY.len()];
    let mut stream = tokio::net::UnixStream::from_std(ours)?;
    stream.read_exact(&mut received).await?;
    if received != READY {
        bail!("it says something else");
    }
    Ok(())
}

// === impl Successor ===

impl Successor {
    /// How it ended, for a message; it has closed its socket.
    async fn status(&mut self) -> String {
        let Some(child) = self.0.as_mut() else {
            return String::new();
        };
        match tokio::time::timeout(Duration::from_secs(5), child.wait()).await {
            Ok(Ok(status)) => format!(" ({status}); its reason is in the log"),
            Ok(Err(_)) | Err(_) => String::new(),
        }
    }
}

impl Drop for Successor {
    fn drop(&mut self) {
        if let Some(child) = self.0.as_mut() {
            // It may have ended by itself.
            drop(child.start_kill());
        }
    }
}

// === impl Predecessor ===

impl Predecessor {
    /// Takes the sockets from the process that started this one.
    pub(crate) fn receive() -> anyhow::Result<Self> {
        let input = std::io::stdin().as_fd().try_clone_to_owned()?;
        let stream = UnixStream::from(input);
        let (text, sockets) = receive_sockets(&stream).context(
            "--take-over is for a process that another trunkline serve has started (SIGHUP)",
        )?;
        let message: Handover =
            serde_json::from_slice(&text).context("cannot read the handover")?;
        if message.listeners.len() != sockets.len() {
            bail!("the handover lacks a socket");
        }
        let sockets = sockets.into_iter().map(std::net::TcpListener::from);
        Ok(Self {
            node: message.node,
            sockets: message.listeners.into_iter().zip(sockets).collect(),
            stream,
        })
    }

    /// The name of this node: the configured one with the next number. The process before keeps its own name, and
    /// with it the right to settle its calls.
    pub(crate) fn next_name(&self, configured: &NodeId) -> anyhow::Result<NodeId> {
        next_name(configured, &self.node)
    }

    /// The sockets that were received.
    pub(crate) fn take_sockets(&mut self) -> Vec<(ListenerAt, std::net::TcpListener)> {
        std::mem::take(&mut self.sockets)
    }

    /// Says that this process serves.
    pub(crate) fn release(mut self) {
        // If it has gone, there is no process to release.
        if let Err(error) = self.stream.write_all(READY) {
            tracing::warn!(%error, "handover: the process before has gone");
        }
    }
}

fn next_name(configured: &NodeId, before: &str) -> anyhow::Result<NodeId> {
    let base = configured.as_str();
    let number = match before.strip_prefix(base) {
        Some("") => 2,
        Some(rest) => {
            let number = rest.strip_prefix(SUCCESSOR);
            let number = number.and_then(|number| number.parse::<u32>().ok());
            match number {
                Some(number) => number.saturating_add(1),
                None => return Ok(configured.clone()),
            }
        }
        None => return Ok(configured.clone()),
    };
    let name = format!("{base}{SUCCESSOR}{number}");
    NodeId::new(&name).with_context(|| format!("node.name is too long for a successor {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_successor_never_has_the_name_of_the_process_before() {
        let configured = NodeId::new("edge-1").unwrap();
        for (before, next) in [
            ("edge-1", "edge-1.2"),
            ("edge-1.2", "edge-1.3"),
            ("edge-1.9", "edge-1.10"),
            ("edge-10", "edge-1"),
            ("other", "edge-1"),
            ("edge-1.x", "edge-1"),
        ] {
            let name = next_name(&configured, before).unwrap();
            assert_eq!(name.as_str(), next, "after {before}");
            assert_ne!(name.as_str(), before);
        }
        let long = NodeId::new(&"a".repeat(63)).unwrap();
        assert!(next_name(&long, long.as_str()).is_err());
    }
}
