//! Connections in: bounded in number, in the size of a head and in the time it takes.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;

use crate::console::Console;

/// Connections at once. People and dashboards, not customers' calls.
const MAX_CONNECTIONS: usize = 1_000;
/// Bytes of a request's head at most.
const MAX_HEAD_BYTES: usize = 16_384;
const MAX_HEADERS: usize = 100;
/// Requests that one HTTP/2 connection may have open.
const MAX_STREAMS: u32 = 64;
/// From the first byte of a head to its last.
const HEAD_WAIT: Duration = Duration::from_secs(10);
/// Pause after the system refused a connection, so that its lack of files is not a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts until the word `stop` changes, then lets every connection end its request.
pub(crate) async fn serve(
    console: Console,
    listener: TcpListener,
    mut stop: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.changed() => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "console listener: accept failed");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Beyond the limit a connection is closed at once: waiting would only move the queue.
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
            continue;
        };
        let (console, stop) = (console.clone(), stop.clone());
        connections.spawn(async move {
            connection(console, (stream, peer.ip()), stop).await;
            drop(permit);
        });
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn connection(
    console: Console,
    (stream, peer): (TcpStream, IpAddr),
    mut stop: watch::Receiver<bool>,
) {
    let service = service_fn(move |request: http::Request<Incoming>| {
        let console = console.clone();
        async move { Ok::<_, std::convert::Infallible>(console.answer(request, peer).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(MAX_HEAD_BYTES).unwrap_or(u32::MAX));
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        _ = stop.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "console connection failed");
    }
}
