//! The body of an answer, piece by piece, each within its time.

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
            let idle = Instant::now().checked_add(self.idle);
            let until = match (idle, self.ends) {
                (Some(idle), Some(ends)) => idle.min(ends),
                (Some(only), None) | (None, Some(only)) => only,
                (None, None) => Instant::now(),
            };
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
