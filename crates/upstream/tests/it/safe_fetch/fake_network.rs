//! Names that answer as told, servers that send raw bytes, and a listener that no fetch may reach.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use trunkline_upstream::safe_fetch::{
    FetchRequest, Resolve, Resolving, SafeFetchSettings, SafeFetcher,
};

use crate::calls::LONG;

/// The one address that a test lets in; it stands for the public net.
pub(crate) const PUBLIC: &str = "127.0.0.2";

/// Answers of names, in turn; the last one stays.
#[derive(Default)]
pub(crate) struct Names {
    answers: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    lookups: AtomicUsize,
}

/// A listener that counts who came.
pub(crate) struct Victim {
    address: SocketAddr,
    seen: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

/// What a server does with a connection.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Sends this and closes.
    Raw(Vec<u8>),
    /// Sends this and stays silent.
    Hang(Vec<u8>),
    /// Sends the first and then the second for ever.
    Endless(Vec<u8>, Vec<u8>),
    /// Sends the first, and then a byte of the second from time to time.
    Drip(Vec<u8>, Duration),
}

/// A server of raw bytes, by path. It keeps the heads it read.
pub(crate) struct Front {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

// === impl Names ===

impl Names {
    pub(crate) fn of(answers: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let names = Self::default();
        for (name, turns) in answers {
            let read = |turn: &&[&str]| turn.iter().map(|one| one.parse().unwrap()).collect();
            let turns = turns.iter().map(read).collect();
            names.put(name, turns);
        }
        Arc::new(names)
    }

    pub(crate) fn put(&self, name: &str, turns: VecDeque<Vec<IpAddr>>) {
        self.answers.lock().unwrap().insert(name.to_owned(), turns);
    }

    pub(crate) fn lookups(&self) -> usize {
        self.lookups.load(Ordering::SeqCst)
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            self.lookups.fetch_add(1, Ordering::SeqCst);
            let mut answers = self.answers.lock().unwrap();
            let unknown = || io::Error::from(io::ErrorKind::NotFound);
            let turns = answers.get_mut(host).ok_or_else(unknown)?;
            if turns.len() > 1 {
                return turns.pop_front().ok_or_else(unknown);
            }
            turns.front().cloned().ok_or_else(unknown)
        })
    }
}

// === impl Victim ===

impl Victim {
    /// On every address of this machine, of both families.
    pub(crate) async fn everywhere() -> Self {
        Self::at(TcpListener::bind("[::]:0").await.unwrap())
    }

    pub(crate) fn at(listener: TcpListener) -> Self {
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&seen);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                counter.fetch_add(1, Ordering::SeqCst);
                let hello = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret";
                drop(stream.write_all(hello).await);
            }
        });
        Self {
            address,
            seen,
            _tasks: tasks,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many came. Connections are taken in their order, so ours comes behind all others.
    pub(crate) async fn visitors(&self) -> usize {
        let before = self.seen.load(Ordering::SeqCst);
        let own = if self.address.ip().is_unspecified() {
            IpAddr::from([127, 0, 0, 1])
        } else {
            self.address.ip()
        };
        let mut knock = TcpStream::connect((own, self.port())).await.unwrap();
        let mut answer = Vec::new();
        drop(knock.read_to_end(&mut answer).await);
        assert!(self.seen.load(Ordering::SeqCst) > before, "it is deaf");
        self.seen.load(Ordering::SeqCst) - 1
    }
}

// === impl Front ===

impl Front {
    pub(crate) async fn start(replies: &[(&str, Reply)]) -> Self {
        Self::serve(replies, None).await
    }

    pub(crate) async fn serve(replies: &[(&str, Reply)], tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind((PUBLIC, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heads);
        let owned = replies.iter().map(|(path, reply)| {
            let path: String = (*path).to_owned();
            (path, reply.clone())
        });
        let replies: Arc<HashMap<String, Reply>> = Arc::new(owned.collect());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (replies, kept) = (Arc::clone(&replies), Arc::clone(&kept));
                let tls = tls.clone();
                connections.spawn(async move {
                    match tls {
                        None => answer(stream, &replies, &kept).await,
                        Some(tls) => {
                            if let Ok(stream) = TlsAcceptor::from(tls).accept(stream).await {
                                answer(stream, &replies, &kept).await;
                            }
                        }
                    }
                });
            }
        });
        Self {
            address,
            heads,
            _tasks: tasks,
        }
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// An address of it by a name.
    pub(crate) fn named(&self, scheme: &str, name: &str, path: &str) -> String {
        format!("{scheme}://{name}:{}{path}", self.address.port())
    }

    /// The heads of all requests, in lower case.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    replies: &HashMap<String, Reply>,
    heads: &Mutex<Vec<String>>,
) {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let mut piece = [0; 1024];
        match stream.read(&mut piece).await {
            Ok(read) if read > 0 => head.extend_from_slice(&piece[..read]),
            Ok(_) | Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    heads.lock().unwrap().push(head.to_ascii_lowercase());
    let lost = Reply::Raw(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec());
    // How the other end leaves is its own business.
    match replies.get(&path).unwrap_or(&lost) {
        Reply::Raw(bytes) => drop(stream.write_all(bytes).await),
        Reply::Hang(bytes) => {
            drop(stream.write_all(bytes).await);
            std::future::pending::<()>().await;
        }
        Reply::Endless(first, then) => {
            let mut sent = stream.write_all(first).await;
            while sent.is_ok() {
                sent = stream.write_all(then).await;
            }
        }
        Reply::Drip(first, pace) => {
            let mut sent = stream.write_all(first).await;
            while sent.is_ok() {
                tokio::time::sleep(*pace).await;
                sent = stream.write_all(b"x").await;
            }
        }
    }
    drop(stream.shutdown().await);
}

/// An answer with a body, whose length is told.
pub(crate) fn ok(body: &str) -> Reply {
    let length = body.len();
    raw(&format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
}

pub(crate) fn raw(text: &str) -> Reply {
    Reply::Raw(text.as_bytes().to_vec())
}

pub(crate) fn redirect(status: u16, location: &str) -> Reply {
    raw(&format!(
        "HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
    ))
}

/// Ports of any number, since listeners of tests have such; and these networks.
pub(crate) fn settings(allowed: &[&str]) -> SafeFetchSettings {
    SafeFetchSettings {
        allowed: allowed.iter().map(|text| text.parse().unwrap()).collect(),
        has_high_ports: true,
        connect_within: LONG,
        first_byte: LONG,
        ..SafeFetchSettings::default()
    }
}

/// A fetcher that lets in [`PUBLIC`] and nothing else of this machine.
pub(crate) fn fetcher(names: &Arc<Names>) -> SafeFetcher {
    let names = Arc::clone(names);
    SafeFetcher::with_resolver(settings(&["127.0.0.2/32"]), names).unwrap()
}

pub(crate) fn ask() -> FetchRequest {
    FetchRequest {
        range: None,
        max_bytes: 1 << 20,
        within: LONG,
    }
}
