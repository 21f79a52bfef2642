//! A connection's socket, and a watch on it from outside: whether the peer is still connected.

use std::future::Future as _;
use std::io;
use std::net::Shutdown;
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// How long a peer that has closed its half has to show that it has closed both.
const HALF_WAIT: Duration = Duration::from_millis(250);
const HALF_LOOK: Duration = Duration::from_millis(10);
/// Between two checks of a peer that waits for a slow answer.
const GONE_LOOK: Duration = Duration::from_millis(250);

/// A socket that can be looked at while it is used.
pub(crate) struct WatchedStream {
    read: OwnedReadHalf,
    write: Arc<OwnedWriteHalf>,
}

/// A look at a socket. It keeps nothing open.
#[derive(Debug, Clone)]
pub struct PeerWatch(Weak<OwnedWriteHalf>);

/// The other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peer {
    There,
    /// It says nothing more; it may still listen, or have left.
    Silent,
    Gone,
}

// === impl Line ===

impl WatchedStream {
    pub(crate) fn new(stream: TcpStream) -> Self {
        let (read, write) = stream.into_split();
        Self {
            read,
            write: Arc::new(write),
        }
    }

    pub(crate) fn watch(&self) -> PeerWatch {
        PeerWatch(Arc::downgrade(&self.write))
    }

    fn stream(&self) -> &TcpStream {
        self.write.as_ref().as_ref()
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.read).poll_read(context, buffer)
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream().poll_write_ready(context))?;
            match self.stream().try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream().poll_write_ready(context))?;
            match self.stream().try_write_vectored(pieces) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Tokio closes a half only for its sole owner, and a watch may hold the socket too.
        Poll::Ready(SockRef::from(self.stream()).shutdown(Shutdown::Write))
    }
}

// === impl Watch ===

impl PeerWatch {
    /// Whether the peer has disconnected, as far as is known now.
    pub fn is_gone(&self) -> bool {
        self.peer() == Peer::Gone
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
        let Some(write) = self.0.upgrade() else {
            return Peer::Gone;
        };
        let stream: &TcpStream = write.as_ref().as_ref();
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
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (WatchedStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (theirs, ours) = tokio::join!(TcpStream::connect(address), listener.accept());
        (WatchedStream::new(ours.unwrap().0), theirs.unwrap())
    }

    #[tokio::test]
    async fn a_connected_peer_is_told_from_a_disconnected_one() {
        let (mut line, mut theirs) = pair().await;
        let watch = line.watch();
        assert!(!watch.is_gone());
        assert!(!watch.has_left().await);
        line.write_all(b"hello").await.unwrap();
        let mut received = [0; 5];
        theirs.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"hello");
        drop(theirs);
        tokio::time::sleep(Duration::from_millis(50)).await;
        // Nothing was sent since, so the reset cannot be seen.
        assert!(!watch.is_gone());
        line.write_all(b"a head").await.unwrap();
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
        let (mut line, mut theirs) = pair().await;
        let watch = line.watch();
        theirs.shutdown().await.unwrap();
        line.write_all(b"a head").await.unwrap();
        assert!(!watch.has_left().await);
        line.write_all(b" and a body").await.unwrap();
        line.shutdown().await.unwrap();
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
