//! A server that reads one HTTP/2 request and then says exactly the bytes it was told to.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const PREFACE_BYTES: usize = 24;
const HEADERS: u8 = 1;

pub(crate) const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// A GOAWAY that names the last stream that was looked at.
pub(crate) fn go_away(last_stream: u8, reason: u8) -> Vec<u8> {
    let mut frame = vec![0, 0, 8, 7, 0, 0, 0, 0, 0];
    frame.extend([0, 0, 0, last_stream, 0, 0, 0, reason]);
    frame
}

/// A reset of the first request.
pub(crate) fn reset(reason: u8) -> Vec<u8> {
    vec![0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, reason]
}

/// Starts it. After its words it closes the connection.
pub(crate) async fn start(tls: Arc<ServerConfig>, words: Vec<u8>) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = TlsAcceptor::from(Arc::clone(&tls));
            let mut stream = acceptor.accept(stream).await.unwrap();
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
            read_request(&mut stream).await;
            stream.write_all(&SETTINGS).await.unwrap();
            stream.write_all(&words).await.unwrap();
            // The client may be gone already.
            stream.shutdown().await.unwrap_or_default();
        }
    });
    (address, tasks)
}

async fn read_request(stream: &mut TlsStream<TcpStream>) {
    let mut preface = [0; PREFACE_BYTES];
    stream.read_exact(&mut preface).await.unwrap();
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut payload).await.unwrap();
        if head[3] == HEADERS {
            return;
        }
    }
}
