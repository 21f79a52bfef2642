//! HTTP/1.1: what left, and what did not.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use trunkline_upstream::{Client, Protocol, SendError};

use crate::calls::{LONG, call, not_sent, seen};
use crate::servers::Server;

#[tokio::test]
async fn a_connection_that_closes_after_the_request_is_broken() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    let client = Client::new(LONG).unwrap();
    let served = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut some = [0; 16];
        stream.read_exact(&mut some).await.unwrap();
    };
    let (sent, ()) = tokio::join!(client.send(call(&uri, Protocol::Http1)), served);
    let error = sent.unwrap_err();
    assert!(matches!(error, SendError::Broken(_)), "{error:?}");
}

#[tokio::test]
async fn a_pooled_connection_that_breaks_is_an_error_and_is_not_retried() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    let client = Client::new(LONG).unwrap();
    let served = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4_096];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        stream.write_all(answer).await.unwrap();
        // The next request arrives on the same connection, and gets no answer.
        assert!(stream.read(&mut request).await.unwrap() > 0);
    };
    let exchange = async {
        let mut first = client.send(call(&uri, Protocol::Http1)).await.unwrap();
        assert_eq!(first.whole(16).await.unwrap(), "ok");
        drop(first);
        client.send(call(&uri, Protocol::Http1)).await.unwrap_err()
    };
    let ((), error) = tokio::join!(served, exchange);
    assert!(matches!(error, SendError::Broken(_)), "{error:?}");
    let more = tokio::time::timeout(Duration::from_millis(200), listener.accept());
    assert!(
        more.await.is_err(),
        "a request that may have left goes out once"
    );
}

#[tokio::test]
async fn a_closed_port_and_an_unknown_name_are_sent_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::new(LONG).unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let words = not_sent(&client, call(&uri, protocol)).await;
        assert!(words.contains("refused"), "{words}");
        let words = not_sent(&client, call("http://nobody.invalid/", protocol)).await;
        assert!(words.contains("dns error"), "{words}");
    }
}

#[tokio::test]
async fn clients_with_the_same_connect_timeout_share_connections() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("https://{}/", silent.local_addr().unwrap());
    let patient = Client::new(LONG).unwrap();
    let short = Duration::from_millis(50);
    // TCP stands, and the TLS handshake gets no answer.
    let hasty = patient.connecting_within(short);
    let words = not_sent(&hasty, call(&uri, Protocol::Http1));
    let words = tokio::time::timeout(LONG / 2, words).await.unwrap();
    assert!(words.contains("timed out"), "{words}");

    let server = Server::start(None).await;
    let mut peers = Vec::new();
    for client in [
        patient.connecting_within(LONG / 2),
        patient.connecting_within(LONG / 2),
        patient.connecting_within(LONG),
        patient.clone(),
    ] {
        let seen = seen(&client, call(&server.at("/"), Protocol::Http1)).await;
        peers.push(seen.peer);
    }
    assert_eq!(peers[0], peers[1], "the connection is shared");
    assert_eq!(peers[2], peers[3], "the client's own time is no other way");
    assert_ne!(peers[1], peers[2]);
}
