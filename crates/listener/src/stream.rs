//! A client's connection as a stream of bytes: a write that makes no progress fails, and what is read is
//! checked for its framing.

use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use crate::request_framing::{Refused, RequestFraming};
use crate::requests::Requests;

/// No request contains it in its head, so that the parser behind answers 400. That looks at a head that came
/// in pieces only when it sees an end of it.
const NEVER_GOOD: &[u8] = b"\0\n\n";
/// Bytes of a refused request that are still read, how long, and the longest silence in between.
const LINGER_BYTES: usize = 64_000_000;
const LINGER_FOR: Duration = Duration::from_secs(30);
const LINGER_IDLE: Duration = Duration::from_secs(5);
const LINGER_PIECE: usize = 65_536;

/// A socket. Others may look at it while it is used.
pub(crate) struct ClientStream {
    socket: Arc<TcpStream>,
    /// A peer that takes nothing for so long has gone.
    reader_wait: Duration,
    blocked: Option<Pin<Box<Sleep>>>,
}

/// What is read of a connection, checked.
pub(crate) struct FramedStream<S> {
    stream: S,
    framing: RequestFraming,
    /// What is left to be read instead of a request that was refused.
    refusal: Option<&'static [u8]>,
    requests: Arc<Requests>,
}

// === impl ClientStream ===

impl ClientStream {
    pub(crate) const fn new(socket: Arc<TcpStream>, reader_wait: Duration) -> Self {
        Self {
            socket,
            reader_wait,
            blocked: None,
        }
    }

    /// The peer takes nothing now; an error when that has lasted too long.
    fn poll_blocked(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let wait = self.reader_wait;
        let blocked = self
            .blocked
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
        ready!(blocked.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        send: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.socket.poll_write_ready(context) {
                Poll::Ready(ready) => ready?,
                Poll::Pending => return self.poll_blocked(context),
            }
            match send(&self.socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => {
                    self.blocked = None;
                    return Poll::Ready(done);
                }
            }
        }
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.socket.poll_read_ready(context))?;
            // Into memory as it is: clearing the rest of a large buffer would cost more than most reads.
            match self.socket.try_read_buf(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.map(drop)),
            }
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(context, |socket| socket.try_write(bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(context, |socket| socket.try_write_vectored(pieces))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Tokio closes a half only for its sole owner, and others look at the socket.
        Poll::Ready(SockRef::from(self.socket.as_ref()).shutdown(Shutdown::Write))
    }
}

/// Reads what a client still sends, for a while: a socket that is closed with bytes unread is reset, and a
/// client that is still sending then reads no response.
pub(crate) async fn linger(socket: &TcpStream) {
    // After the last byte of the response, also where the connection ended in an error.
    drop(SockRef::from(socket).shutdown(Shutdown::Write));
    let mut piece = vec![0; LINGER_PIECE];
    let rest = async {
        let mut left = LINGER_BYTES;
        while left > 0 {
            let readable = tokio::time::timeout(LINGER_IDLE, socket.readable()).await;
            if !matches!(readable, Ok(Ok(()))) {
                return;
            }
            match socket.try_read(&mut piece) {
                Ok(0) => return,
                Ok(read) => left = left.saturating_sub(read),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    };
    // A client that sends longer is cut off.
    let _in_time: Result<(), tokio::time::error::Elapsed> =
        tokio::time::timeout(LINGER_FOR, rest).await;
}

// === impl FramedStream ===

impl<S> FramedStream<S> {
    pub(crate) fn new(stream: S, requests: Arc<Requests>) -> Self {
        Self {
            stream,
            framing: RequestFraming::default(),
            refusal: None,
            requests,
        }
    }

    /// Checks what was read behind this offset, and cuts it off where it is bad.
    fn check(&mut self, buffer: &mut ReadBuf<'_>, from: usize) {
        if self.requests.is_upgraded() {
            return;
        }
        let new = buffer.filled().get(from..).unwrap_or_default();
        let read = self.framing.read(new);
        let is_sending = read.is_err() || self.framing.is_in_body();
        self.requests
            .is_sending
            .store(is_sending, Ordering::Relaxed);
        if let Err(Refused(offset)) = read {
            buffer.set_filled(from.saturating_add(offset));
            self.refusal = Some(NEVER_GOOD);
            self.refuse(buffer);
        }
    }

    /// What fits of the refusal; nothing more, which is the end, behind it.
    fn refuse(&mut self, buffer: &mut ReadBuf<'_>) {
        let rest = self.refusal.unwrap_or_default();
        let fits = rest.len().min(buffer.remaining());
        let (now, later) = rest.split_at_checked(fits).unwrap_or_default();
        buffer.put_slice(now);
        self.refusal = Some(later);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FramedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.refusal.is_some() {
            self.refuse(buffer);
            return Poll::Ready(Ok(()));
        }
        let from = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.check(buffer, from);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FramedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
