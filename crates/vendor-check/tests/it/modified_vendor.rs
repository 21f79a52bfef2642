//! A vendor that is the simulator with texts and statuses replaced.

use std::net::SocketAddr;

use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What is replaced in answers.
#[derive(Clone, Copy)]
pub(crate) struct Changes {
    pub(crate) texts: &'static [(&'static str, &'static str)],
    pub(crate) statuses: &'static [(u16, u16)],
}

/// Starts it; it ends with the set.
pub(crate) async fn start(simulator: SocketAddr, changes: Changes) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            connections.spawn(async move {
                let service = service_fn(move |request| pass(request, simulator, changes));
                let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                served.await.unwrap_or_default();
            });
        }
    });
    (base_url, tasks)
}

async fn pass(
    request: Request<Incoming>,
    simulator: SocketAddr,
    changes: Changes,
) -> hyper::Result<Response<Full<Bytes>>> {
    let stream = TcpStream::connect(simulator).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let mut running = JoinSet::new();
    running.spawn(connection);
    let (mut head, body) = sender.send_request(request).await?.into_parts();
    let body = body.collect().await?.to_bytes();
    let mut body = String::from_utf8(body.to_vec()).unwrap();
    for (from, to) in changes.texts {
        body = body.replace(from, to);
    }
    let mut statuses = changes.statuses.iter();
    if let Some((_, to)) = statuses.find(|(from, _)| head.status == *from) {
        head.status = (*to).try_into().unwrap();
    }
    head.headers.remove("content-length");
    head.headers.remove("transfer-encoding");
    Ok(Response::from_parts(head, Full::new(Bytes::from(body))))
}
