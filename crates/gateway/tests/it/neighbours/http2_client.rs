//! A client of HTTP/2 whose window is closed: heads arrive, and no byte of a body.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use http::{Request, Response};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

const OPEN: u32 = 50_000_000;
const LONGEST: Duration = Duration::from_secs(20);

pub(crate) struct ClosedWindow {
    sender: SendRequest<Bytes>,
    open: Option<oneshot::Sender<()>>,
    _driver: JoinSet<()>,
}

impl ClosedWindow {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let handshake = Builder::new()
            .initial_window_size(0)
            .initial_connection_window_size(OPEN)
            .handshake(stream);
        let (sender, mut connection) = handshake.await.unwrap();
        let (open, opened) = oneshot::channel();
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            tokio::select! {
                ended = &mut connection => return drop(ended),
                opened = opened => drop(opened),
            }
            connection.set_initial_window_size(OPEN).unwrap();
            drop(connection.await);
        });
        Self {
            sender,
            open: Some(open),
            _driver: driver,
        }
    }

    /// Sends a request and waits for the head of its response.
    pub(crate) async fn head(
        &mut self,
        request: Request<()>,
        body: Bytes,
    ) -> Response<h2::RecvStream> {
        let mut sender = self.sender.clone().ready().await.unwrap();
        let is_all = body.is_empty();
        let (response, mut stream) = sender.send_request(request, is_all).unwrap();
        if !is_all {
            stream.send_data(body, true).unwrap();
        }
        let response = tokio::time::timeout(LONGEST, response).await;
        response.unwrap().unwrap()
    }

    /// Opens the window for all streams.
    pub(crate) fn open(&mut self) {
        let open = self.open.take().unwrap();
        open.send(()).unwrap();
    }
}

/// Bytes of a body that arrive before it ends or breaks off, and whether it ended.
pub(crate) async fn received(mut body: h2::RecvStream) -> (usize, bool) {
    let mut bytes = 0;
    let all = async {
        while let Some(piece) = body.data().await {
            let Ok(piece) = piece else {
                return (bytes, false);
            };
            bytes += piece.len();
            drop(body.flow_control().release_capacity(piece.len()));
        }
        (bytes, true)
    };
    tokio::time::timeout(LONGEST, all).await.unwrap()
}
