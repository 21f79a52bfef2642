//! What came of a fetch: the head, and a body that ends at its bounds of bytes and time.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::Bytes;
use http::header::CONTENT_RANGE;
use http::{HeaderMap, StatusCode};
use hyper::body::{Body as _, Incoming};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::error::FetchError;
use super::exchange::Exchange;
use super::places::Place;
use super::{ByteRange, FetchRequest};

/// A response whose head was received. Dropping it closes the connection.
#[derive(Debug)]
pub struct FetchResponse {
    /// The status; error statuses are passed on.
    pub status: StatusCode,
    /// The headers. They are untrusted.
    pub headers: HeaderMap,
    /// Which part of the file the body is.
    pub served: Served,
    body: Incoming,
    left: u64,
    /// What it is called when more comes than may.
    beyond: FetchError,
    ended: Option<FetchError>,
    ends: Instant,
    _connection: JoinSet<()>,
    _place: Place,
}

/// Which part of the file the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// The whole file, also when a range was requested: the server does not support ranges.
    Whole {
        /// The length that the server states.
        length: Option<u64>,
    },
    /// The requested range, or a prefix of it.
    Part {
        range: ByteRange,
        /// The file's length that the server states.
        total: Option<u64>,
    },
}

impl FetchResponse {
    pub(super) fn new(
        exchanged: Exchange,
        ask: FetchRequest,
        ends: Instant,
        place: Place,
    ) -> Result<Self, FetchError> {
        let (head, body) = exchanged.response.into_parts();
        let length = body.size_hint().exact();
        let too_large = FetchError::TooLarge {
            most: ask.max_bytes,
        };
        let (served, left, beyond) = if head.status == StatusCode::PARTIAL_CONTENT {
            let requested = ask.range.ok_or(FetchError::BadAnswer)?;
            let (range, total) = part_of(&head.headers, requested).ok_or(FetchError::BadAnswer)?;
            let promised = range.last.saturating_sub(range.first).saturating_add(1);
            if promised > ask.max_bytes {
                return Err(too_large);
            }
            let served = Served::Part { range, total };
            (served, promised, FetchError::BadAnswer)
        } else {
            // For a caller that requested a range and got the whole file, the beginning may be enough.
            if ask.range.is_none() && length.is_some_and(|length| length > ask.max_bytes) {
                return Err(too_large);
            }
            (Served::Whole { length }, ask.max_bytes, too_large)
        };
        Ok(Self {
            status: head.status,
            headers: head.headers,
            served,
            body,
            left,
            beyond,
            ended: None,
            ends,
            _connection: exchanged.connection,
            _place: place,
        })
    }

    /// The next chunk; none at the end. After an error, each call returns it again.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, FetchError> {
        if let Some(error) = self.ended {
            return Err(error);
        }
        let next = self.next_piece().await;
        if let Err(error) = next {
            self.ended = Some(error);
        }
        next
    }

    pub async fn whole(&mut self) -> Result<Bytes, FetchError> {
        let mut all = Vec::new();
        while let Some(piece) = self.piece().await? {
            all.extend_from_slice(&piece);
        }
        Ok(Bytes::from(all))
    }

    async fn next_piece(&mut self) -> Result<Option<Bytes>, FetchError> {
        loop {
            let body = &mut self.body;
            let polled = poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
            let frame = tokio::time::timeout_at(self.ends, polled)
                .await
                .map_err(|_| FetchError::Slow)?;
            let Some(frame) = frame else {
                return Ok(None);
            };
            let frame = frame.map_err(|_| FetchError::BrokenOff)?;
            // Trailers are nothing to us.
            let data = frame.into_data().unwrap_or_default();
            if data.is_empty() {
                continue;
            }
            let length = u64::try_from(data.len()).map_err(|_| self.beyond)?;
            self.left = self.left.checked_sub(length).ok_or(self.beyond)?;
            return Ok(Some(data));
        }
    }
}

/// Parses `bytes 0-499/1234`, if it is the requested range or a prefix of it.
fn part_of(headers: &HeaderMap, requested: ByteRange) -> Option<(ByteRange, Option<u64>)> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let total = match total {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    let is_asked = first == requested.first && first <= last && last <= requested.last;
    let is_inside = total.is_none_or(|total: u64| last < total);
    (is_asked && is_inside).then_some((ByteRange { first, last }, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &'static str) -> Option<(u64, u64, Option<u64>)> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_RANGE, http::HeaderValue::from_static(text));
        let (range, total) = part_of(&headers, ByteRange::new(10, 10)?)?;
        Some((range.first(), range.last(), total))
    }

    #[test]
    fn a_range_is_accepted_only_if_it_starts_as_asked_and_ends_no_later() {
        assert_eq!(part("bytes 10-19/100"), Some((10, 19, Some(100))));
        assert_eq!(part("bytes 10-10/*"), Some((10, 10, None)));
        for wrong in [
            "bytes 10-20/100",
            "bytes 9-19/100",
            "bytes 11-19/100",
            "bytes 10-9/100",
            "bytes 10-19/19",
            "bytes */100",
            "bytes 10-19",
            "items 10-19/100",
            "bytes -1-19/100",
            "bytes 10-99999999999999999999/*",
        ] {
            assert_eq!(part(wrong), None, "{wrong}");
        }
        assert_eq!(ByteRange::new(0, 0), None);
        assert_eq!(ByteRange::new(u64::MAX, 2), None);
        assert_eq!(ByteRange::new(u64::MAX, 1).unwrap().last(), u64::MAX);
    }
}
