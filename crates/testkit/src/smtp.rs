//! A mail server on the loopback: a real SMTP dialogue, what it got, and the ways in which such servers fail.
//!
//! It runs in threads of its own, so that a test which blocks does not block it.

mod dialogue;
mod mail;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustls::ServerConfig;

use crate::port;

pub use mail::Mail;

/// How a mail server treats emails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpBehaviour {
    Take,
    /// Puts them off: 451.
    PutOff,
    /// Refuses them for good: 550.
    Refuse,
    /// Refuses every login: 535 to every login.
    NoLogin,
    /// Says nothing any more once it has an email's envelope.
    Hang,
    /// Takes an email and drops the connection before it says so.
    DropAfterData,
}

/// When the line becomes private.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Plain,
    StartTls,
    Tls,
}

struct Shared {
    behaviour: Mutex<SmtpBehaviour>,
    mails: Mutex<Vec<Mail>>,
    logins: Mutex<Vec<String>>,
    is_over: AtomicBool,
    line: Line,
    tls: Option<Arc<ServerConfig>>,
}

/// A mail server. Dropping it ends it.
pub struct Smtp {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

// === impl Smtp ===

impl Smtp {
    /// One on a free port, with a plain line.
    #[must_use]
    pub fn start() -> Self {
        Self::open(Line::Plain, None)
    }

    /// One that offers STARTTLS and wants it before anything else.
    #[must_use]
    pub fn start_tls(tls: Arc<ServerConfig>) -> Self {
        Self::open(Line::StartTls, Some(tls))
    }

    /// One that speaks TLS from the first byte.
    #[must_use]
    pub fn tls(tls: Arc<ServerConfig>) -> Self {
        Self::open(Line::Tls, Some(tls))
    }

    fn open(line: Line, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind(port::loopback(0)).expect("a free port is there");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared {
            behaviour: Mutex::new(SmtpBehaviour::Take),
            mails: Mutex::default(),
            logins: Mutex::default(),
            is_over: AtomicBool::new(false),
            line,
            tls,
        });
        let thread = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self {
            address,
            shared,
            thread: Some(thread),
        }
    }

    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same as the setting that leads there, over a plain line.
    #[must_use]
    pub fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }

    /// Changes how emails are treated from now on.
    pub fn behave(&self, behaviour: SmtpBehaviour) {
        *lock(&self.shared.behaviour) = behaviour;
    }

    /// What it got, oldest first.
    #[must_use]
    pub fn mails(&self) -> Vec<Mail> {
        lock(&self.shared.mails).clone()
    }

    /// The user names of logins that it let in.
    #[must_use]
    pub fn logins(&self) -> Vec<String> {
        lock(&self.shared.logins).clone()
    }

    /// Waits until it has got so many emails in all.
    pub async fn wait_for(&self, count: usize) -> Vec<Mail> {
        let began = Instant::now();
        loop {
            let mails = self.mails();
            if mails.len() >= count {
                return mails;
            }
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "only {} of {count} emails came",
                mails.len()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits for an email to an address.
    pub async fn mail_to(&self, address: &str) -> Mail {
        let began = Instant::now();
        loop {
            let mails = self.mails();
            if let Some(mail) = mails.into_iter().rfind(|mail| mail.to == address) {
                return mail;
            }
            let patience = Duration::from_secs(60);
            assert!(began.elapsed() < patience, "no email to {address} came");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn clear(&self) {
        lock(&self.shared.mails).clear();
    }
}

impl Drop for Smtp {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread, which may wait for a caller that never comes.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // They end with their caller, or when the server does.
        std::thread::spawn(move || dialogue::speak(stream, &shared));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
