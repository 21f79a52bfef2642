//! What will be sent: the head of a response and the steps that make its body. `scripted_body` only
//! carries it out.

use std::collections::VecDeque;
use std::fmt;
use std::iter::Peekable;

use bytes::Bytes;

use crate::fault::{Fault, UpstreamError, inside_200};
use crate::refusal::Refusal;
use crate::tokens::count;

#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) head: Head,
    pub(crate) steps: VecDeque<Step>,
    /// Pause before every unit but the first.
    pub(crate) pause_millis: u64,
    /// Cut what is sent into pieces of so many bytes.
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
    Filler(Filler),
    /// Steps that are made when their turn comes.
    More(Box<Later>),
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
    /// Prompt and completion tokens that these bytes report.
    pub(crate) reports: Option<(u64, u64)>,
    /// What is put in the place of [`GAP`] when the bytes are sent.
    pub(crate) filler: Option<Filler>,
}

/// Words that make an answer large without being held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filler {
    pub(crate) words: u64,
    /// Whether each is a token of the answer; a text that is repeated is not.
    pub(crate) counts: bool,
}

/// Stands in a piece where its filler is to be put.
pub(crate) const GAP: &str = "@@";

// === impl Script ===

impl Script {
    pub(crate) fn new(head: Head, steps: Vec<Step>) -> Self {
        Self {
            head,
            steps: steps.into(),
            pause_millis: 0,
            split: None,
            is_complete: true,
        }
    }

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

    /// An error body under a good status, which is no complete answer.
    pub(crate) fn inside_200(body: String) -> Self {
        let mut script = Self::json(200, None, body);
        script.is_complete = false;
        script
    }

    /// An error that comes instead of an answer, in OpenAI's words.
    pub(crate) fn upstream_error(error: UpstreamError, model: &str) -> Self {
        match error {
            UpstreamError::RateLimited { .. } | UpstreamError::Status(_) => {
                Self::refusal(&Refusal::upstream(error, model))
            }
            UpstreamError::Inside200 { code: None } => Self::inside_200(Refusal::after_ok().body()),
            UpstreamError::Inside200 { code: Some(code) } => {
                Self::inside_200(Refusal::base_resp(code))
            }
        }
    }

    /// The same for an error under a good status, if the fault wants one.
    pub(crate) fn error_under_ok(fault: Option<Fault>, is_stream: bool) -> Option<Self> {
        let error = inside_200(fault, is_stream)?;
        Some(Self::upstream_error(error, ""))
    }

    /// Sets the pauses and the size of the pieces.
    pub(crate) fn paced(mut self, is_stream: bool, pace_millis: u64, fault: Option<Fault>) -> Self {
        if is_stream {
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
}

// === impl Head ===

impl Head {
    /// Status 200 and nothing that is known of the body.
    pub(crate) fn ok() -> Self {
        Self {
            status: 200,
            is_event_stream: false,
            content_length: None,
            retry_after_secs: None,
        }
    }

    pub(crate) fn event_stream() -> Self {
        Self {
            is_event_stream: true,
            ..Self::ok()
        }
    }
}

// === impl Step ===

impl Step {
    /// Pieces that are made one by one, as they are sent.
    pub(crate) fn pieces(pieces: impl Iterator<Item = Piece> + Send + 'static) -> Self {
        let steps: Box<dyn Iterator<Item = Self> + Send> = Box::new(pieces.map(Self::Send));
        Self::More(Box::new(Later(steps.peekable())))
    }
}

// === impl Later ===

impl Later {
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
            filler: None,
        }
    }

    /// An event of server-sent events without a name.
    pub(crate) fn sse(data: &[u8]) -> Self {
        Self::new([b"data: ", data, b"\n\n"].concat())
    }

    pub(crate) fn worth(mut self, tokens: u64) -> Self {
        self.tokens = tokens;
        self
    }

    pub(crate) fn reporting(mut self, prompt: u64, completion: u64) -> Self {
        self.reports = Some((prompt, completion));
        self
    }

    pub(crate) fn filled(mut self, words: u64, counts: bool) -> Self {
        self.filler = Some(Filler { words, counts });
        self
    }
}
