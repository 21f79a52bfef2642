//! A watch on a connection's socket from outside: whether the peer is still connected.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Weak;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::TcpStream;

/// How long a peer that has closed its half has to show that it has closed both.
const HALF_WAIT: Duration = Duration::from_millis(250);
const HALF_LOOK: Duration = Duration::from_millis(10);
/// Between two checks of a peer that waits for a slow answer.
const GONE_LOOK: Duration = Duration::from_millis(250);

/// A look at a socket. It keeps nothing open.
#[derive(Debug, Clone)]
pub struct PeerWatch(Weak<TcpStream>);

/// The other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peer {
    There,
    /// It says nothing more; it may still listen, or have left.
    Silent,
    Gone,
}

// === impl PeerWatch ===

impl PeerWatch {
    pub(crate) const fn new(socket: Weak<TcpStream>) -> Self {
        Self(socket)
    }

    /// Whether the peer has disconnected, as far as is known now.
    pub fn is_gone(&self) -> bool {
        self.peer() == Peer::Gone
    }

    /// Whether the peer has closed nothing, as far as is known now.
    pub fn is_there(&self) -> bool {
        self.peer() == Peer::There
    }

    /// Waits until a reset shows that the peer has disconnected. The server does not check a connection
    /// while it waits for its answer, since a peer that has closed its half is still served.
    pub async fn gone(&self) {
        // Not at once: most answers are there before the first look.
        loop {
            tokio::time::sleep(GONE_LOOK).await;
            if self.is_gone() {
                return;
            }
        }
    }

    /// Whether the peer has disconnected. A half-closed peer is told apart from one that has left by what
    /// comes back when something was sent: the head of the answer must be on its way.
    pub async fn has_left(&self) -> bool {
        let waited = tokio::time::timeout(HALF_WAIT, async {
            loop {
                match self.peer() {
                    Peer::There => return false,
                    Peer::Gone => return true,
                    Peer::Silent => tokio::time::sleep(HALF_LOOK).await,
                }
            }
        });
        waited.await.unwrap_or(false)
    }

    fn peer(&self) -> Peer {
        let Some(stream) = self.0.upgrade() else {
            return Peer::Gone;
        };
        let ready = pin!(stream.ready(Interest::READABLE | Interest::WRITABLE));
        match ready.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(ready)) if ready.is_write_closed() => Peer::Gone,
            Poll::Ready(Ok(ready)) if ready.is_read_closed() => Peer::Silent,
            Poll::Ready(Ok(_)) | Poll::Pending => Peer::There,
            Poll::Ready(Err(_)) => Peer::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Shutdown;
    use std::sync::Arc;

    use socket2::SockRef;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Our end of a connection.
    struct Line(Arc<TcpStream>);

    impl Line {
        fn watch(&self) -> PeerWatch {
            PeerWatch::new(Arc::downgrade(&self.0))
        }

        async fn send(&self, bytes: &[u8]) {
            self.0.writable().await.unwrap();
            assert_eq!(self.0.try_write(bytes).unwrap(), bytes.len());
        }
    }

    async fn pair() -> (Line, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (theirs, ours) = tokio::join!(TcpStream::connect(address), listener.accept());
        (Line(Arc::new(ours.unwrap().0)), theirs.unwrap())
    }

    #[tokio::test]
    async fn a_connected_peer_is_told_from_a_disconnected_one() {
        let (line, mut theirs) = pair().await;
        let watch = line.watch();
        assert!(!watch.is_gone() && watch.is_there());
        assert!(!watch.has_left().await);
        line.send(b"hello").await;
        let mut received = [0; 5];
        theirs.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"hello");
        drop(theirs);
        tokio::time::sleep(Duration::from_millis(50)).await;
        // Nothing was sent since, so the reset cannot be seen.
        assert!(!watch.is_gone() && !watch.is_there());
        line.send(b"a head").await;
        assert!(watch.has_left().await);
        assert!(watch.is_gone());
    }

    #[tokio::test]
    async fn a_reset_is_seen_without_a_word_sent_and_a_closed_half_is_none() {
        let (line, theirs) = pair().await;
        let watch = line.watch();
        assert!(
            tokio::time::timeout(GONE_LOOK * 2, watch.gone())
                .await
                .is_err()
        );
        theirs.set_zero_linger().unwrap();
        drop(theirs);
        assert!(
            tokio::time::timeout(GONE_LOOK * 8, watch.gone())
                .await
                .is_ok()
        );
        let (line, mut theirs) = pair().await;
        theirs.shutdown().await.unwrap();
        let watch = line.watch();
        assert!(
            tokio::time::timeout(GONE_LOOK * 2, watch.gone())
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn a_half_closed_peer_is_still_connected() {
        let (line, mut theirs) = pair().await;
        let watch = line.watch();
        theirs.shutdown().await.unwrap();
        line.send(b"a head").await;
        assert!(!watch.has_left().await);
        line.send(b" and a body").await;
        SockRef::from(line.0.as_ref())
            .shutdown(Shutdown::Write)
            .unwrap();
        let mut received = Vec::new();
        theirs.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, b"a head and a body");
    }

    #[tokio::test]
    async fn a_look_keeps_no_connection_open() {
        let (line, mut theirs) = pair().await;
        let watch = line.watch();
        drop(line);
        let mut received = Vec::new();
        assert_eq!(theirs.read_to_end(&mut received).await.unwrap(), 0);
        assert!(watch.is_gone());
    }
}
