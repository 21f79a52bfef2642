//! A WebSocket relay that does nothing but relay, to compare the gateway with: two sockets, each frame as it comes. It
//! has a thread of its own, whose time the kernel counts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::UPSTREAM_MODEL;

pub(super) struct BareRelay {
    pub(super) address: SocketAddr,
    /// Where the kernel tells about its thread.
    stat: PathBuf,
}

impl BareRelay {
    /// A relay to a server; it lives as long as the process.
    pub(super) fn to(server: SocketAddr) -> Self {
        let (tell, received) = mpsc::sync_channel(1);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let thread = std::fs::read_link("/proc/thread-self").unwrap();
                let relay = Self {
                    address: listener.local_addr().unwrap(),
                    stat: PathBuf::from("/proc").join(thread).join("stat"),
                };
                tell.send(relay).unwrap();
                let mut open = JoinSet::new();
                while let Ok((client, _)) = listener.accept().await {
                    open.spawn(relays(client, server));
                }
            });
        });
        received.recv().unwrap()
    }

    /// What its thread has used, in the kernel's ticks.
    pub(super) fn ticks(&self) -> u64 {
        ticks(&self.stat)
    }
}

/// User and system time of a process or a thread, in the kernel's ticks.
pub(super) fn ticks(stat: &std::path::Path) -> u64 {
    let text = String::from_utf8(std::fs::read(stat).unwrap()).unwrap();
    // The name in brackets may have spaces.
    let (_, behind) = text.rsplit_once(')').unwrap();
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let time = |index: usize| fields[index].parse::<u64>().unwrap();
    time(11) + time(12)
}

async fn relays(client: TcpStream, server: SocketAddr) {
    drop(client.set_nodelay(true));
    let Ok(client) = tokio_tungstenite::accept_async(client).await else {
        return;
    };
    let path = format!("/v1/realtime?model={UPSTREAM_MODEL}");
    let mut request = format!("ws://{server}{path}")
        .into_client_request()
        .unwrap();
    let bearer = "Bearer sk-simulator".parse().unwrap();
    request.headers_mut().insert("authorization", bearer);
    let stream = TcpStream::connect(server).await.unwrap();
    drop(stream.set_nodelay(true));
    let Ok((server, _)) = tokio_tungstenite::client_async(request, stream).await else {
        return;
    };
    let (mut to_client, mut from_client) = client.split();
    let (mut to_server, mut from_server) = server.split();
    let up = async {
        while let Some(Ok(message)) = from_client.next().await {
            if to_server.send(message).await.is_err() {
                return;
            }
        }
    };
    let down = async {
        while let Some(Ok(message)) = from_server.next().await {
            if to_client.send(message).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}
