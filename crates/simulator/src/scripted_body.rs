//! A script carried out: the body of a response, and the guard that sees how it ends.
//!
//! Each piece is handed over alone and counted when the transport comes back for the next one, so
//! the record says what was given to the socket and not what was waiting in a buffer.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame as HttpFrame};
use memchr::memmem;
use tokio::time::Sleep;

use crate::answer::FILLER_WORD_BYTES;
use crate::request_log::Entry;
use crate::script::{Filler, GAP, Piece, Script, Step};
use crate::shared_state::SharedState;
use crate::tokens::count;

/// The body of a response.
pub(crate) struct ScriptedBody {
    script: Script,
    /// Pieces of the current unit.
    ready: VecDeque<Piece>,
    /// What the piece in flight means.
    in_flight: Option<Piece>,
    sleep: Option<Pin<Box<Sleep>>>,
    must_pause: bool,
    must_yield: bool,
    watch: Option<BodyWatch>,
}

/// The connection is to be cut in the middle of a body.
#[derive(Debug)]
pub(crate) struct Abort;

/// Sees a request to its end, whatever that is: dropped while it is open, the client has left.
pub(crate) struct BodyWatch {
    state: Arc<SharedState>,
    entry: Arc<Entry>,
    is_open: bool,
}

/// A response of a simulated vendor.
pub(crate) type VendorResponse = Response<ScriptedBody>;
/// A response, or the connection is closed without one.
pub(crate) type VendorResult = Result<VendorResponse, Abort>;

/// Longest time a connection is left hanging.
pub(crate) const MAX_HANG: Duration = Duration::from_secs(3600);

/// Most bytes handed over at one time.
const MAX_PIECE_BYTES: usize = 16 * 1024;

/// Filler: a power of two of words, so that pieces are whole words.
static FILLER: &[u8; MAX_PIECE_BYTES] = &filler();

// === impl ScriptedBody ===

impl ScriptedBody {
    pub(crate) fn new(script: Script, watch: Option<BodyWatch>) -> Self {
        Self {
            script,
            ready: VecDeque::new(),
            in_flight: None,
            sleep: None,
            must_pause: false,
            must_yield: false,
            watch,
        }
    }

    /// Writes down what was handed over last.
    fn account(&mut self) {
        let Some(piece) = self.in_flight.take() else {
            return;
        };
        let Some(watch) = &self.watch else {
            return;
        };
        if piece.tokens == 0 && piece.reports.is_none() {
            return;
        }
        watch.entry.note(|record| {
            record.completion_tokens = record.completion_tokens.saturating_add(piece.tokens);
            record.told_usage = piece.reports.or(record.told_usage);
        });
    }

    fn has_nothing_left(&self) -> bool {
        self.ready.is_empty() && self.script.steps.is_empty()
    }

    fn end(&mut self) {
        let is_complete = self.script.is_complete;
        if let Some(watch) = &mut self.watch {
            watch.end(is_complete);
        }
    }

    /// Queues a unit, cut as the script says, or else so that a large one is not taken in one
    /// bite by the transport's buffer. The last piece carries the meaning; filler comes in its gap.
    fn queue(&mut self, mut piece: Piece) {
        if let Some(filler) = piece.filler.take()
            && let Some(gap) = memmem::rfind(&piece.bytes, GAP.as_bytes())
        {
            let before = piece.bytes.split_to(gap);
            piece.bytes = piece.bytes.split_off(GAP.len());
            self.script.steps.push_front(Step::Send(piece));
            self.script.steps.push_front(Step::Filler(filler));
            piece = Piece::new(before);
        }
        let size = self.script.split.unwrap_or(MAX_PIECE_BYTES);
        while piece.bytes.len() > size {
            self.ready.push_back(Piece::new(piece.bytes.split_to(size)));
        }
        self.ready.push_back(piece);
    }

    /// Carries out one step. `None` is the end, an error the cut.
    fn step(&mut self) -> Option<Result<(), Abort>> {
        match self.script.steps.pop_front()? {
            Step::Send(piece) => self.queue(piece),
            Step::Filler(Filler { words: 0, .. }) => {}
            Step::Filler(Filler { words, counts }) => {
                let most = count(FILLER.len()) / FILLER_WORD_BYTES;
                let now = words.min(most);
                let length = usize::try_from(now.saturating_mul(FILLER_WORD_BYTES));
                let bytes = Bytes::from_static(FILLER).slice(..length.unwrap_or_default());
                let tokens = if counts { now } else { 0 };
                self.ready.push_back(Piece::new(bytes).worth(tokens));
                let words = words.saturating_sub(now);
                let rest = Filler { words, counts };
                self.script.steps.push_front(Step::Filler(rest));
            }
            Step::More(later) => {
                if let Some((step, rest)) = later.take() {
                    if let Some(rest) = rest {
                        self.script.steps.push_front(Step::More(Box::new(rest)));
                    }
                    self.script.steps.push_front(step);
                }
            }
            Step::Hang => {
                self.sleep = Some(Box::pin(tokio::time::sleep(MAX_HANG)));
                self.script.steps.push_front(Step::Abort);
            }
            Step::Abort => {
                self.script.steps.clear();
                self.end();
                return Some(Err(Abort));
            }
        }
        Some(Ok(()))
    }

    /// Whether a pause is due before the next unit; it is started if so.
    fn starts_pause(&mut self) -> bool {
        if !self.must_pause || self.script.pause_millis == 0 || self.script.steps.is_empty() {
            return false;
        }
        self.must_pause = false;
        let pause = Duration::from_millis(self.script.pause_millis);
        self.sleep = Some(Box::pin(tokio::time::sleep(pause)));
        true
    }
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = Abort;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<HttpFrame<Bytes>, Abort>>> {
        let this = &mut *self;
        if this.must_yield {
            // The transport flushes when there is nothing to take, and only then.
            this.must_yield = false;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        this.account();
        loop {
            if let Some(sleep) = &mut this.sleep {
                if sleep.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                this.sleep = None;
            }
            if let Some(piece) = this.ready.pop_front() {
                let bytes = piece.bytes.clone();
                this.in_flight = Some(piece);
                this.must_yield = true;
                this.must_pause |= this.ready.is_empty();
                return Poll::Ready(Some(Ok(HttpFrame::data(bytes))));
            }
            if this.starts_pause() {
                continue;
            }
            match this.step() {
                Some(Ok(())) => {}
                Some(Err(cut)) => return Poll::Ready(Some(Err(cut))),
                None => {
                    this.end();
                    return Poll::Ready(None);
                }
            }
        }
    }
}

impl Drop for ScriptedBody {
    fn drop(&mut self) {
        // A body of known length is dropped by the transport as soon as its last byte is taken.
        if self.has_nothing_left() {
            self.account();
            self.end();
        }
    }
}

// === impl BodyWatch ===

impl BodyWatch {
    pub(crate) fn new(state: Arc<SharedState>, entry: Arc<Entry>) -> Self {
        Self {
            state,
            entry,
            is_open: true,
        }
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The request came to an end that we chose.
    pub(crate) fn end(&mut self, is_complete: bool) {
        if self.is_open {
            self.is_open = false;
            self.entry.note(|record| record.finished = is_complete);
        }
    }
}

impl Drop for BodyWatch {
    fn drop(&mut self) {
        // When the simulator stops, it is not the client who left.
        if self.is_open && !self.state.is_closing.load(Ordering::Acquire) {
            self.entry.note(|record| record.client_left = true);
        }
    }
}

// === impl Abort ===

impl fmt::Display for Abort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the connection is cut on purpose")
    }
}

impl Error for Abort {}

const fn filler() -> [u8; MAX_PIECE_BYTES] {
    let mut bytes = [b' '; MAX_PIECE_BYTES];
    let mut rest: &mut [u8] = &mut bytes;
    while let [first, second, third, _space, tail @ ..] = rest {
        *first = b's';
        *second = b'i';
        *third = b'm';
        rest = tail;
    }
    bytes
}
