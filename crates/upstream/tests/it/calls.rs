//! Calls as tests make them.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use trunkline_types::Secret;
use trunkline_upstream::{
    Client, Deadlines, Outgoing, Protocol, Proxy, SendError, UpstreamResponse,
};

use crate::servers::Seen;

/// Longer than any test should take.
pub(crate) const LONG: Duration = Duration::from_secs(20);
const MOST_BYTES: usize = 1 << 20;

pub(crate) fn call(uri: &str, protocol: Protocol) -> Outgoing<'static> {
    Outgoing {
        method: Method::POST,
        uri: uri.parse().unwrap(),
        headers: HeaderMap::new(),
        body: Bytes::from_static(b"{}").into(),
        deadlines: Deadlines {
            first_byte: LONG,
            idle: LONG,
            total: LONG,
        },
        proxy: None,
        protocol,
    }
}

pub(crate) fn proxy(text: &str) -> Proxy {
    Proxy::read(&Secret::new(text.to_owned())).unwrap()
}

/// Asks for the whole answer, which is what the server saw.
pub(crate) async fn seen(client: &Client, call: Outgoing<'_>) -> Seen {
    let mut answer = client.send(call).await.unwrap();
    assert_eq!(answer.status, 200);
    read(&mut answer).await
}

pub(crate) async fn read(answer: &mut UpstreamResponse) -> Seen {
    let body = answer.whole(MOST_BYTES).await.unwrap();
    Seen::read(&body)
}

/// The words of a call that was not sent; every other end fails the test.
pub(crate) async fn not_sent(client: &Client, call: Outgoing<'_>) -> String {
    match client.send(call).await {
        Err(SendError::NotSent(words)) => words,
        Err(other) => panic!("{other:?} instead of NotSent"),
        Ok(answer) => panic!("{} instead of NotSent", answer.status),
    }
}
