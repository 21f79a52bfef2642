//! Real proxies, started for one test: tinyproxy for HTTP, microsocks for SOCKS5. What they pass on
//! leaves from an address of its own, so that a server can tell.

use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Where connections of a proxy come from.
pub(crate) const EGRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// The only login that they know.
pub(crate) const USER: &str = "runner";
pub(crate) const PASSWORD: &str = "hunter2";

const TRIES: usize = 20;
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Http,
    Socks,
}

/// A running proxy; it ends with its handle.
pub(crate) struct Program {
    kind: Kind,
    port: u16,
    child: Child,
    _folder: TempDir,
}

impl Program {
    pub(crate) fn start(kind: Kind, with_login: bool) -> Self {
        for _ in 0..TRIES {
            if let Some(program) = Self::try_start(kind, with_login) {
                return program;
            }
        }
        panic!("no proxy after {TRIES} tries");
    }

    /// None if another process took the port in between.
    fn try_start(kind: Kind, with_login: bool) -> Option<Self> {
        let port = free_port();
        let folder = tempfile::tempdir().unwrap();
        let mut command = match kind {
            Kind::Http => {
                let login = if with_login {
                    format!("BasicAuth {USER} {PASSWORD}\n")
                } else {
                    String::new()
                };
                let text = format!(
                    "Port {port}\nListen 127.0.0.1\nBind {EGRESS}\nTimeout 60\nMaxClients 50\n\
                     LogLevel Critical\nAllow 127.0.0.1\n{login}"
                );
                let file = folder.path().join("tinyproxy.conf");
                std::fs::write(&file, text).unwrap();
                let mut command = Command::new("tinyproxy");
                command.arg("-d").arg("-c").arg(file);
                command
            }
            Kind::Socks => {
                let mut command = Command::new("microsocks");
                command.args(["-i", "127.0.0.1", "-b", &EGRESS.to_string()]);
                command.args(["-p", &port.to_string()]);
                if with_login {
                    command.args(["-u", USER, "-P", PASSWORD]);
                }
                command
            }
        };
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{kind:?} proxy: {error}; run just setup"));
        let mut program = Self {
            kind,
            port,
            child,
            _folder: folder,
        };
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            let ended = program.child.try_wait().unwrap().is_some();
            if ended || began.elapsed() > PATIENCE {
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(program)
    }

    /// Its address, with a login in front such as `user:password@`.
    pub(crate) fn address(&self, login: &str) -> String {
        let scheme = match self.kind {
            Kind::Http => "http",
            Kind::Socks => "socks5",
        };
        format!("{scheme}://{login}127.0.0.1:{}", self.port)
    }

    pub(crate) fn stop(&mut self) {
        // It may have ended by itself.
        self.child.kill().unwrap_or_default();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A port without a listener.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
