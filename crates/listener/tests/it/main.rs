//! A listener and clients of HTTP/2 that send what no request reads.
#![cfg(test)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::SendStream;
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;
use trunkline_listener::{ListenerSettings, Peer, Service};

/// Connections that fit into the memory of this listener, and more of them than that.
const FITTING: usize = 8;
const CONNECTIONS: usize = 24;
const STREAMS: usize = 16;
const WINDOW: usize = 65_535;
const LARGE: usize = 1_000_000;
/// Without another window for so long, no more will come.
const SETTLED: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(20);

/// A service that keeps every body unread.
struct Deaf;

impl Service for Deaf {
    type Body = http_body_util::Empty<Bytes>;

    async fn answer(&self, request: Request<Incoming>, _peer: Peer) -> Response<Self::Body> {
        std::future::pending::<()>().await;
        drop(request);
        Response::default()
    }
}

fn settings() -> ListenerSettings {
    ListenerSettings {
        name: "deaf",
        max_connections: 50_000,
        descriptor_percent: 50,
        receive_bytes: FITTING * 65_536,
        head_wait: LONGEST,
        reader_wait: LONGEST,
        max_head_bytes: 16_384,
        max_headers: 100,
        max_streams: 128,
    }
}

/// One upload that is kept open, and what was sent of it.
struct Upload {
    sent: usize,
    _stream: SendStream<Bytes>,
}

/// A connection that is kept open, and what was sent on it.
struct Uploads {
    sent: usize,
    _streams: Vec<Upload>,
    _driver: JoinSet<()>,
}

/// Sends as much as the windows allow.
async fn upload(mut stream: SendStream<Bytes>) -> Upload {
    let mut sent = 0;
    while sent < LARGE {
        stream.reserve_capacity(LARGE);
        let more = std::future::poll_fn(|context| stream.poll_capacity(context));
        let Ok(Some(Ok(more))) = tokio::time::timeout(SETTLED, more).await else {
            break;
        };
        if stream.send_data(Bytes::from(vec![0; more]), false).is_err() {
            break;
        }
        sent += more;
    }
    Upload {
        sent,
        _stream: stream,
    }
}

/// Uploads on one connection; none if the listener does not take it.
async fn uploads(from: [u8; 4], to: SocketAddr) -> Option<Uploads> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((from, 0))).unwrap();
    let stream = socket.connect(to).await.ok()?;
    let (sender, connection) = h2::client::handshake(stream).await.ok()?;
    let mut driver = JoinSet::new();
    driver.spawn(async move { drop(connection.await) });
    let mut streams = JoinSet::new();
    for _ in 0..STREAMS {
        let request = Request::post(format!("http://{to}/")).body(()).unwrap();
        let Ok(mut ready) = sender.clone().ready().await else {
            break;
        };
        let Ok((_, stream)) = ready.send_request(request, false) else {
            break;
        };
        streams.spawn(upload(stream));
    }
    let streams = streams.join_all().await;
    // A connection that was closed has nothing in memory.
    let is_open = tokio::time::timeout(SETTLED, driver.join_next())
        .await
        .is_err();
    is_open.then(|| Uploads {
        sent: streams.iter().map(|upload| upload.sent).sum(),
        _streams: streams,
        _driver: driver,
    })
}

// G-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_that_no_request_reads_stay_within_the_memory_of_their_listener() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    let mut server = JoinSet::new();
    server.spawn(trunkline_listener::serve(
        listener,
        settings(),
        Arc::new(Deaf),
        stopped,
    ));
    let mut clients = JoinSet::new();
    for number in 0..CONNECTIONS {
        let from = if number.is_multiple_of(2) {
            [127, 0, 0, 1]
        } else {
            [127, 0, 0, 2]
        };
        clients.spawn(uploads(from, address));
    }
    let open = tokio::time::timeout(LONGEST, clients.join_all()).await;
    let kept: Vec<Uploads> = open.unwrap().into_iter().flatten().collect();
    let open: Vec<usize> = kept.iter().map(|one| one.sent).collect();
    assert!(!open.is_empty() && open.len() <= FITTING, "{open:?}");
    assert!(open.iter().all(|sent| *sent <= WINDOW), "{open:?}");
    assert!(open.iter().any(|sent| *sent > WINDOW / 2), "{open:?}");
    drop(stop);
    server.abort_all();
}
