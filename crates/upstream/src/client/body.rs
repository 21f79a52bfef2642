//! The body of a response, chunk by chunk, each within its deadline. AWS event streams are converted to the
//! server-sent events that they contain, and the content type is changed accordingly.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response, StatusCode, Version};
use hyper::body::{Body as _, Incoming};
use hyper::upgrade::{OnUpgrade, Upgraded};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::eventstream::EventStreamError;
use crate::eventstream::claude::Translation;

/// The content type of AWS event streams.
const AWS_FRAMES: &str = "application/vnd.amazon.eventstream";

/// A response whose head was received and whose body is still to be read. Dropping it closes the connection, or
/// the HTTP/2 stream, and so cancels the upstream's work.
#[derive(Debug)]
pub struct UpstreamResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub version: Version,
    body: Incoming,
    /// The connection, where the response hands it over to another protocol.
    upgrade: Option<OnUpgrade>,
    /// Converts AWS frames to events; none for other responses.
    translation: Option<Translation>,
    idle: Duration,
    ends: Option<Instant>,
    /// Its permit on a shared connection, released on drop.
    _place: Option<OwnedSemaphorePermit>,
}

/// How long a response may be idle.
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
    #[error("the upstream ended its answer early in the middle of its answer: {0}")]
    Broken(String),
    /// More than the reader takes.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
}

impl IdleDeadline {
    /// When the next chunk is overdue, given when the last one was received.
    #[must_use]
    pub fn at(&self, last_received: Instant) -> Instant {
        match (last_received.checked_add(self.idle), self.ends) {
            (Some(idle), Some(ends)) => idle.min(ends),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => last_received,
        }
    }
}

impl UpstreamResponse {
    pub(super) fn new(
        mut response: Response<Incoming>,
        idle: Duration,
        ends: Option<Instant>,
        place: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let switches = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        let upgrade = switches.then(|| hyper::upgrade::on(&mut response));
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
            upgrade,
            translation,
            idle,
            ends,
            _place: place,
        }
    }

    /// The connection under a response that hands it over to another protocol.
    pub async fn upgraded(self) -> Result<Upgraded, BodyError> {
        let until = self.idle_deadline().at(Instant::now());
        let Some(upgrade) = self.upgrade else {
            let words = "the response hands no connection over".to_owned();
            return Err(BodyError::Broken(words));
        };
        match tokio::time::timeout_at(until, upgrade).await {
            Err(_) => Err(BodyError::Stalled),
            Ok(Err(error)) => Err(BodyError::Broken(error.to_string())),
            Ok(Ok(upgraded)) => Ok(upgraded),
        }
    }

    /// The next chunk; none at the end.
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

    /// The next chunk without a timeout, for callers that keep one timer for many chunks: see [`IdleDeadline`].
    /// Cancel-safe.
    pub async fn next_piece(&mut self) -> Result<Option<Bytes>, BodyError> {
        poll_fn(|context| self.poll_piece(context)).await
    }

    /// The next chunk if it was received already.
    pub fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, BodyError>> {
        // The events before a broken frame were returned; now the error is.
        if let Some(translation) = self.translation.as_ref().filter(|one| one.has_failed()) {
            return Poll::Ready(translation.end().map(|()| None).map_err(broken));
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        polled.map(|frame| match (frame, &mut self.translation) {
            (Some(Err(error)), _) => Err(BodyError::Broken(error.to_string())),
            (None, None) => Ok(None),
            (None, Some(translation)) => translation.end().map(|()| None).map_err(broken),
            // Trailers are ignored; an empty chunk means: poll again.
            (Some(Ok(frame)), None) => Ok(Some(frame.into_data().unwrap_or_default())),
            (Some(Ok(frame)), Some(translation)) => {
                let data = frame.into_data().unwrap_or_default();
                translation.push(&data).map(Some).map_err(broken)
            }
        })
    }

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
        // Frames are longer than their content.
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
