//! One connection, from accept to its end.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response, StatusCode, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::connections::ConnectionEntry;
use crate::listener::ListenerSettings;
use crate::listening_socket::HandedOver;
use crate::paced_body::PacedBody;
use crate::requests::Requests;
use crate::stream::{ClientStream, FramedStream, linger};
use crate::stream_executor::{self, StreamExecutor};

/// Resets of streams that one connection may send before it is closed.
const MAX_PENDING_RESETS: usize = 64;
/// How long a connection may wait for its next request. Load balancers and clients keep theirs for 60 to 90 seconds and
/// must be the ones that close: a request that meets a close cannot be told from one that was lost.
const KEPT_ALIVE: Duration = Duration::from_secs(120);
/// Between two pings of an HTTP/2 connection.
const PING_EVERY: Duration = Duration::from_secs(30);
/// Bytes that one HTTP/2 stream may have ready to be sent.
const MAX_SEND_BYTES: usize = 65_536;

/// Bytes that one connection may send before requests have read them: the window of an HTTP/2 connection, which
/// cannot be smaller, and the buffer of an HTTP/1 connection.
pub(crate) const RECEIVE_BYTES: usize = 65_536;
/// The same as the window that HTTP/2 begins with. All streams of a connection share it.
const WINDOW_BYTES: u32 = 65_535;

/// What answers the requests of a listener.
pub trait Service: Send + Sync + 'static {
    /// The body of its responses.
    type Body: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + 'static;

    /// Answers one request.
    fn answer(
        &self,
        request: Request<Incoming>,
        peer: Peer,
    ) -> impl Future<Output = Response<Self::Body>> + Send;

    /// Whether an address is a proxy's, with many clients behind it.
    fn is_proxy(&self, _address: IpAddr) -> bool {
        false
    }

    /// TLS, if the listener speaks it.
    fn tls(&self) -> Option<Arc<TlsAcceptor>> {
        None
    }
}

/// The other end of a connection. It keeps nothing open.
#[derive(Debug, Clone)]
pub struct Peer {
    pub address: SocketAddr,
    pub socket: Weak<TcpStream>,
}

/// What all connections of a listener share.
pub(crate) struct Shared<S> {
    pub(crate) service: Arc<S>,
    pub(crate) settings: ListenerSettings,
    pub(crate) builder: auto::Builder<StreamExecutor>,
    pub(crate) handed_over: HandedOver,
}

/// A connection that was accepted.
pub(crate) struct Accepted {
    pub(crate) socket: TcpStream,
    pub(crate) address: SocketAddr,
    pub(crate) entry: ConnectionEntry,
}

pub(crate) fn builder(settings: &ListenerSettings) -> auto::Builder<StreamExecutor> {
    let executor = StreamExecutor {
        reader_wait: settings.reader_wait,
    };
    let mut builder = auto::Builder::new(executor);
    builder
        .http1()
        .timer(TokioTimer::new())
        // It runs from the response before; the first head has the deadline of `is_silent`.
        .header_read_timeout(KEPT_ALIVE)
        .max_buf_size(settings.max_head_bytes)
        .max_headers(settings.max_headers)
        .half_close(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(settings.max_streams)
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .max_send_buf_size(MAX_SEND_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .initial_stream_window_size(WINDOW_BYTES)
        .max_header_list_size(u32::try_from(settings.max_head_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(PING_EVERY);
    builder
}

// === impl Shared ===

impl<S: Service> Shared<S> {
    /// Serves a connection until it ends, says nothing, or must make way for another.
    pub(crate) async fn serve(self: Arc<Self>, accepted: Accepted, stop: watch::Receiver<bool>) {
        let Accepted {
            socket,
            address,
            entry,
        } = accepted;
        drop(socket.set_nodelay(true));
        let socket = Arc::new(socket);
        let peer = Peer {
            address,
            socket: Arc::downgrade(&socket),
        };
        let requests = Arc::new(Requests::new(entry));
        let head_wait = self.settings.head_wait;
        let is_over = tokio::select! {
            () = Arc::clone(&self).handshake(&socket, peer, &requests, stop) => true,
            () = requests.is_silent(head_wait) => false,
            () = requests.entry.must_close() => false,
        };
        // A client that is sending a request which was refused reads the response when it has sent it.
        if is_over && requests.is_sending.load(Ordering::Relaxed) {
            tokio::select! {
                () = linger(&socket) => {}
                () = requests.entry.must_close() => {}
            }
        }
    }

    async fn handshake(
        self: Arc<Self>,
        socket: &Arc<TcpStream>,
        peer: Peer,
        requests: &Arc<Requests>,
        stop: watch::Receiver<bool>,
    ) {
        let stream = ClientStream::new(Arc::clone(socket), self.settings.reader_wait);
        let Some(tls) = self.service.tls() else {
            return self.requests(stream, peer, requests, stop).await;
        };
        match tls.accept(stream).await {
            Ok(stream) => self.requests(stream, peer, requests, stop).await,
            Err(error) => tracing::debug!(%error, "TLS handshake failed"),
        }
    }

    async fn requests<I>(
        self: Arc<Self>,
        stream: I,
        peer: Peer,
        requests: &Arc<Requests>,
        mut stop: watch::Receiver<bool>,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let stream = FramedStream::new(stream, Arc::clone(requests));
        let (service, requests) = (Arc::clone(&self.service), Arc::clone(requests));
        let handed_over = self.handed_over.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            requests.has_begun.store(true, Ordering::Relaxed);
            let (service, requests) = (Arc::clone(&service), Arc::clone(&requests));
            let (entry, peer) = (requests.entry.request(), peer.clone());
            let ends = handed_over.is_true() && request.version() == Version::HTTP_11;
            async move {
                let mut answered = service.answer(request, peer).await;
                if answered.status() == StatusCode::SWITCHING_PROTOCOLS {
                    requests.upgrade();
                } else if ends {
                    // The client opens its next connection, and the other process accepts it.
                    let close = HeaderValue::from_static("close");
                    answered.headers_mut().insert(CONNECTION, close);
                }
                let paced = |body| PacedBody::new(body, stream_executor::progress(), entry);
                Ok::<_, std::convert::Infallible>(answered.map(paced))
            }
        });
        let connection = self
            .builder
            .serve_connection_with_upgrades(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            _ = stop.changed() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(listener = self.settings.name, %error, "connection error");
        }
    }
}
