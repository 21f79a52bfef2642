//! A server that keeps what it was sent and answers what it is told to.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// What to answer.
#[derive(Debug, Clone)]
pub(crate) struct ScriptedAnswer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    /// The body in its pieces.
    pub(crate) pieces: Vec<Bytes>,
    pub(crate) after: Duration,
}

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A running server; it ends with its handle.
pub(crate) struct Recording {
    address: SocketAddr,
    scripted: Arc<Mutex<ScriptedAnswer>>,
    came: Arc<Mutex<Vec<RecordedRequest>>>,
    _tasks: JoinSet<()>,
}

// === impl ScriptedAnswer ===

impl ScriptedAnswer {
    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self {
            status,
            content_type: "application/json",
            pieces: vec![Bytes::from(body.to_owned())],
            after: Duration::ZERO,
        }
    }
}

// === impl Recording ===

impl Recording {
    pub(crate) async fn start(scripted: ScriptedAnswer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let scripted = Arc::new(Mutex::new(scripted));
        let came = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let shared = (Arc::clone(&scripted), Arc::clone(&came));
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (scripted, came) = shared.clone();
                let service = service_fn(move |request| {
                    answer(request, Arc::clone(&scripted), Arc::clone(&came))
                });
                let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                // How a connection ends is the client's business.
                connections.spawn(async move { drop(served.await) });
            }
        });
        Self {
            address,
            scripted,
            came,
            _tasks: tasks,
        }
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn tell(&self, scripted: ScriptedAnswer) {
        *self.scripted.lock().unwrap() = scripted;
    }

    pub(crate) fn came(&self) -> Vec<RecordedRequest> {
        self.came.lock().unwrap().clone()
    }
}

async fn answer(
    request: Request<Incoming>,
    scripted: Arc<Mutex<ScriptedAnswer>>,
    came: Arc<Mutex<Vec<RecordedRequest>>>,
) -> Result<Response<Pieces>, Infallible> {
    let (Parts { uri, headers, .. }, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let path = uri.path_and_query().unwrap().to_string();
    came.lock().unwrap().push(RecordedRequest {
        path,
        headers,
        body,
    });
    let scripted = scripted.lock().unwrap().clone();
    tokio::time::sleep(scripted.after).await;
    let response = Response::builder()
        .status(scripted.status)
        .header("content-type", scripted.content_type);
    Ok(response.body(Pieces(scripted.pieces.into())).unwrap())
}

/// A body that gives one piece after the other.
struct Pieces(VecDeque<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}
