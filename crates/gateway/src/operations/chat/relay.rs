//! The way of a stream to its reader: pieces are gathered while there are some, sent in one write,
//! and followed by the terminal frame.

use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep_until};
use trunkline_ledger::Outcome;
use trunkline_types::{Money, RequestId};
use trunkline_upstream::{BodyError, IdleDeadline, UpstreamResponse};
use trunkline_wire::canonical::ReportedUsage;
use trunkline_wire::gemini::ArrayFrames;
use trunkline_wire::{Cost, Frame, Frames, StreamEnd, error_frame};

use super::execution::failure_of;
use super::sold_tools::tool_costs;
use super::stream_adapter::StreamAdapter;
use crate::error::{ApiError, ErrorCode};
use crate::idempotency::StoredResponse;
use crate::priced_call::Price;
use crate::request_context::RequestContext;

/// A sign of life while the upstream thinks.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Why the reading of a stream ended.
pub(super) enum End {
    /// The upstream said that it was done, or at least why it stopped.
    Done,
    /// The money did not reach further.
    Exhausted,
    ClientGone,
    Failed(ErrorCode, Outcome),
    /// The ledger cannot be reached.
    Unavailable,
}

/// The way to the reader, and what is kept for the end.
pub(crate) struct Relay {
    /// None for a whole answer that is assembled first.
    pub(super) pieces: Option<mpsc::Sender<Bytes>>,
    pub(super) context: Arc<RequestContext>,
    pub(super) reader_wait: Duration,
    pub(super) follow: StreamAdapter,
    pub(super) request: RequestId,
    /// Gemini: what goes out is one list, and not events.
    pub(super) list: Option<ArrayFrames>,
    /// Pieces that go out together, and their bytes.
    pub(super) gathered: Vec<Bytes>,
    pub(super) gathered_bytes: usize,
    pub(super) patience: IdleTimer,
    /// The beginning of what went out, and its longest length: what the guardrail is shown.
    pub(super) excerpt: Vec<u8>,
    pub(super) excerpt_most: usize,
    /// What is kept of it for when its call comes again.
    pub(super) record: Option<StoredResponse>,
    /// The reader has gone, or takes nothing.
    pub(super) gone: bool,
    /// It is read to its end though its reader leaves.
    pub(super) finishes: bool,
    /// Output tokens by a fair guess, where the money ended and the operator bears no more of what is not told.
    pub(super) fair_output: Option<u64>,
    /// How the stream ends, once that is metered.
    pub(super) ending: Option<StreamEnd>,
    /// Its last bytes, where they were stored before the charge.
    pub(super) last: Option<Bytes>,
}

/// What a silence asks for.
pub(super) enum IdleEvent {
    Heartbeat,
    Overdue,
}

/// The one clock of a stream: to set and unset one for each event costs as much as to read the event.
pub(super) struct IdleTimer {
    overdue: IdleDeadline,
    received_at: Instant,
    spoken: Instant,
    alarm: Pin<Box<Sleep>>,
}

// === impl IdleTimer ===

impl IdleTimer {
    pub(super) fn with(answer: &UpstreamResponse) -> Self {
        let now = Instant::now();
        let mut patience = Self {
            overdue: answer.idle_deadline(),
            received_at: now,
            spoken: now,
            alarm: Box::pin(sleep_until(now)),
        };
        patience.set();
        patience
    }

    /// The upstream has said something. The alarm stays where it is and looks again when it rings.
    pub(super) fn hear(&mut self) {
        self.received_at = Instant::now();
        self.spoken = self.received_at;
    }

    /// Waits until a silence is too long. May be dropped at any time.
    pub(super) async fn end(&mut self) -> IdleEvent {
        loop {
            self.alarm.as_mut().await;
            let now = Instant::now();
            if now >= self.overdue.at(self.received_at) {
                return IdleEvent::Overdue;
            }
            let silent = now.saturating_duration_since(self.spoken) >= HEARTBEAT;
            if silent {
                self.spoken = now;
            }
            self.set();
            if silent {
                return IdleEvent::Heartbeat;
            }
        }
    }

    fn set(&mut self) {
        let overdue = self.overdue.at(self.received_at);
        let next = self.spoken.checked_add(HEARTBEAT);
        self.alarm
            .as_mut()
            .reset(next.map_or(overdue, |next| next.min(overdue)));
    }
}

// === impl Relay ===

impl Relay {
    /// Keeps bytes for the next flush.
    pub(super) fn gather(&mut self, bytes: Bytes) {
        self.gathered_bytes = self.gathered_bytes.saturating_add(bytes.len());
        let capacity = self.excerpt_most.saturating_sub(self.excerpt.len());
        let beginning = bytes.get(..capacity).unwrap_or(&bytes);
        self.excerpt.extend_from_slice(beginning);
        self.gathered.push(bytes);
    }

    /// Sends what was gathered, in one piece. False as [`Relay::send`].
    pub(super) async fn flush(&mut self) -> bool {
        let bytes = match self.gathered.as_slice() {
            [] => return true,
            [only] => only.clone(),
            more => Bytes::from(more.concat()),
        };
        self.gathered.clear();
        self.gathered_bytes = 0;
        self.send(bytes).await
    }

    /// Nothing more comes: sends what was gathered. The end is another one if the client does not take it.
    pub(super) async fn end(&mut self, end: End) -> End {
        let taken = self.flush().await;
        match end {
            End::Done | End::Exhausted if !taken => End::ClientGone,
            End::Done | End::Exhausted | End::ClientGone | End::Failed(..) | End::Unavailable => {
                end
            }
        }
    }

    /// False when the reader has gone, or takes nothing for too long.
    pub(super) async fn send(&mut self, bytes: Bytes) -> bool {
        let bytes = match &mut self.list {
            None => bytes,
            Some(list) => {
                let mut members = Vec::new();
                list.write(&bytes, &mut members);
                Bytes::from(members)
            }
        };
        self.write(bytes).await
    }

    /// The end of a list, where there is one.
    async fn close(&mut self) {
        if let Some(list) = &mut self.list {
            let mut end = Vec::new();
            list.finish(&mut end);
            self.write(Bytes::from(end)).await;
        }
    }

    async fn write(&mut self, bytes: Bytes) -> bool {
        if bytes.is_empty() {
            return true;
        }
        self.record.iter_mut().for_each(|record| record.add(&bytes));
        self.pass(bytes).await
    }

    /// Gives bytes to the reader. A stream that is kept or finished goes on without one.
    pub(super) async fn pass(&mut self, bytes: Bytes) -> bool {
        let Some(pieces) = &self.pieces else {
            return true;
        };
        if self.gone {
            return self.outlives();
        }
        let length = u64::try_from(bytes.len()).unwrap_or(0);
        let sent = pieces.send_timeout(bytes, self.reader_wait).await;
        if sent.is_ok() {
            self.context.sent(length);
            return true;
        }
        self.gone = true;
        self.outlives()
    }

    /// Whether it goes on though its reader leaves: it is to be finished, or all of it is kept so far.
    pub(super) fn outlives(&self) -> bool {
        self.finishes || self.record.as_ref().is_some_and(StoredResponse::is_whole)
    }

    /// The format's own error, then the end.
    pub(super) async fn abort_with_error(&mut self, error: &ApiError) {
        self.context.failed(error);
        let body = error.error_body(self.request, self.context.error_pages());
        let frame = error_frame(self.follow.caller(), &body);
        self.send(Bytes::from(frame)).await;
        self.close().await;
    }

    /// What the stream came to.
    pub(super) fn ends_with(
        &mut self,
        counted: ReportedUsage,
        price: &Price,
        saving: Option<Money>,
        outcome: Outcome,
        wants_usage: bool,
    ) {
        self.ending = Some(StreamEnd {
            reported: counted,
            cost: Cost {
                total: price.amount,
                tier: price.tier.clone(),
                units: price.units.clone(),
                cache_saving: saving,
                tools: tool_costs(&price.tools),
            },
            exhausted: outcome == Outcome::BalanceExhausted,
            wants_usage,
        });
    }

    /// The stream as it is stored, its last bytes included: the client gets them when the charge is
    /// written.
    pub(super) fn stored(&mut self, amount: Money) -> Option<StoredResponse> {
        let mut stored = self.record.take()?;
        if let Some(mut ending) = self.ending.take() {
            ending.cost.total = amount;
            let last = self.terminal_bytes(&ending);
            stored.add(&last);
            self.last = Some(last);
        }
        Some(stored)
    }

    /// Everything after the last piece, now that the charge is written.
    pub(super) async fn finish(&mut self, charged: Money) {
        let last = match (self.last.take(), self.ending.take()) {
            (Some(last), _) => last,
            (None, Some(mut ending)) => {
                ending.cost.total = charged;
                self.terminal_bytes(&ending)
            }
            (None, None) => return,
        };
        self.pass(last).await;
    }

    /// Everything after the last piece.
    fn terminal_bytes(&mut self, ending: &StreamEnd) -> Bytes {
        let last = self.follow.write_end(ending);
        let Some(list) = &mut self.list else {
            return Bytes::from(last);
        };
        let mut end = Vec::new();
        list.write(&last, &mut end);
        list.finish(&mut end);
        Bytes::from(end)
    }
}

/// Waits until a reader leaves. An answer that is assembled has none here.
pub(super) async fn reader_gone(pieces: Option<&mpsc::Sender<Bytes>>) {
    match pieces {
        Some(pieces) => pieces.closed().await,
        None => pending().await,
    }
}

pub(crate) async fn next_frame(
    answer: &mut UpstreamResponse,
    frames: &mut Frames,
) -> Result<Option<Frame>, BodyError> {
    loop {
        match frames.take() {
            Ok(Some(frame)) => return Ok(Some(frame)),
            Ok(None) => {}
            Err(error) => return Err(BodyError::Broken(error.to_string())),
        }
        match answer.next_piece().await? {
            Some(piece) => frames.push(&piece),
            None => return Ok(std::mem::take(frames).rest()),
        }
    }
}

/// A frame that is there already, or comes while every other task has had a turn; none if not.
pub(super) async fn ready_frame(
    answer: &mut UpstreamResponse,
    frames: &mut Frames,
) -> Option<Result<Option<Frame>, BodyError>> {
    let mut waited = false;
    loop {
        match frames.take() {
            Ok(Some(frame)) => return Some(Ok(Some(frame))),
            Ok(None) => {}
            Err(error) => return Some(Err(BodyError::Broken(error.to_string()))),
        }
        match poll_fn(|context| Poll::Ready(answer.poll_piece(context))).await {
            Poll::Ready(Ok(Some(piece))) => frames.push(&piece),
            Poll::Ready(Ok(None)) => return Some(Ok(std::mem::take(frames).rest())),
            Poll::Ready(Err(error)) => return Some(Err(error)),
            Poll::Pending if waited => return None,
            Poll::Pending => {
                waited = true;
                tokio::task::yield_now().await;
            }
        }
    }
}

pub(super) fn end_of(error: &BodyError) -> End {
    let (kind, outcome) = failure_of(error);
    End::Failed(kind, outcome)
}
