//! Request bodies: bytes in memory, or a stream that is read while it is sent.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

/// The body of a call.
#[derive(Debug)]
pub enum Payload {
    Whole(Bytes),
    /// A stream of known total length. An error or a missing byte aborts the call: the request is incomplete.
    Pieces {
        pieces: mpsc::Receiver<io::Result<Bytes>>,
        /// Bytes that are still to come.
        left: u64,
    },
}

// === impl Payload ===

impl Payload {
    /// The bytes in memory, for a signature.
    #[must_use]
    pub fn whole(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Pieces { .. } => &[],
        }
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes)
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Self::Pieces { pieces, left } => match std::task::ready!(pieces.poll_recv(context)) {
                Some(Ok(piece)) => {
                    let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
                    *left = left.saturating_sub(length);
                    Poll::Ready(Some(Ok(Frame::data(piece))))
                }
                Some(Err(error)) => Poll::Ready(Some(Err(error))),
                None if *left > 0 => {
                    *left = 0;
                    let error = io::Error::new(io::ErrorKind::UnexpectedEof, "pieces are missing");
                    Poll::Ready(Some(Err(error)))
                }
                None => Poll::Ready(None),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Pieces { left, .. } => *left == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        let left = match self {
            Self::Whole(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            Self::Pieces { left, .. } => *left,
        };
        SizeHint::with_exact(left)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn pieces_that_are_missing_break_the_call_off() {
        let (sender, pieces) = mpsc::channel(2);
        sender.send(Ok(Bytes::from_static(b"abc"))).await.unwrap();
        drop(sender);
        let whole = Payload::Pieces { pieces, left: 5 }.collect().await;
        assert_eq!(whole.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let (sender, pieces) = mpsc::channel(2);
        sender.send(Ok(Bytes::from_static(b"abc"))).await.unwrap();
        drop(sender);
        let payload = Payload::Pieces { pieces, left: 3 };
        assert_eq!(payload.size_hint().exact(), Some(3));
        assert_eq!(payload.collect().await.unwrap().to_bytes(), "abc");
        let whole = Payload::from(Bytes::from_static(b"xy"));
        assert_eq!(
            (whole.whole(), whole.size_hint().exact()),
            (&b"xy"[..], Some(2))
        );
        assert_eq!(whole.collect().await.unwrap().to_bytes(), "xy");
    }
}
