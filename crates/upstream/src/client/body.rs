//! The body of an answer, piece by piece, each within its time. AWS's frames are handed out as the
//! server-sent events that are in them, and the head says so.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response, StatusCode, Version};
use hyper::body::{Body as _, Incoming};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::eventstream::EventStreamError;
use crate::eventstream::claude::Translation;

/// What AWS calls its frames.
const AWS_FRAMES: &str = "application/vnd.amazon.eventstream";

/// An answer whose head is there and whose body is still to come. Dropping it closes the connection,
/// or in HTTP/2 its stream, and with it the upstream's work.
#[derive(Debug)]
pub struct UpstreamResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// What it was spoken in.
    pub version: Version,
    body: Incoming,
    /// What turns frames into events, for an answer in frames.
    translation: Option<Translation>,
    idle: Duration,
    ends: Option<Instant>,
    /// Its place on a shared connection, given back when it is dropped.
    _place: Option<OwnedSemaphorePermit>,
}

/// How long an answer may be silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleDeadline {
    idle: Duration,
    ends: Option<Instant>,
}

/// Why a body ended before its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// Nothing came for too long, or all of it took too long.
    #[error("the upstream stopped in the middle of its answer")]
    Stalled,
    /// The connection broke, or the bytes were not what the head had promised.
    #[error("the upstream broke off in the middle of its answer: {0}")]
    Broken(String),
    /// More than the reader takes.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
}

impl IdleDeadline {
    /// When the next piece is overdue, if the last one came then.
    #[must_use]
    pub fn at(&self, heard: Instant) -> Instant {
        match (heard.checked_add(self.idle), self.ends) {
            (Some(idle), Some(ends)) => idle.min(ends),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => heard,
        }
    }
}

impl UpstreamResponse {
    pub(super) fn new(
        response: Response<Incoming>,
        idle: Duration,
        ends: Option<Instant>,
        place: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let (mut head, body) = response.into_parts();
        let translation = is_in_frames(&head.headers).then(Translation::default);
        if translation.is_some() {
            let events = HeaderValue::from_static("text/event-stream");
            head.headers.insert(CONTENT_TYPE, events);
            head.headers.remove(CONTENT_LENGTH);
        }
        Self {
            status: head.status,
            headers: head.headers,
            version: head.version,
            body,
            translation,
            idle,
            ends,
            _place: place,
        }
    }

    /// The next piece; none at the end.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, BodyError> {
        loop {
            let until = self.idle_deadline().at(Instant::now());
            let next = tokio::time::timeout_at(until, self.next_piece()).await;
            match next.unwrap_or(Err(BodyError::Stalled))? {
                Some(piece) if piece.is_empty() => {}
                piece => return Ok(piece),
            }
        }
    }

    /// The next piece, without a clock of its own: for who keeps one for many pieces, see
    /// [`IdleDeadline`]. May be dropped at any time; nothing is lost.
    pub async fn next_piece(&mut self) -> Result<Option<Bytes>, BodyError> {
        poll_fn(|context| self.poll_piece(context)).await
    }

    /// The next piece if it is there already.
    pub fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, BodyError>> {
        // What stood before a broken frame was handed out; now it is told that it broke.
        if let Some(translation) = self.translation.as_ref().filter(|one| one.has_failed()) {
            return Poll::Ready(translation.end().map(|()| None).map_err(broken));
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        polled.map(|frame| match (frame, &mut self.translation) {
            (Some(Err(error)), _) => Err(BodyError::Broken(error.to_string())),
            (None, None) => Ok(None),
            (None, Some(translation)) => translation.end().map(|()| None).map_err(broken),
            // Trailers are nothing to us; an empty piece says only: look again.
            (Some(Ok(frame)), None) => Ok(Some(frame.into_data().unwrap_or_default())),
            (Some(Ok(frame)), Some(translation)) => {
                let data = frame.into_data().unwrap_or_default();
                translation.push(&data).map(Some).map_err(broken)
            }
        })
    }

    /// How long it may be silent.
    #[must_use]
    pub const fn idle_deadline(&self) -> IdleDeadline {
        IdleDeadline {
            idle: self.idle,
            ends: self.ends,
        }
    }

    /// All of it, up to a bound.
    pub async fn whole(&mut self, most: usize) -> Result<Bytes, BodyError> {
        let promised = self.body.size_hint().lower();
        // Frames are longer than what is in them.
        let is_told = self.translation.is_none();
        if is_told && usize::try_from(promised).unwrap_or(usize::MAX) > most {
            return Err(BodyError::TooLarge(most));
        }
        let Some(first) = self.piece().await? else {
            return Ok(Bytes::new());
        };
        if is_told && self.body.is_end_stream() {
            return bounded(first, most);
        }
        let mut all = Vec::from(first);
        while let Some(piece) = self.piece().await? {
            all.extend_from_slice(&piece);
            if all.len() > most {
                return Err(BodyError::TooLarge(most));
            }
        }
        bounded(Bytes::from(all), most)
    }
}

fn is_in_frames(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(AWS_FRAMES))
}

fn broken(error: EventStreamError) -> BodyError {
    BodyError::Broken(error.to_string())
}

fn bounded(bytes: Bytes, most: usize) -> Result<Bytes, BodyError> {
    if bytes.len() > most {
        return Err(BodyError::TooLarge(most));
    }
    Ok(bytes)
}
