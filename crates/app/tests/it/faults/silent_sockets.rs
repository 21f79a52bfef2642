//! G-06: connections that say nothing, more than the process has descriptors, stop no calls.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::Instant;
use trunkline_upstream::Client;

use crate::faults::client_view::{ClientView, reported};
use crate::faults::formats::{CallParams, Pair};
use crate::faults::process_harness::ProcessHarness;

const DESCRIPTORS: u32 = 400;
/// Silent connections; `just redteam` and the nightly run have more.
const SILENT: usize = 420;
const CALLS: usize = 30;
/// For longer than a connection is protected after accept.
const FRESH: Duration = Duration::from_millis(500);
/// The deadline of a head, and time for a busy machine.
const CLOSED_WITHIN: Duration = Duration::from_secs(25);

async fn connect(from: [u8; 4], to: SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((from, 0))).unwrap();
    let connecting = tokio::time::timeout(Duration::from_secs(5), socket.connect(to));
    connecting.await.ok()?.ok()
}

async fn call(harness: &ProcessHarness) {
    // A connection of its own: none that was accepted before.
    let client = Client::new(Duration::from_secs(5)).unwrap();
    let params = CallParams {
        prompt: "Hi [[tokens:3]]",
        stream: false,
        most: 10,
    };
    let call = Pair::CHAT.call((harness.address, &harness.key), params);
    let mut answer = client.send(call).await.unwrap();
    let status = answer.status.as_u16();
    let body = answer.whole(1_000_000).await.unwrap();
    let view = reported(Pair::CHAT.caller, status, false, &body);
    assert_eq!(view, ClientView::Complete);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_beyond_the_descriptors_stop_no_calls() {
    let harness = ProcessHarness::of_descriptors(DESCRIPTORS).await;
    call(&harness).await;
    // From the address of the other clients and from another one; at both listeners.
    let admin = harness.admin.unwrap();
    let mut silent = Vec::new();
    for number in 0..SILENT {
        let from = if number.is_multiple_of(4) {
            [127, 0, 0, 1]
        } else {
            [127, 0, 0, 2]
        };
        let mut stream = connect(from, harness.address).await;
        if let Some(stream) = stream.as_mut().filter(|_| number.is_multiple_of(2)) {
            drop(stream.write_all(b"PRI * HT").await);
        }
        silent.extend(stream);
        if number.is_multiple_of(8) {
            silent.extend(connect(from, admin).await);
        }
    }
    // The newest of them are not closed for others at once.
    tokio::time::sleep(FRESH).await;
    let began = Instant::now();
    for _ in 0..CALLS {
        call(&harness).await;
    }
    assert!(began.elapsed() < CLOSED_WITHIN, "{:?}", began.elapsed());
    for mut stream in silent {
        let left = CLOSED_WITHIN.saturating_sub(began.elapsed());
        let mut reply = Vec::new();
        let closed = tokio::time::timeout(left, stream.read_to_end(&mut reply)).await;
        assert!(closed.is_ok(), "a silent connection is still open");
    }
    call(&harness).await;
}
