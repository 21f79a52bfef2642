//! Whole answers share a connection in HTTP/2 where the provider allows it and the server takes it;
//! streams never do.

use std::collections::BTreeSet;
use std::time::Duration;

use http::Version;
use trunkline_upstream::{Client, Protocol, Providers, SendError};

use crate::calls::{LONG, call, read, seen};
use crate::certificates::Certificate;
use crate::frames;
use crate::servers::{SEEN, Seen, Server};

const BOTH: [&str; 2] = ["h2", "http/1.1"];
const NO_ERROR: u8 = 0;
const CANCEL: u8 = 8;
const REFUSED_STREAM: u8 = 7;
const ENHANCE_YOUR_CALM: u8 = 11;

async fn setup(protocols: &[&str]) -> (Client, Server) {
    let certificate = Certificate::of("localhost");
    let client = Client::with_roots(LONG, &certificate.roots()).unwrap();
    let server = Server::start(Some(certificate.server(protocols))).await;
    (client, server)
}

#[tokio::test]
async fn http2_is_used_for_buffered_answers_only_where_a_provider_allows_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = \"mine\"\nbase_url = \"\"\nauth = \"bearer\"\nformats = [\"openai_chat\"]\n\
                quirks = [\"http2\"]\nconnect_ms = 1\nfirst_byte_ms = 1\nidle_ms = 1\ntotal_ms = 1\n";
    std::fs::write(folder.path().join("mine.toml"), text).unwrap();
    let providers = Providers::with_folder(folder.path()).unwrap();
    let mine = providers.get("mine").unwrap();
    let openai = providers.get("openai").unwrap();
    let (client, server) = setup(&BOTH).await;
    for (protocol, version) in [
        (mine.protocol(false), Version::HTTP_2),
        (mine.protocol(true), Version::HTTP_11),
        (openai.protocol(false), Version::HTTP_11),
        (openai.protocol(true), Version::HTTP_11),
    ] {
        let mut answer = client.send(call(&server.at("/"), protocol)).await.unwrap();
        assert_eq!(answer.version, version);
        assert_eq!(read(&mut answer).await.version, version);
    }
}

#[tokio::test]
async fn calls_in_http2_share_one_connection_and_those_in_http1_have_their_own() {
    let (client, server) = setup(&BOTH).await;
    for (protocol, connections) in [(Protocol::Http2, 1), (Protocol::Http1, 8)] {
        let mut peers = BTreeSet::new();
        let mut kept = Vec::new();
        for _ in 0..8 {
            let path = server.at("/endless");
            let answer = client.send(call(&path, protocol)).await.unwrap();
            peers.insert(Seen::read(answer.headers[SEEN].as_bytes()).peer);
            kept.push(answer);
        }
        assert_eq!(peers.len(), connections, "{protocol:?}: {peers:?}");
    }
}

#[tokio::test]
async fn a_server_without_http2_is_asked_in_http1() {
    for protocols in [&["http/1.1"][..], &[]] {
        let (client, server) = setup(protocols).await;
        let first = seen(&client, call(&server.at("/"), Protocol::Http2)).await;
        assert_eq!(first.version, Version::HTTP_11);
        let second = seen(&client, call(&server.at("/"), Protocol::Http2)).await;
        assert_eq!(second.peer, first.peer, "the connection is kept");
    }
    let client = Client::new(LONG).unwrap();
    let plain = Server::start(None).await;
    let seen = seen(&client, call(&plain.at("/"), Protocol::Http2)).await;
    assert_eq!(seen.version, Version::HTTP_11, "without TLS too");
}

#[tokio::test]
async fn slow_readers_do_not_block_others() {
    let (client, server) = setup(&BOTH).await;
    let endless = server.at("/endless");
    let mut stalled = Vec::new();
    for _ in 0..20 {
        let mut answer = client.send(call(&endless, Protocol::Http1)).await.unwrap();
        assert!(answer.piece().await.unwrap().is_some());
        stalled.push(answer);
    }
    // Even buffered answers that no client reads do not block others on their connection.
    for _ in 0..8 {
        stalled.push(client.send(call(&endless, Protocol::Http2)).await.unwrap());
    }
    for _ in 0..50 {
        let seen = seen(&client, call(&server.at("/"), Protocol::Http2)).await;
        assert_eq!(seen.version, Version::HTTP_2);
    }
    assert_eq!(stalled.len(), 28);
}

#[tokio::test]
async fn beyond_what_a_connection_takes_calls_have_their_own() {
    let (client, server) = setup(&BOTH).await;
    let hang = server.at("/hang");
    let mut waiting: Vec<_> = (0..100)
        .map(|_| Box::pin(client.send(call(&hang, Protocol::Http2))))
        .collect();
    for one in &mut waiting {
        let polled = tokio::time::timeout(Duration::from_millis(1), one).await;
        assert!(polled.is_err(), "it hangs");
    }
    let over = seen(&client, call(&server.at("/"), Protocol::Http2)).await;
    assert_eq!(over.version, Version::HTTP_11);
    drop(waiting);
    let within = seen(&client, call(&server.at("/"), Protocol::Http2)).await;
    assert_eq!(within.version, Version::HTTP_2, "places are given back");
}

#[tokio::test]
async fn a_refused_stream_counts_as_not_sent_and_other_errors_as_broken() {
    let certificate = Certificate::of("localhost");
    let above_the_last = frames::go_away(0, NO_ERROR);
    let at_the_last = frames::go_away(1, NO_ERROR);
    for (words, is_unsent, what) in [
        (above_the_last, true, "above the last stream of a GOAWAY"),
        (frames::reset(REFUSED_STREAM), true, "a refused stream"),
        (at_the_last, false, "at the last stream of a GOAWAY"),
        (
            frames::go_away(0, ENHANCE_YOUR_CALM),
            false,
            "a GOAWAY in anger",
        ),
        (frames::reset(CANCEL), false, "a cancelled stream"),
        (Vec::new(), false, "closed without a word"),
    ] {
        let client = Client::with_roots(LONG, &certificate.roots()).unwrap();
        let (address, _tasks) = frames::start(certificate.server(&BOTH), words).await;
        let uri = format!("https://localhost:{}/", address.port());
        let error = client.send(call(&uri, Protocol::Http2)).await.unwrap_err();
        let unsent = matches!(error, SendError::NotSent(_));
        let broken = matches!(error, SendError::Broken(_));
        assert_eq!(
            (unsent, broken),
            (is_unsent, !is_unsent),
            "{what}: {error:?}"
        );
    }
}
