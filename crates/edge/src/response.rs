//! What goes back to a caller: a head, and a body that is there or still coming.

use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body::{Body, Frame, SizeHint};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use trunkline_catalog::{Entry, FieldNote, FieldReport};
use trunkline_types::{Defect, Money, RequestId, word_instead};
use trunkline_wire::{Format, error_body};

use crate::error::{ApiError, ErrorCode};

/// The body of every answer.
#[derive(Debug)]
pub enum ResponseBody {
    Whole(Option<Bytes>),
    /// Pieces as they come; the end of the channel is the end of the body.
    Pieces(mpsc::Receiver<Bytes>),
    /// Pieces of something that must be whole: without the sender's `End`, the connection breaks off, so
    /// that no client takes a part for all of it.
    File(mpsc::Receiver<FilePiece>),
    /// Pieces whose sender is told when they were taken.
    Acked(AckedBody),
}

/// A piece of a body that must be whole.
#[derive(Debug)]
pub enum FilePiece {
    /// The next bytes.
    Bytes(Bytes),
    /// Bytes whose sender wants to know whether they were taken.
    Acked(AckedChunk),
    End,
}

/// A body that is not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body broke off")]
pub struct BrokenOff;

/// A piece that is charged for: its sender wants to know whether the connection took it.
#[derive(Debug)]
pub struct AckedChunk {
    pub bytes: Bytes,
    /// Told when the connection takes the bytes; dropped if it never does.
    pub taken: oneshot::Sender<()>,
}

/// A body of such pieces.
#[derive(Debug)]
pub struct AckedBody {
    /// None for a body that was given with its head.
    pieces: Option<mpsc::Receiver<AckedChunk>>,
    /// The only piece of that one, until it begins.
    ready: Option<AckedChunk>,
    /// The piece whose first byte was given.
    begun: Option<AckedChunk>,
    /// Bytes that are to come, where that is known.
    left: Option<u64>,
}

/// The call that an answer belongs to; an extension of the answer, which is sent under that call's id.
#[derive(Debug, Clone, Copy)]
pub struct OriginalRequest(pub RequestId);

// === impl AckedBody ===

impl AckedBody {
    /// A body of one piece of so many bytes.
    pub fn whole(pieces: mpsc::Receiver<AckedChunk>, bytes: u64) -> Self {
        Self {
            pieces: Some(pieces),
            ready: None,
            begun: None,
            left: Some(bytes),
        }
    }

    /// The same with its piece: it leaves in one write with the head.
    pub fn ready(piece: AckedChunk) -> Self {
        Self {
            pieces: None,
            begun: None,
            left: Some(u64::try_from(piece.bytes.len()).unwrap_or(u64::MAX)),
            ready: Some(piece),
        }
    }

    /// A body of an unknown number of pieces.
    pub fn open(pieces: mpsc::Receiver<AckedChunk>) -> Self {
        Self {
            pieces: Some(pieces),
            ready: None,
            begun: None,
            left: None,
        }
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<AckedChunk>> {
        match (self.ready.take(), &mut self.pieces) {
            (Some(chunk), _) => Poll::Ready(Some(chunk)),
            (None, Some(pieces)) => pieces.poll_recv(context),
            (None, None) => Poll::Ready(None),
        }
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BrokenOff>>> {
        let bytes = if let Some(begun) = self.begun.take() {
            begun.take()
        } else {
            let Some(mut chunk) = std::task::ready!(self.poll_chunk(context)) else {
                return Poll::Ready(None);
            };
            match chunk.first_byte() {
                Some(first) => {
                    self.begun = Some(chunk);
                    Ok(first)
                }
                None => chunk.take(),
            }
        };
        if let Ok(bytes) = &bytes {
            let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            self.left = self.left.map(|left| left.saturating_sub(length));
        }
        Poll::Ready(Some(bytes))
    }
}

// === impl AckedChunk ===

impl AckedChunk {
    /// The first byte of more, as a frame of its own: an HTTP/2 server takes a frame before its client's
    /// window has capacity for it, and asks for the rest when the first byte has gone.
    fn first_byte(&mut self) -> Option<Bytes> {
        (self.bytes.len() > 1 && !self.taken.is_closed()).then(|| self.bytes.split_to(1))
    }

    /// The bytes, if their sender still waits: what it has refunded must not arrive.
    fn take(self) -> Result<Bytes, BrokenOff> {
        match self.taken.send(()) {
            Ok(()) => Ok(word_instead(&self.bytes).map_or(self.bytes, Bytes::from)),
            Err(()) => Err(BrokenOff),
        }
    }
}

/// A finished answer.
pub type Response = http::Response<ResponseBody>;

/// Where the response of a request goes.
pub type Responder = oneshot::Sender<Result<Response, ApiError>>;

/// A time for a log line.
pub fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Pieces(pieces) => {
                let piece = pieces.poll_recv(context);
                piece.map(|piece| {
                    let bytes = piece?;
                    let bytes = word_instead(&bytes).map_or(bytes, Bytes::from);
                    Some(Ok(Frame::data(bytes)))
                })
            }
            Self::File(pieces) => match std::task::ready!(pieces.poll_recv(context)) {
                Some(FilePiece::Bytes(bytes)) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Some(FilePiece::Acked(chunk)) => Poll::Ready(Some(chunk.take().map(Frame::data))),
                Some(FilePiece::End) => Poll::Ready(None),
                None => Poll::Ready(Some(Err(BrokenOff))),
            },
            Self::Acked(body) => {
                let piece = body.poll_piece(context);
                piece.map(|piece| piece.map(|bytes| bytes.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Pieces(_) | Self::File(_) => false,
            Self::Acked(body) => body.left == Some(0),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Pieces(_) | Self::File(_) | Self::Acked(AckedBody { left: None, .. }) => {
                SizeHint::default()
            }
            Self::Acked(AckedBody {
                left: Some(left), ..
            }) => SizeHint::with_exact(*left),
        }
    }
}

pub fn json(status: StatusCode, value: &Value) -> Response {
    let bytes = Bytes::from(value.to_string());
    bytes_of(status, bytes, "application/json")
}

pub fn bytes_of(status: StatusCode, bytes: Bytes, content_type: &'static str) -> Response {
    let mut answer = Response::new(ResponseBody::Whole((!bytes.is_empty()).then_some(bytes)));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

pub fn events(pieces: mpsc::Receiver<Bytes>) -> Response {
    self::pieces(pieces, "text/event-stream; charset=utf-8")
}

/// A body that comes in pieces.
pub fn pieces(pieces: mpsc::Receiver<Bytes>, content_type: &'static str) -> Response {
    let mut answer = Response::new(ResponseBody::Pieces(pieces));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let buffering = HeaderName::from_static("x-accel-buffering");
    headers.insert(buffering, HeaderValue::from_static("no"));
    answer
}

/// An error in the format of the endpoint that was called.
pub fn error_response(error: &ApiError, id: RequestId, pages: &str, format: Format) -> Response {
    let facts = error.error_body(id, pages);
    with_error_headers(error, &error_body(format, &facts))
}

/// An error whose body is already written.
pub fn with_error_headers(error: &ApiError, body: &Value) -> Response {
    let mut answer = json(error.kind.status(), body);
    if let Some(seconds) = error.retry_after {
        let headers = answer.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    // Libraries of the vendors retry every 409 unless they are told.
    if matches!(
        error.kind,
        ErrorCode::IdempotencyConflict
            | ErrorCode::IdempotencyInFlight
            | ErrorCode::IdempotencyTooLarge
            | ErrorCode::SameCall(_)
    ) {
        let name = HeaderName::from_static("x-should-retry");
        let may = error.kind.is_retryable();
        let value = HeaderValue::from_static(if may { "true" } else { "false" });
        answer.headers_mut().insert(name, value);
    }
    answer
}

/// What it cost, where that is known before the first byte.
pub fn set_cost(headers: &mut HeaderMap, cost: Money) {
    let cost = if Defect::WrongHeader.is_on() {
        Money::ZERO
    } else {
        cost
    };
    if let Ok(value) = HeaderValue::from_str(&cost.to_string()) {
        headers.insert(HeaderName::from_static("trunkline-cost-usd"), value);
    }
}

/// What the caller should know.
pub fn set_warnings(headers: &mut HeaderMap, warnings: &[Cow<'static, str>]) {
    if warnings.is_empty() || Defect::LostWarning.is_on() {
        return;
    }
    let text = format!("{};codes={}", warnings.len(), warnings.join(","));
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.insert(HeaderName::from_static("trunkline-warnings"), value);
    }
}

/// The names of what was not sent, behind the codes.
pub fn set_dropped(headers: &mut HeaderMap, report: &FieldReport) {
    const MOST: usize = 16;
    let names: Vec<String> = report.dropped().take(MOST).map(header_name_of).collect();
    let name = HeaderName::from_static("trunkline-warnings");
    let Some(codes) = headers.get(&name).filter(|_| !names.is_empty()) else {
        return;
    };
    let codes = codes.to_str().unwrap_or_default();
    let text = format!("{codes};dropped={}", names.join(","));
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.insert(name, value);
    }
}

/// A field's place in characters that a header can have.
fn header_name_of(note: &FieldNote) -> String {
    let plain = |one: char| one.is_ascii_graphic() && !matches!(one, ',' | ';');
    let field = note.field.chars();
    field
        .map(|one| if plain(one) { one } else { '?' })
        .collect()
}

/// When a model goes away, if it does: RFC 9745 and RFC 8594.
pub fn set_ending(headers: &mut HeaderMap, entry: &Entry) {
    let midnight = |day: &Option<String>| {
        let day: Date = day.as_ref()?.parse().ok()?;
        day.to_zoned(TimeZone::UTC).ok()
    };
    if let Some(day) = midnight(&entry.deprecated_on) {
        let text = format!("@{}", day.timestamp().as_second());
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(HeaderName::from_static("deprecation"), value);
        }
    }
    if let Some(day) = midnight(&entry.sunset_on) {
        let text = day.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(HeaderName::from_static("sunset"), value);
        }
    }
}
