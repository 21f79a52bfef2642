//! The body of an answer, piece by piece, each within its time.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, Version};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// An answer whose head is there and whose body is still to come. Dropping it closes the connection,
/// or in HTTP/2 its stream, and with it the upstream's work.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// What it was spoken in.
    pub version: Version,
    body: Incoming,
    idle: Duration,
    ends: Option<Instant>,
    /// Its place on a shared connection, given back when it is dropped.
    _place: Option<OwnedSemaphorePermit>,
}

/// How long an answer may be silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdue {
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

impl Overdue {
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

impl Answer {
    pub(super) fn new(
        response: Response<Incoming>,
        idle: Duration,
        ends: Option<Instant>,
        place: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let (head, body) = response.into_parts();
        Self {
            status: head.status,
            headers: head.headers,
            version: head.version,
            body,
            idle,
            ends,
            _place: place,
        }
    }

    /// The next piece; none at the end.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, BodyError> {
        loop {
            let until = self.overdue().at(Instant::now());
            let frame = match tokio::time::timeout_at(until, self.body.frame()).await {
                Err(_) => return Err(BodyError::Stalled),
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(BodyError::Broken(error.to_string())),
                Ok(Some(Ok(frame))) => frame,
            };
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }

    /// The next piece, without a clock of its own: for who keeps one for many pieces, see
    /// [`Overdue`]. May be dropped at any time; nothing is lost.
    pub async fn next_piece(&mut self) -> Result<Option<Bytes>, BodyError> {
        poll_fn(|context| self.poll_piece(context)).await
    }

    /// The next piece if it is there already.
    pub fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, BodyError>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        polled.map(|frame| match frame {
            None => Ok(None),
            Some(Err(error)) => Err(BodyError::Broken(error.to_string())),
            // Trailers are nothing to us; an empty piece says only: look again.
            Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
        })
    }

    /// How long it may be silent.
    #[must_use]
    pub const fn overdue(&self) -> Overdue {
        Overdue {
            idle: self.idle,
            ends: self.ends,
        }
    }

    /// All of it, up to a bound.
    pub async fn whole(&mut self, most: usize) -> Result<Bytes, BodyError> {
        let promised = self.body.size_hint().lower();
        if usize::try_from(promised).unwrap_or(usize::MAX) > most {
            return Err(BodyError::TooLarge(most));
        }
        let Some(first) = self.piece().await? else {
            return Ok(Bytes::new());
        };
        if self.body.is_end_stream() {
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

fn bounded(bytes: Bytes, most: usize) -> Result<Bytes, BodyError> {
    if bytes.len() > most {
        return Err(BodyError::TooLarge(most));
    }
    Ok(bytes)
}
