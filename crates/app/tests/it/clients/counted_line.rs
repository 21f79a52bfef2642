//! A line between a client and the gateway that counts what goes over it.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const BUFFER_BYTES: usize = 65_536;

/// What went over a line.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traffic {
    pub(crate) connections: usize,
    /// How often the client sent something after it had heard something, and for the first time.
    pub(crate) round_trips: usize,
    pub(crate) bytes_sent: usize,
    pub(crate) bytes_received: usize,
}

pub(crate) struct CountedLine {
    /// The gateway's address by way of this line.
    pub(crate) base_url: String,
    traffic: Arc<Mutex<Traffic>>,
    /// Ends with the line.
    _tasks: JoinSet<()>,
}

/// Whose turn it is on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Gateway,
}

/// One connection's turns, and the sums of its line.
#[derive(Clone)]
struct Counter {
    traffic: Arc<Mutex<Traffic>>,
    last: Arc<Mutex<Option<Side>>>,
}

// === impl CountedLine ===

impl CountedLine {
    /// A line to `http://host:port/path`.
    pub(crate) async fn to(base_url: &str) -> Self {
        let behind = base_url.strip_prefix("http://").unwrap();
        let (gateway, path) = behind.split_once('/').unwrap();
        let gateway = gateway.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/{path}", listener.local_addr().unwrap());
        let traffic = Arc::new(Mutex::new(Traffic::default()));
        let counted = Arc::clone(&traffic);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let counter = Counter {
                    traffic: Arc::clone(&counted),
                    last: Arc::default(),
                };
                counter.traffic.lock().unwrap().connections += 1;
                let Ok(server) = TcpStream::connect(&gateway).await else {
                    continue;
                };
                connections.spawn(carry(client, server, counter));
            }
        });
        Self {
            base_url,
            traffic,
            _tasks: tasks,
        }
    }

    pub(crate) fn traffic(&self) -> Traffic {
        *self.traffic.lock().unwrap()
    }
}

// === impl Counter ===

impl Counter {
    fn count(&self, side: Side, bytes: usize) {
        let before = self.last.lock().unwrap().replace(side);
        let mut traffic = self.traffic.lock().unwrap();
        match side {
            Side::Client => {
                traffic.bytes_sent += bytes;
                traffic.round_trips += usize::from(before != Some(Side::Client));
            }
            Side::Gateway => traffic.bytes_received += bytes,
        }
    }
}

async fn carry(mut client: TcpStream, mut server: TcpStream, counter: Counter) {
    drop(client.set_nodelay(true));
    drop(server.set_nodelay(true));
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    tokio::select! {
        () = pump(from_client, to_server, Side::Client, &counter) => {}
        () = pump(from_server, to_client, Side::Gateway, &counter) => {}
    }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    side: Side,
    counter: &Counter,
) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        counter.count(side, count);
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
