//! What systemd is told, where it has started this process (`Type=notify`): one datagram to the socket that
//! `NOTIFY_SOCKET` names. Elsewhere nothing is told.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::config;

const SOCKET: &str = "NOTIFY_SOCKET";

/// The state of the service, for its manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State<'a> {
    Ready,
    /// A newer process is being started.
    Upgrading,
    /// It could not take over; this one goes on.
    UpgradeFailed(&'a str),
    /// It has taken over, and is the service from now on.
    HandedOver {
        pid: u32,
    },
    Stopping,
}

/// Tells it. A manager that does not listen is no reason to stop.
pub(crate) fn notify(state: State<'_>) {
    let Some(socket) = config::variable(SOCKET) else {
        return;
    };
    if let Err(error) = send(socket.reveal(), &state.text()) {
        tracing::debug!(%error, "service manager not notified");
    }
}

fn send(place: &str, text: &str) -> io::Result<()> {
    let address = match place.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(place)?,
    };
    let sent = UnixDatagram::unbound()?.send_to_addr(text.as_bytes(), &address);
    sent.map(drop)
}

// === impl State ===

impl State<'_> {
    fn text(self) -> String {
        match self {
            Self::Ready => "READY=1\nSTATUS=Serving.".to_owned(),
            Self::Upgrading => "RELOADING=1\nSTATUS=Starting the new process.".to_owned(),
            Self::UpgradeFailed(why) => {
                // A line end would begin another assignment.
                let why = why.replace('\n', " ");
                format!("READY=1\nSTATUS=Upgrade failed, the process before serves on: {why}")
            }
            Self::HandedOver { pid } => format!("MAINPID={pid}\nREADY=1\nSTATUS=Serving."),
            Self::Stopping => "STOPPING=1\nSTATUS=Draining.".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_one_datagram_at_the_managers_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        let state = State::HandedOver { pid: 7 };
        send(path.to_str().unwrap(), &state.text()).unwrap();
        let mut text = [0; 256];
        let length = manager.recv(&mut text).unwrap();
        assert_eq!(&text[..length], b"MAINPID=7\nREADY=1\nSTATUS=Serving.");
        let name = format!("trunkline-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let manager = UnixDatagram::bind_addr(&address).unwrap();
        let failed = State::UpgradeFailed("exit status: 1\nREADY=0");
        send(&format!("@{name}"), &failed.text()).unwrap();
        let length = manager.recv(&mut text).unwrap();
        let lines = String::from_utf8_lossy(&text[..length]).lines().count();
        assert_eq!(lines, 2, "no line of a message is an assignment");
    }
}
