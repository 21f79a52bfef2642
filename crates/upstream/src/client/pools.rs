//! The pools of one egress: one with a connection per call, and one whose HTTP/2 connections are shared.

use std::sync::Arc;
use std::time::Duration;

use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Protocol;
use super::connector::Connector;
use super::payload::Payload;
use super::proxy::Proxy;

/// Connections with keep-alive.
pub(super) type Pool = Client<Connector, Payload>;

/// Idle connections kept for one host.
const MAX_IDLE_PER_HOST: usize = 256;
/// A connection that was idle longer may be closed at the other end already.
const MAX_IDLE: Duration = Duration::from_secs(30);
/// Concurrent calls that share connections. Servers commonly accept 100 per connection, and there is one per
/// host: one call more would wait behind slow ones, so it gets its own connection instead.
const MAX_SHARED: usize = 100;
/// Read buffer of an unshared connection, and the longest head: a stream with a slow reader buffers no more than
/// this. hyper's default is 400 kB.
const MAX_BUFFER_BYTES: usize = 64 << 10;
/// Flow-control window of one response: most responses fit.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// Flow-control window of a connection: several unread responses do not block the rest.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// Bytes of the headers of one response.
const MAX_HEADER_LIST_BYTES: u32 = 64 << 10;
/// Bytes of one request that wait for the server.
const MAX_SEND_BUFFER_BYTES: usize = 1 << 20;
/// Interval and timeout of HTTP/2 pings on a shared connection in use: a dead connection would otherwise block all
/// its calls until their deadlines.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_WAIT: Duration = Duration::from_secs(10);

pub(super) struct Pools {
    own: Pool,
    shared: Pool,
    places: Arc<Semaphore>,
}

impl Pools {
    pub(super) fn new(
        tls: &rustls::ClientConfig,
        proxy: Option<&Proxy>,
        connect_timeout: Duration,
    ) -> Self {
        let road = |protocol| Connector::new(tls.clone(), proxy, protocol, connect_timeout);
        Self {
            own: pool(road(Protocol::Http1)),
            shared: pool(road(Protocol::Http2)),
            places: Arc::new(Semaphore::new(MAX_SHARED)),
        }
    }

    /// The pool for a call, and its place among those that share.
    pub(super) fn choose(&self, protocol: Protocol) -> (&Pool, Option<OwnedSemaphorePermit>) {
        let place = match protocol {
            Protocol::Http1 => None,
            Protocol::Http2 => Arc::clone(&self.places).try_acquire_owned().ok(),
        };
        match place {
            None => (&self.own, None),
            Some(place) => (&self.shared, Some(place)),
        }
    }
}

fn pool(road: Connector) -> Pool {
    Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
        .pool_idle_timeout(MAX_IDLE)
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .http1_max_buf_size(MAX_BUFFER_BYTES)
        .http2_initial_stream_window_size(STREAM_WINDOW_BYTES)
        .http2_initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .http2_max_header_list_size(MAX_HEADER_LIST_BYTES)
        .http2_max_send_buf_size(MAX_SEND_BUFFER_BYTES)
        .http2_keep_alive_interval(PING_EVERY)
        .http2_keep_alive_timeout(PING_WAIT)
        .build(road)
}
