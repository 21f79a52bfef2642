//! Audio on its way to the client, piece by piece; the last one is kept back until its charge is written.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use trunkline_ledger::Outcome;
use trunkline_probe::StreamMeter;
use trunkline_upstream::BodyError;

use super::speech_stream::{SpeechError, SpeechStream};
use crate::delivery::hand_over;
use crate::idempotency::StoredResponse;
use crate::request_context::RequestContext;
use crate::response::{AckedChunk, FilePiece};
use crate::services::Services;

/// Audio whose last piece waits for its charge.
pub(crate) struct SpeechRelayed {
    pub(super) pieces: mpsc::Sender<FilePiece>,
    pub(super) stored: Option<StoredResponse>,
    /// The client has its first byte.
    pub(super) is_served: bool,
    /// The client has gone, or takes nothing.
    pub(super) gone: bool,
    pub(super) last: Bytes,
    pub(super) meter: StreamMeter,
}

/// How a stream of audio ended.
pub(super) enum End {
    Done,
    ClientGone,
    Failed(Outcome),
}

// === impl SpeechRelayed ===

impl SpeechRelayed {
    /// Passes audio on, and keeps its last piece back.
    pub(super) async fn pass_on(
        &mut self,
        services: &Services,
        context: &RequestContext,
        mut stream: SpeechStream,
    ) -> End {
        let wait = services.settings.accept.reader_wait;
        self.meter.push(&self.last);
        loop {
            let outlives = self.outlives();
            let next = tokio::select! {
                next = stream.next(services) => next,
                () = self.pieces.closed(), if !outlives => {
                    self.gone = true;
                    return End::ClientGone;
                }
            };
            let piece = match next {
                Ok(None) => return End::Done,
                Ok(Some(piece)) => piece,
                Err(SpeechError::Body(BodyError::Stalled)) => {
                    return End::Failed(Outcome::UpstreamTimeout);
                }
                Err(
                    SpeechError::Body(BodyError::Broken(_) | BodyError::TooLarge(_))
                    | SpeechError::Vendor(_)
                    | SpeechError::Unsent(_),
                ) => return End::Failed(Outcome::UpstreamFailed),
            };
            self.meter.push(&piece);
            let before = std::mem::replace(&mut self.last, piece);
            if !self.pass(context, before, wait).await {
                return End::ClientGone;
            }
        }
    }

    /// Gives the client a piece. False when it has gone and nothing is stored.
    async fn pass(&mut self, context: &RequestContext, piece: Bytes, wait: Duration) -> bool {
        self.stored.iter_mut().for_each(|stored| stored.add(&piece));
        if self.gone {
            return self.outlives();
        }
        self.send(context, piece, wait).await || self.outlives()
    }

    /// Gives the client a piece; the first one must be taken. False when it has gone.
    pub(super) async fn send(
        &mut self,
        context: &RequestContext,
        piece: Bytes,
        wait: Duration,
    ) -> bool {
        let bytes = u64::try_from(piece.len()).unwrap_or(0);
        let sent = if self.is_served {
            let piece = FilePiece::Bytes(piece);
            self.pieces.send_timeout(piece, wait).await.is_ok()
        } else {
            let (taken, receipt) = oneshot::channel();
            let first = FilePiece::Acked(AckedChunk {
                bytes: piece,
                taken,
            });
            hand_over(&self.pieces, first, receipt, &context.watch, wait).await
        };
        self.is_served |= sent;
        self.gone = !sent;
        context.sent(if sent { bytes } else { 0 });
        sent
    }

    /// Whether the audio is made to its end without a client: all of it is stored so far.
    fn outlives(&self) -> bool {
        self.stored.as_ref().is_some_and(StoredResponse::is_whole)
    }
}
