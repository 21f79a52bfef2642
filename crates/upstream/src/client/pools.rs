//! The pools of one egress: one where each call has a connection to itself, one whose connections are
//! shared in HTTP/2.

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
/// Calls at one time that share connections. Servers commonly take 100 on one, and there is one to a
/// host: a call too many would wait behind slow ones, so it gets a connection of its own instead.
const MAX_SHARED: usize = 100;
/// Bytes of a connection of its own that are read ahead of us, and of a head at most: a stream whose
/// reader is slow keeps no more than this. hyper would take 400 kB.
const MAX_BUFFER_BYTES: usize = 64 << 10;
/// Bytes of one answer that may wait for us: most answers fit.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// Bytes of all answers of a connection that may wait for us: several that nobody reads do not stop
/// the rest.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// Bytes of the headers of one answer.
const MAX_HEADER_LIST_BYTES: u32 = 64 << 10;
/// Bytes of one request that wait for the server.
const MAX_SEND_BUFFER_BYTES: usize = 1 << 20;
/// A shared connection with calls on it is asked so often whether it lives, and has so long to say
/// so: one that died in silence would keep all of them until their deadlines.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_WAIT: Duration = Duration::from_secs(10);

#[derive(Clone)]
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
