//! What one account does to a gateway, all of it at once and again and again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::faults::media::form::{self, Sound};
use crate::faults::process_harness::{LONG_MODEL, VIDEO};

/// What upstreams are made to answer.
const FAULTS: [&str; 9] = [
    "status:401",
    "status:402",
    "status:403",
    "status:404",
    "status:429",
    "rate_limited:600",
    "status:500",
    "status:503",
    "close_before_headers",
];
/// Clients of each kind, and their pauses: together less than what this machine can do, because its processors
/// are shared by all that runs here and are no part of what is proved.
const PROVOKERS: usize = 2;
const PROVOKE_EVERY: Duration = Duration::from_millis(250);
const FETCHERS: usize = 32;
const REPLAY_EVERY: Duration = Duration::from_millis(500);
const UPLOAD_EVERY: Duration = Duration::from_millis(500);
const REFUSE_EVERY: Duration = Duration::from_millis(50);
const FETCH_EVERY: Duration = Duration::from_secs(1);
const CONNECT_EVERY: Duration = Duration::from_millis(2);
/// A stored answer of some megabytes, and a reader that takes nothing of it.
const LARGE: &str = "Long [[tokens:24000]]";
const REPLAYED: &str = "idempotency-key: neighbours\r\n";
const SMALL_BUFFER: u32 = 4_096;
/// Of an upload, with its head.
const FILE: u64 = 1_000_000;
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_millis(300);

/// What the attacks met, which shows that they were attacks.
#[derive(Debug, Default)]
pub(super) struct Seen {
    provoked: AtomicU64,
    silent: AtomicU64,
    replays_given: AtomicU64,
    replays_refused: AtomicU64,
    fetches: AtomicU64,
    uploads_refused: AtomicU64,
    refused: AtomicU64,
}

/// One account.
#[derive(Clone)]
pub(super) struct Attacks {
    address: SocketAddr,
    key: String,
    seen: Arc<Seen>,
}

/// Attacks under way.
pub(super) struct Running {
    tasks: JoinSet<()>,
    seen: Arc<Seen>,
}

// === impl Seen ===

impl Seen {
    pub(super) fn assert_attacked(&self, silent: u64) {
        let at_least = |count: &AtomicU64, least: u64| count.load(Ordering::Relaxed) >= least;
        let all = [
            at_least(&self.provoked, 50),
            at_least(&self.silent, silent),
            at_least(&self.replays_given, 3),
            at_least(&self.replays_refused, 10),
            // What one account may have at once.
            at_least(&self.fetches, 16),
            at_least(&self.uploads_refused, 10),
            at_least(&self.refused, 200),
        ];
        assert_eq!(all, [true; 7], "{self:?}");
    }
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

// === impl Running ===

impl Running {
    /// Ends all of them; what they met.
    pub(super) async fn stop(mut self) -> Arc<Seen> {
        self.tasks.abort_all();
        while let Some(ended) = self.tasks.join_next().await {
            let failed = ended.err().filter(|error| !error.is_cancelled());
            assert!(failed.is_none(), "an attack could not go on: {failed:?}");
        }
        self.seen
    }
}

// === impl Attacks ===

impl Attacks {
    /// Makes the large answer that is replayed later.
    pub(super) async fn prepare(address: SocketAddr, key: &str) -> Self {
        let attacks = Self {
            address,
            key: key.to_owned(),
            seen: Arc::default(),
        };
        let first = exchange(
            address,
            attacks.chat(LONG_MODEL, LARGE, REPLAYED).as_bytes(),
        )
        .await;
        assert!(first.starts_with("HTTP/1.1 200"), "{:.200}", first);
        assert!(first.len() > 6_000_000, "{} bytes", first.len());
        attacks
    }

    pub(super) async fn start(self, silent: usize) -> Running {
        let mut tasks = JoinSet::new();
        let link = self.silent_server(&mut tasks).await;
        // However many there are, so many connections a second.
        let pause = CONNECT_EVERY * u32::try_from(silent).unwrap();
        for number in 0..silent {
            tasks.spawn(self.clone().silent_socket(number, pause));
        }
        for number in 0..PROVOKERS {
            tasks.spawn(self.clone().provokes(number));
        }
        for _ in 0..FETCHERS {
            tasks.spawn(self.clone().fetches(link.clone()));
        }
        tasks.spawn(self.clone().reads_no_replays());
        tasks.spawn(self.clone().fills_the_disk());
        tasks.spawn(self.clone().sends_refused());
        Running {
            tasks,
            seen: self.seen,
        }
    }

    fn request(&self, path: &str, more: &str, body: &str) -> String {
        format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n{more}connection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.key,
            body.len()
        )
    }

    fn chat(&self, model: &str, prompt: &str, more: &str) -> String {
        let messages = json!([{ "role": "user", "content": prompt }]);
        let stream = model == LONG_MODEL;
        let body = json!({ "model": model, "stream": stream, "messages": messages });
        self.request("/v1/chat/completions", more, &body.to_string())
    }

    /// Prompts that make the upstream answer with an error, for the channels that all customers use.
    async fn provokes(self, first: usize) {
        for number in first.. {
            let fault = FAULTS[number % FAULTS.len()];
            let prompt = format!("[[id:attack]] [[fault:{fault}]]");
            let reply = exchange(self.address, self.chat("sim-fast", &prompt, "").as_bytes()).await;
            if !reply.starts_with("HTTP/1.1 200") {
                add(&self.seen.provoked);
            }
            tokio::time::sleep(PROVOKE_EVERY).await;
        }
    }

    /// A connection that says nothing or half a preface, and comes back when it is closed.
    async fn silent_socket(self, number: usize, pause: Duration) {
        tokio::time::sleep(CONNECT_EVERY * u32::try_from(number).unwrap()).await;
        let from = if number.is_multiple_of(4) {
            [127, 0, 0, 1]
        } else {
            [127, 0, 0, 2]
        };
        loop {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(SocketAddr::from((from, 0))).unwrap();
            if let Ok(mut stream) = socket.connect(self.address).await {
                add(&self.seen.silent);
                if number.is_multiple_of(2) {
                    drop(stream.write_all(b"PRI * HT").await);
                }
                drop(stream.read(&mut [0; 64]).await);
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Replays of the large answer of which only the first bytes are read.
    async fn reads_no_replays(self) {
        let request = self.chat(LONG_MODEL, LARGE, REPLAYED);
        let mut unread = Vec::new();
        loop {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(SMALL_BUFFER).unwrap();
            if let Ok(mut stream) = socket.connect(self.address).await {
                drop(stream.write_all(request.as_bytes()).await);
                let mut head = [0; 12];
                let read = stream.read_exact(&mut head);
                let read = tokio::time::timeout(ANSWERS_WITHIN, read).await;
                if matches!(read, Ok(Ok(_))) && head.ends_with(b"200") {
                    add(&self.seen.replays_given);
                    unread.push(stream);
                } else {
                    add(&self.seen.replays_refused);
                }
            }
            tokio::time::sleep(REPLAY_EVERY).await;
        }
    }

    /// A server that takes connections and says nothing; the address of a file there.
    async fn silent_server(&self, tasks: &mut JoinSet<()>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let link = format!("http://{}/video.mp4", listener.local_addr().unwrap());
        let seen = Arc::clone(&self.seen);
        tasks.spawn(async move {
            let mut open = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                add(&seen.fetches);
                open.push(stream);
            }
        });
        link
    }

    /// Quotes for which a file must be fetched that never comes.
    async fn fetches(self, link: String) {
        let body = json!({ "model": VIDEO, "prompt": "x", "video_url": link });
        let ask = json!({ "endpoint": "videos", "body": body }).to_string();
        let request = self.request("/v1/quotes", "", &ask);
        loop {
            exchange(self.address, request.as_bytes()).await;
            tokio::time::sleep(FETCH_EVERY).await;
        }
    }

    /// Uploads that lie on the disk, because their ends never come.
    async fn fills_the_disk(self) {
        let sound = Sound::of_bytes(FILE);
        let (before, after) = form::around(&[("model", "ears")]);
        let file = [before, sound.head(), sound.silence(), after].concat();
        let head = format!(
            "POST /v1/audio/transcriptions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: {}\r\ncontent-length: {}\r\n\r\n",
            self.key,
            form::content_type(),
            file.len()
        );
        let mut open = Vec::new();
        loop {
            if let Ok(mut stream) = TcpStream::connect(self.address).await {
                drop(stream.write_all(head.as_bytes()).await);
                drop(stream.write_all(&file[..file.len() - 8]).await);
                let mut line = [0; 12];
                let read = tokio::time::timeout(SOON, stream.read_exact(&mut line)).await;
                match read {
                    Err(_) => open.push(stream),
                    Ok(Ok(_)) if line.ends_with(b"503") => add(&self.seen.uploads_refused),
                    Ok(_) => {}
                }
            }
            tokio::time::sleep(UPLOAD_EVERY).await;
        }
    }

    /// Requests that are refused at every step of accepting one.
    async fn sends_refused(self) {
        let call = |body: Value| self.request("/v1/chat/completions", "", &body.to_string());
        let messages = json!([{ "role": "user", "content": "Hi" }]);
        let good = call(json!({ "model": "sim-fast", "messages": messages }));
        let requests = [
            good.replace(&self.key, "sk-unknown"),
            call(json!({ "model": "no-such-model", "messages": messages })),
            call(json!({ "model": "sim-fast", "messages": 7 })),
            self.request("/v1/chat/completions", "", "{\"model\":"),
            self.request("/v1/no/such/path", "", "{}"),
            good.replace(
                "\r\ncontent-length:",
                "\r\ntransfer-encoding: chunked\r\ncontent-length:",
            ),
            good.replace("\r\nhost: x\r\n", "\nhost: x\n"),
        ];
        for request in requests.iter().cycle() {
            let reply = exchange(self.address, request.as_bytes()).await;
            if reply.starts_with("HTTP/1.1 4") {
                add(&self.seen.refused);
            }
            tokio::time::sleep(REFUSE_EVERY).await;
        }
    }
}

/// All that comes back; nothing if no answer comes.
pub(super) async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut reply = Vec::new();
    let exchanged = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request).await?;
        stream.read_to_end(&mut reply).await
    };
    drop(tokio::time::timeout(ANSWERS_WITHIN, exchanged).await);
    String::from_utf8_lossy(&reply).into_owned()
}
