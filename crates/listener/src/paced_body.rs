//! A response's body in pieces, and whether its reader takes them.
//!
//! The HTTP/2 server takes a piece before the peer's window has capacity for it, and is done with a
//! stream when it has taken the last one. So pieces are small, and the last byte of a large one is a piece
//! of its own: it is asked for when all before it fits the window. Until then the stream is watched, and
//! what it keeps in memory can be dropped.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

use crate::connections::RequestEntry;

/// Bytes of a piece at most.
const PIECE_BYTES: usize = 65_536;
/// A smaller piece is given whole.
const SMALL_BYTES: usize = 4_096;

/// Whether a response waits for its reader, and since when.
#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<Option<Instant>>);

pub(crate) struct PacedBody<B> {
    body: Pin<Box<B>>,
    /// The rest of a frame that is given in pieces.
    rest: Bytes,
    /// None over HTTP/1, where a reader is watched by the socket.
    progress: Option<Arc<Progress>>,
    /// The request is in progress as long as its response.
    _request: RequestEntry,
}

// === impl Progress ===

impl Progress {
    fn set(&self, since: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn since(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a piece has not been taken for this long.
    pub(crate) async fn is_stalled(&self, wait: Duration) {
        loop {
            let waited = self.since().map(|since| since.elapsed());
            let left = wait.saturating_sub(waited.unwrap_or_default());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }
}

// === impl PacedBody ===

impl<B> PacedBody<B> {
    pub(crate) fn new(body: B, progress: Option<Arc<Progress>>, request: RequestEntry) -> Self {
        let body = Self {
            body: Box::pin(body),
            rest: Bytes::new(),
            progress,
            _request: request,
        };
        // The first piece too is asked for only when the reader has opened its window.
        body.waits(Some(Instant::now()));
        body
    }

    fn waits(&self, since: Option<Instant>) {
        if let Some(progress) = &self.progress {
            progress.set(since);
        }
    }

    /// The next piece of a frame.
    fn piece(&mut self) -> Bytes {
        let length = self.rest.len();
        let piece = if length <= SMALL_BYTES {
            length
        } else {
            PIECE_BYTES.min(length.saturating_sub(1))
        };
        self.rest.split_to(piece)
    }
}

impl<B: Body<Data = Bytes>> Body for PacedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.rest.is_empty() {
            match self.body.as_mut().poll_frame(context) {
                Poll::Pending => {
                    self.waits(None);
                    return Poll::Pending;
                }
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                ended @ Poll::Ready(Some(Err(_)) | None) => {
                    self.waits(None);
                    return ended;
                }
            }
        }
        let piece = self.piece();
        self.waits(Some(Instant::now()));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = u64::try_from(self.rest.len()).unwrap_or(u64::MAX);
        let inner = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(rest));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}
