//! A server that cannot prove who it is gets no request.

use std::time::Duration;

use tokio::net::TcpListener;
use trunkline_upstream::{Client, Protocol, Roots, SendError};

use crate::calls::{LONG, call, not_sent, seen};
use crate::certificates::Certificate;
use crate::servers::Server;

#[tokio::test]
async fn a_certificate_that_does_not_hold_means_that_nothing_was_sent() {
    let other = Certificate::of("other.example");
    let expired = Certificate::expired("localhost");
    let unknown = Certificate::of("localhost");
    for (certificate, roots, why) in [
        (&other, other.roots(), "not valid for name"),
        (&expired, expired.roots(), "expired"),
        (&unknown, Roots::default(), "UnknownIssuer"),
    ] {
        let server = Server::start(Some(certificate.server(&["h2", "http/1.1"]))).await;
        let client = Client::with_roots(LONG, &roots).unwrap();
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let words = not_sent(&client, call(&server.at("/"), protocol)).await;
            assert!(words.contains(why), "{words}");
        }
    }
}

#[tokio::test]
async fn a_private_root_is_trusted_when_it_is_given() {
    let certificate = Certificate::of("localhost");
    let server = Server::start(Some(certificate.server(&["http/1.1"]))).await;
    let roots = certificate.roots();
    assert_eq!(roots.count(), 1);
    let client = Client::with_roots(LONG, &roots).unwrap();
    let seen = seen(&client, call(&server.at("/"), Protocol::Http1)).await;
    assert!(seen.from().is_loopback());
}

#[tokio::test]
async fn a_server_that_is_silent_in_the_handshake_got_no_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("https://{}/", listener.local_addr().unwrap());
    let short = Duration::from_millis(200);
    let client = Client::new(short).unwrap();
    let words = not_sent(&client, call(&uri, Protocol::Http1)).await;
    assert!(words.contains("timed out"), "{words}");

    // Neither has it when the call's own time is over first.
    let patient = Client::new(LONG).unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut hasty = call(&uri, protocol);
        hasty.deadlines.first_byte = short;
        let words = not_sent(&patient, hasty).await;
        assert_eq!(words, "there was no connection in time");
    }
}

#[tokio::test]
async fn a_request_that_a_connection_took_is_silent_when_no_answer_comes() {
    let certificate = Certificate::of("localhost");
    let server = Server::start(Some(certificate.server(&["h2", "http/1.1"]))).await;
    let client = Client::with_roots(LONG, &certificate.roots()).unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        // On a busy machine a short time may end before the request is there; then it is no test.
        let mut first_byte = Duration::from_millis(250);
        loop {
            let before = server.hung();
            let mut hasty = call(&server.at("/hang"), protocol);
            hasty.deadlines.first_byte = first_byte;
            let error = client.send(hasty).await.unwrap_err();
            if server.hung() > before {
                assert_eq!(error, SendError::Silent, "{protocol:?}");
                break;
            }
            first_byte *= 2;
            assert!(first_byte < LONG, "no request arrived");
        }
    }
}
