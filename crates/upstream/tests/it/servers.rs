//! A server that answers with what it saw, in HTTP/1.1 and HTTP/2, with and without TLS.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, Version};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A running server; it ends with its handle.
pub(crate) struct Server {
    address: SocketAddr,
    is_tls: bool,
    hanging: watch::Receiver<usize>,
    _tasks: JoinSet<()>,
}

/// Who asked, and in what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) peer: SocketAddr,
    pub(crate) version: Version,
}

/// Either a text, or zeros for ever.
enum Sent {
    Text(Option<Bytes>),
    Endless,
}

/// What was seen, on every answer.
pub(crate) const SEEN: HeaderName = HeaderName::from_static("x-seen");
/// A piece of an endless answer.
const PIECE: Bytes = Bytes::from_static(&[0; 16 << 10]);

// === impl Server ===

impl Server {
    pub(crate) async fn start(tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let is_tls = tls.is_some();
        let (hung, hanging) = watch::channel(0);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, peer) = listener.accept().await.unwrap();
                connections.spawn(serve(stream, peer, tls.clone(), hung.clone()));
            }
        });
        Self {
            address,
            is_tls,
            hanging,
            _tasks: tasks,
        }
    }

    /// How many requests to `/hang` have arrived.
    pub(crate) fn hung(&self) -> usize {
        *self.hanging.borrow()
    }

    /// Waits until so many requests to `/hang` have arrived.
    pub(crate) async fn until_hung(&self, count: usize) {
        let mut hanging = self.hanging.clone();
        hanging.wait_for(|hung| *hung >= count).await.unwrap();
    }

    /// An address of this server by name, as a certificate has it.
    pub(crate) fn at(&self, path: &str) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://localhost:{}{path}", self.address.port())
    }
}

async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<Arc<ServerConfig>>,
    hung: watch::Sender<usize>,
) {
    let service = service_fn(move |request| answer(request, peer, hung.clone()));
    let builder = Builder::new(TokioExecutor::new());
    // How a connection ends is the client's business.
    match tls {
        None => drop(
            builder
                .serve_connection(TokioIo::new(stream), service)
                .await,
        ),
        Some(tls) => {
            let Ok(stream) = TlsAcceptor::from(tls).accept(stream).await else {
                return;
            };
            drop(
                builder
                    .serve_connection(TokioIo::new(stream), service)
                    .await,
            );
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    peer: SocketAddr,
    hung: watch::Sender<usize>,
) -> Result<Response<Sent>, Infallible> {
    let seen = Seen {
        peer,
        version: request.version(),
    };
    let header = HeaderValue::from_str(&seen.written()).unwrap();
    let mut response = Response::new(match request.uri().path() {
        "/endless" => Sent::Endless,
        "/hang" => {
            hung.send_modify(|count| *count += 1);
            std::future::pending().await
        }
        _ => Sent::Text(Some(Bytes::from(seen.written()))),
    });
    response.headers_mut().insert(SEEN, header);
    Ok(response)
}

// === impl Seen ===

impl Seen {
    fn written(&self) -> String {
        format!("{} {:?}", self.peer, self.version)
    }

    pub(crate) fn read(body: &[u8]) -> Self {
        let text = std::str::from_utf8(body).unwrap();
        let (peer, version) = text.split_once(' ').unwrap();
        Self {
            peer: peer.parse().unwrap(),
            version: match version {
                "HTTP/1.1" => Version::HTTP_11,
                "HTTP/2.0" => Version::HTTP_2,
                other => panic!("{other}"),
            },
        }
    }

    pub(crate) fn from(&self) -> IpAddr {
        self.peer.ip()
    }
}

// === impl Sent ===

impl Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(match &mut *self {
            Self::Text(text) => text.take().map(|text| Ok(Frame::data(text))),
            Self::Endless => Some(Ok(Frame::data(PIECE))),
        })
    }
}
