//! A NATS server of a test's own, with JetStream. What it stores survives a restart of the handle's
//! server and nothing else.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::certificates::Certificates;
use crate::engine_process::Engine;
use crate::test_run::Run;
use crate::{FaultProxy, binaries, port, random};

const ANSWER_LIMIT: Duration = Duration::from_secs(5);
const GREETING_MAX_BYTES: u64 = 4_096;
const PORT_TRIES: usize = 5;

/// A running NATS server with handles to break it; gone when dropped.
pub struct Nats {
    port: u16,
    name: String,
    engine: Mutex<Engine>,
    folder: std::path::PathBuf,
}

// === impl Nats ===

impl Nats {
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts one with more arguments.
    pub(crate) async fn start_with(arguments: &[&str]) -> Self {
        let folder = Run::current().await.new_folder("nats");
        let mut last_words = String::new();
        for _ in 0..PORT_TRIES {
            let port = port::free();
            let name = random::random_word();
            let mut engine = Engine::new("nats", command(port, &name).args(arguments), &folder);
            match engine.try_start(|_| is_ready(port, &name)) {
                Ok(()) => {
                    return Self {
                        port,
                        name,
                        engine: Mutex::new(engine),
                        folder,
                    };
                }
                Err(log) => last_words = log,
            }
        }
        panic!("NATS did not start; its log ends:\n{last_words}");
    }

    /// One that speaks TLS alone.
    pub async fn with_tls(certificates: &Certificates) -> Self {
        let path = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
        let (certificate, key) = (path(certificates.certificate()), path(certificates.key()));
        Self::start_with(&["--tls", "--tlscert", &certificate, "--tlskey", &key]).await
    }

    /// Starts a cluster of three that store everything three times. It is ready when they have met.
    pub async fn cluster() -> [Self; 3] {
        let run = Run::current().await;
        let mut last_words = String::new();
        for _ in 0..PORT_TRIES {
            let routes = [(); 3].map(|()| port::free());
            let mut started = Vec::new();
            for own in routes {
                let folder = run.new_folder("nats");
                let (port, name) = (port::free(), random::random_word());
                let mut command = command(port, &name);
                let list = routes.map(|port| format!("nats://127.0.0.1:{port}"));
                command
                    .args(["--cluster_name", "test", "--routes", &list.join(",")])
                    .args(["--cluster", &format!("nats://127.0.0.1:{own}")]);
                let mut engine = Engine::new("nats", &command, &folder);
                match engine.try_start(|_| is_ready(port, &name)) {
                    Ok(()) => started.push(Self {
                        port,
                        name,
                        engine: Mutex::new(engine),
                        folder,
                    }),
                    Err(log) => last_words = log,
                }
            }
            if let Ok(three) = <[Self; 3]>::try_from(started) {
                return three;
            }
        }
        panic!("a NATS cluster did not start; a log ends:\n{last_words}");
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    #[must_use]
    pub fn address(&self) -> std::net::SocketAddr {
        port::loopback(self.port)
    }

    /// Its address through a wire that [`Nats::wire`] has given.
    #[must_use]
    pub fn url_through(&self, wire: &FaultProxy) -> String {
        format!("nats://127.0.0.1:{}", wire.port())
    }

    /// A breakable line to it.
    #[must_use]
    pub fn wire(&self) -> FaultProxy {
        FaultProxy::to_anything(port::loopback(self.port))
    }

    /// Whether it is there, paused or not.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.engine().runs()
    }

    pub fn kill_9(&self) {
        self.engine().kill_main();
    }

    /// Ends it in a friendly way.
    pub fn stop(&self) {
        self.engine().stop("TERM");
    }

    /// Starts it again on the same port with what it had stored.
    pub fn restart(&self) {
        self.engine().start(|_| is_ready(self.port, &self.name));
    }

    /// Freezes it; connections stay open without an answer.
    pub fn pause(&self) {
        self.engine().pause();
    }

    pub fn resume(&self) {
        self.engine().resume();
    }

    /// Leaves a running server to the watchdog of the run.
    pub(crate) fn leave_running(self) {
        #[expect(
            clippy::mem_forget,
            reason = "the server belongs to the run, not to this process"
        )]
        std::mem::forget(self);
    }

    fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.engine().stop("KILL");
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

fn command(port: u16, name: &str) -> Command {
    let mut command = Command::new(binaries::server_program("nats-server"));
    command
        .args(["--addr", "127.0.0.1", "--port", &port.to_string()])
        .args(["--name", name, "--jetstream", "--store_dir", "store"]);
    command
}

/// The server speaks first, and says its name: another test's may have been faster on this port.
fn is_ready(port: u16, name: &str) -> bool {
    let greeting = || -> std::io::Result<String> {
        let stream = TcpStream::connect_timeout(&port::loopback(port), ANSWER_LIMIT)?;
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        let mut line = String::new();
        BufReader::new(stream.take(GREETING_MAX_BYTES)).read_line(&mut line)?;
        Ok(line)
    };
    greeting().is_ok_and(|line| line.starts_with("INFO ") && line.contains(name))
}
