//! From an answer and a fault to a script: the head of the response and the steps that make its
//! body. Everything that can be decided is decided here; `played` only carries it out.

mod frames;
mod lazy;
mod stream;
mod whole;

use std::collections::VecDeque;
use std::fmt;
use std::iter::Peekable;

use bytes::Bytes;

use crate::answer::Answer;
use crate::fault::Fault;
use crate::refusal::Refusal;
use crate::tokens::count;

pub(crate) use frames::{Frame, GAP, GARBAGE, Renderer};
pub(crate) use lazy::{filler, streamed};
pub(crate) use stream::{FILLER_WORDS_PER_FRAME, WRONG_STREAM_LENGTH};
pub(crate) use whole::document;

/// What will be sent.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) head: Head,
    pub(crate) steps: VecDeque<Step>,
    /// Needed by frames and filler.
    pub(crate) renderer: Option<Renderer>,
    /// Pause before every unit but the first.
    pub(crate) pause_millis: u64,
    /// Abort what is sent into pieces of so many bytes.
    pub(crate) split: Option<usize>,
    /// Whether a client that got all of it got a complete answer.
    pub(crate) is_complete: bool,
}

/// Status and the headers that depend on the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) is_event_stream: bool,
    pub(crate) content_length: Option<u64>,
    pub(crate) retry_after_secs: Option<u32>,
}

/// One step of a body.
#[derive(Debug)]
pub(crate) enum Step {
    Send(Piece),
    Frame(Frame),
    /// So many filler words.
    Filler {
        words: u64,
    },
    /// Content frames of filler, `each` words in one.
    FillerFrames {
        left: u64,
        each: u64,
    },
    /// Steps that are made when their turn comes.
    More(Box<Later>),
    /// Nothing more, connection open.
    Hang,
    /// Nothing more, connection closed in the middle of the body.
    Abort,
}

/// Steps in waiting: a long stream is not held as bytes.
pub(crate) struct Later(Peekable<Box<dyn Iterator<Item = Step> + Send>>);

/// Bytes and what they mean for the record once they are handed over.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) bytes: Bytes,
    pub(crate) tokens: u64,
    pub(crate) reports: Option<(u64, u64)>,
}

// === impl Script ===

impl Script {
    /// A refusal, or any other JSON that is not an answer.
    pub(crate) fn json(status: u16, retry_after_secs: Option<u32>, body: String) -> Self {
        let head = Head {
            status,
            is_event_stream: false,
            content_length: Some(count(body.len())),
            retry_after_secs,
        };
        Self::new(head, vec![Step::Send(Piece::new(body))])
    }

    pub(crate) fn refusal(refusal: &Refusal) -> Self {
        Self::json(refusal.status, refusal.retry_after_secs, refusal.body())
    }

    /// The script of an answer. Faults that never come to an answer are not for here and change
    /// nothing.
    pub(crate) fn answer(
        answer: Answer,
        stream: bool,
        asks_usage: bool,
        pace_millis: u64,
        fault: Option<Fault>,
    ) -> Self {
        if let Some(script) = Self::error_under_ok(fault, stream) {
            return script;
        }
        let mut told = answer.usage;
        if let Some(Fault::LyingUsage { factor }) = fault {
            told = told.times(factor.into());
        }
        let renderer = Renderer {
            answer,
            asks_usage,
            told,
            cr_lf: fault == Some(Fault::CrLf),
            accents: matches!(fault, Some(Fault::SplitBytes { .. })),
        };
        let mut script = if stream {
            stream::script(&renderer, fault)
        } else {
            whole::script(&renderer, fault)
        };
        script.renderer = Some(renderer);
        script.paced(stream, pace_millis, fault)
    }

    /// Sets the pauses and the size of the pieces.
    pub(crate) fn paced(mut self, stream: bool, pace_millis: u64, fault: Option<Fault>) -> Self {
        if stream {
            self.pause_millis = pace_millis;
        }
        if let Some(Fault::SlowDrip { millis }) = fault {
            self.pause_millis = pace_millis.max(millis.into());
        }
        if let Some(Fault::SplitBytes { chunk }) = fault {
            self.split = Some(usize::try_from(chunk).unwrap_or(usize::MAX).max(1));
        }
        self
    }

    /// The script of a fault that hides an error under a good status, if it is one of those.
    pub(crate) fn error_under_ok(fault: Option<Fault>, stream: bool) -> Option<Self> {
        let body = match fault {
            Some(Fault::ErrorInside200) => Refusal::after_ok().body(),
            Some(Fault::ErrorFrameMidStream { .. }) if !stream => Refusal::after_ok().body(),
            Some(Fault::BaseResp(code)) => Refusal::base_resp(code),
            Some(_) | None => return None,
        };
        let mut script = Self::json(200, None, body);
        script.is_complete = false;
        Some(script)
    }

    pub(crate) fn new(head: Head, steps: Vec<Step>) -> Self {
        Self {
            head,
            steps: steps.into(),
            renderer: None,
            pause_millis: 0,
            split: None,
            is_complete: true,
        }
    }
}

// === impl Step ===

impl Step {
    /// Steps that are made when their turn comes.
    pub(crate) fn later(steps: impl Iterator<Item = Self> + Send + 'static) -> Self {
        Self::More(Box::new(Later::new(steps)))
    }

    /// Pieces that are made one by one, as they are sent.
    pub(crate) fn pieces(pieces: impl Iterator<Item = Piece> + Send + 'static) -> Self {
        Self::later(pieces.map(Self::Send))
    }
}

// === impl Later ===

impl Later {
    fn new(steps: impl Iterator<Item = Step> + Send + 'static) -> Self {
        let steps: Box<dyn Iterator<Item = Step> + Send> = Box::new(steps);
        Self(steps.peekable())
    }

    /// The next step, and the rest if there is one.
    pub(crate) fn take(mut self) -> Option<(Step, Option<Self>)> {
        let step = self.0.next()?;
        let has_more = self.0.peek().is_some();
        Some((step, has_more.then_some(self)))
    }
}

impl fmt::Debug for Later {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Later")
    }
}

// === impl Piece ===

impl Piece {
    pub(crate) fn new(bytes: impl Into<Bytes>) -> Self {
        Self {
            bytes: bytes.into(),
            tokens: 0,
            reports: None,
        }
    }

    pub(crate) fn worth(mut self, tokens: u64) -> Self {
        self.tokens = tokens;
        self
    }

    pub(crate) fn reporting(mut self, usage: (u64, u64)) -> Self {
        self.reports = Some(usage);
        self
    }
}
