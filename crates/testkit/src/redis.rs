//! A Redis of a test's own. It keeps nothing: a restart is an empty one.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::certificates::Certificates;
use crate::engine_process::Engine;
use crate::test_run::Run;
use crate::{FaultProxy, port};

const ANSWER_LIMIT: Duration = Duration::from_secs(5);
const PORT_TRIES: usize = 5;

/// A running Redis with handles to break it; gone when dropped.
pub struct Redis {
    port: u16,
    engine: Mutex<Engine>,
    folder: std::path::PathBuf,
}

// === impl Redis ===

impl Redis {
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts one with more arguments.
    pub(crate) async fn start_with(arguments: &[&str]) -> Self {
        let folder = Run::current().await.new_folder("redis");
        let mut last_words = String::new();
        for _ in 0..PORT_TRIES {
            let port = port::free();
            let mut engine = Engine::new("redis", command(port).args(arguments), &folder);
            match engine.try_start(|pid| is_ready(port, pid)) {
                Ok(()) => {
                    return Self {
                        port,
                        engine: Mutex::new(engine),
                        folder,
                    };
                }
                Err(log) => last_words = log,
            }
        }
        panic!("Redis did not start; its log ends:\n{last_words}");
    }

    /// One that speaks TLS too, on the port that is told with it, and wants a password.
    pub async fn with_tls(certificates: &Certificates, password: &str) -> (Self, u16) {
        let tls_port = port::free();
        let path = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
        let redis = Self::start_with(&[
            "--tls-port",
            &tls_port.to_string(),
            "--tls-cert-file",
            &path(certificates.certificate()),
            "--tls-key-file",
            &path(certificates.key()),
            "--tls-ca-cert-file",
            &path(certificates.roots()),
            "--tls-auth-clients",
            "no",
        ])
        .await;
        let set = ask(redis.port, &format!("CONFIG SET requirepass {password}"));
        assert_eq!(set.as_deref(), Some("+OK"), "Redis takes a password");
        (redis, tls_port)
    }

    /// Another password from now on; connections that are open stay.
    pub fn change_password(&self, before: &str, after: &str) {
        let words = format!("AUTH {before}\r\nCONFIG SET requirepass {after}");
        assert!(ask(self.port, &words).is_some(), "Redis answers");
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    #[must_use]
    pub fn address(&self) -> std::net::SocketAddr {
        port::loopback(self.port)
    }

    /// Its address through a wire that [`Redis::wire`] has given.
    #[must_use]
    pub fn url_through(&self, wire: &FaultProxy) -> String {
        format!("redis://127.0.0.1:{}", wire.port())
    }

    /// A breakable line to it.
    #[must_use]
    pub fn wire(&self) -> FaultProxy {
        FaultProxy::to_anything(port::loopback(self.port))
    }

    pub fn flush(&self) {
        let answer = ask(self.port, "FLUSHALL");
        assert_eq!(
            answer.as_deref(),
            Some("+OK"),
            "Redis forgets when it is told"
        );
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

    /// Starts it again on the same port, empty.
    pub fn restart(&self) {
        self.engine().start(|pid| is_ready(self.port, pid));
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

impl Drop for Redis {
    fn drop(&mut self) {
        self.engine().stop("KILL");
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

fn command(port: u16) -> Command {
    let mut command = Command::new("redis-server");
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
    command
}

/// It answers, and it is ours: another test's may have been faster on the same port.
fn is_ready(port: u16, pid: u32) -> bool {
    let ours = format!("process_id:{pid}\r\n");
    ask(port, "INFO server").is_some_and(|answer| answer.contains(&ours))
}

/// One command, and the beginning of its answer.
fn ask(port: u16, word: &str) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&port::loopback(port), ANSWER_LIMIT).ok()?;
    stream.set_read_timeout(Some(ANSWER_LIMIT)).ok()?;
    stream.write_all(format!("{word}\r\n").as_bytes()).ok()?;
    let mut answer = [0; 2_048];
    let count = stream.read(&mut answer).ok()?;
    let text = String::from_utf8_lossy(answer.get(..count)?);
    Some(text.trim_end().to_owned())
}
