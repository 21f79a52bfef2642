//! Files: `GET /_media/<job id>.mp4`, as long as the job's video, with ranges and without a key, until
//! the `Expires` of its link has passed. A name such as `clip-7s.mov` is a clip of that length for
//! tests that need an input; `.webm` is one that no vendor takes.

use http::header::{ACCEPT_RANGES, CONTENT_RANGE, CONTENT_TYPE, RANGE};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Value;

use super::mp4::{self, Wrapping};
use crate::clock;
use crate::recorded_request::RecordedRequest;
use crate::script::{Head, Piece, Script, Step};
use crate::scripted_body::VendorResponse;
use crate::shared_state::SharedState;
use crate::tokens::count;
use crate::video_jobs::JobDirectives;
use crate::video_jobs::{Phase, VideoJob};

const FOLDER: &str = "/_media/";
/// The longest clip that a name may ask for, in seconds.
const MAX_NAMED_SECONDS: u64 = 3_600;
/// How long a link of a finished file works, as most vendors say.
pub(crate) const LINK_SECONDS: u64 = 86_400;

/// What came of a question for a file.
enum Found {
    File(Vec<u8>, &'static str),
    Refused(u16, &'static str),
}

/// Which bytes.
#[derive(Debug, PartialEq, Eq)]
enum ByteRange {
    All,
    /// From the first to the last, both included.
    Part(usize, usize),
    Impossible,
}

pub(super) fn owns(path: &str) -> bool {
    path.starts_with(FOLDER)
}

/// The link of a job's file at the host that was asked.
pub(crate) fn link(headers: &HeaderMap, job: &VideoJob) -> String {
    let host = headers.get(http::header::HOST);
    let host = host
        .and_then(|host| host.to_str().ok())
        .unwrap_or("localhost");
    let ends = job.ends_micros.unwrap_or(job.created_micros);
    let expires = clock::seconds(ends).saturating_add(LINK_SECONDS);
    let id = &job.id;
    format!("http://{host}{FOLDER}{id}.mp4?Expires={expires}&Signature=x")
}

/// The seconds of a clip that an address names: a job's file, or a name such as `clip-7s.mp4`.
pub(crate) fn named_seconds(state: &SharedState, url: &str) -> Option<u64> {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let (_, file) = path.rsplit_once('/')?;
    let (stem, _) = file.rsplit_once('.')?;
    if let Some(job) = state.jobs.seen(stem) {
        return Some(job.seconds);
    }
    let (_, length) = stem.rsplit_once('-')?;
    let seconds: u64 = length.strip_suffix('s')?.parse().ok()?;
    Some(seconds.min(MAX_NAMED_SECONDS))
}

/// How the name of a file says that it is wrapped.
pub(crate) fn wrapping(url: &str) -> Wrapping {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    match path.rsplit_once('.') {
        Some((_, "mov")) => Wrapping::Mov,
        Some((_, "webm")) => Wrapping::Webm,
        Some(_) | None => Wrapping::Mp4,
    }
}

pub(super) fn serve(recorded: RecordedRequest) -> VendorResponse {
    let is_known = matches!(recorded.parts.method, Method::GET | Method::HEAD);
    let found = if is_known {
        find(&recorded)
    } else {
        Found::Refused(405, "MethodNotAllowed")
    };
    hand_out(recorded, found)
}

/// A job's file for a vendor that serves it at its own endpoint.
pub(super) fn serve_job(recorded: RecordedRequest, job: &VideoJob) -> VendorResponse {
    let found = job_file(&recorded.state, job);
    hand_out(recorded, found)
}

/// Bytes of any kind, or the part of them that was asked for.
pub(crate) fn serve_bytes(
    recorded: RecordedRequest,
    bytes: Vec<u8>,
    kind: &'static str,
) -> VendorResponse {
    hand_out(recorded, Found::File(bytes, kind))
}

/// A file that is not there.
pub(crate) fn serve_nothing(recorded: RecordedRequest) -> VendorResponse {
    hand_out(recorded, Found::Refused(404, "NoSuchKey"))
}

fn hand_out(recorded: RecordedRequest, found: Found) -> VendorResponse {
    let (bytes, kind) = match found {
        Found::File(bytes, kind) => (bytes, kind),
        Found::Refused(status, code) => return refused(recorded, status, code),
    };
    let length = bytes.len();
    let range = recorded.parts.headers.get(RANGE);
    let range = range.and_then(|value| value.to_str().ok());
    let (status, bytes, content_range) = match range_of(range, length) {
        ByteRange::All => (200, bytes, None),
        ByteRange::Part(first, last) => {
            let part = bytes.get(first..=last).unwrap_or_default().to_vec();
            (206, part, Some(format!("bytes {first}-{last}/{length}")))
        }
        ByteRange::Impossible => (416, Vec::new(), Some(format!("bytes */{length}"))),
    };
    let mut response = recorded.play(bytes_of(status, bytes), None);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    // Digits, spaces and a slash are a header's value.
    if let Some(content_range) =
        content_range.and_then(|content_range| HeaderValue::from_str(&content_range).ok())
    {
        headers.insert(CONTENT_RANGE, content_range);
    }
    response
}

fn bytes_of(status: u16, bytes: Vec<u8>) -> Script {
    let head = Head {
        status,
        is_event_stream: false,
        content_length: Some(count(bytes.len())),
        retry_after_secs: None,
    };
    Script::new(head, vec![Step::Send(Piece::new(bytes))])
}

/// As the vendors' stores say it.
fn refused(recorded: RecordedRequest, status: u16, code: &str) -> VendorResponse {
    let text = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>");
    let mut response = recorded.play(bytes_of(status, text.into_bytes()), None);
    let kind = HeaderValue::from_static("application/xml");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn find(recorded: &RecordedRequest) -> Found {
    let uri = &recorded.parts.uri;
    if recorded.is_link_over() {
        return Found::Refused(403, "AccessDenied");
    }
    let path = uri.path();
    let file = path.strip_prefix(FOLDER).unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    if let Some(job) = recorded.state.jobs.seen(stem) {
        return job_file(&recorded.state, &job);
    }
    match named_seconds(&recorded.state, path) {
        Some(seconds) => file_of(wrapping(path), seconds),
        None => Found::Refused(404, "NoSuchKey"),
    }
}

fn job_file(state: &SharedState, job: &VideoJob) -> Found {
    if job.phase() != Phase::Succeeded {
        return Found::Refused(404, "NoSuchKey");
    }
    let mut words = String::new();
    gather(&job.body, &mut words);
    let directives = JobDirectives::read(&words);
    if directives.has_no_file {
        return Found::Refused(404, "NoSuchKey");
    }
    if directives.failing_downloads > 0
        && state.jobs.downloaded(&job.id) < directives.failing_downloads
    {
        return Found::Refused(500, "InternalError");
    }
    file_of(Wrapping::Mp4, job.seconds)
}

fn file_of(wrapping: Wrapping, seconds: u64) -> Found {
    let kind = match wrapping {
        Wrapping::Mp4 => "video/mp4",
        Wrapping::Mov => "video/quicktime",
        Wrapping::Webm => "video/webm",
    };
    Found::File(mp4::clip(wrapping, seconds.saturating_mul(1_000)), kind)
}

/// Every text of a body: where the prompt stands differs from vendor to vendor.
fn gather(value: &Value, words: &mut String) {
    match value {
        Value::String(text) => words.push_str(text),
        Value::Array(list) => list.iter().for_each(|value| gather(value, words)),
        Value::Object(fields) => fields.values().for_each(|value| gather(value, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What a range header asks for; one that cannot be read is as good as none.
fn range_of(header: Option<&str>, length: usize) -> ByteRange {
    let Some((first, last)) = header
        .and_then(|header| header.strip_prefix("bytes="))
        .and_then(|range| range.split_once('-'))
    else {
        return ByteRange::All;
    };
    let end = length.saturating_sub(1);
    match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) if first > last => ByteRange::All,
        (Ok(first), _) if first >= length => ByteRange::Impossible,
        (Ok(first), Ok(last)) => ByteRange::Part(first, last.min(end)),
        (Ok(first), Err(_)) if last.is_empty() => ByteRange::Part(first, end),
        (Err(_), Ok(0)) if first.is_empty() => ByteRange::Impossible,
        (Err(_), Ok(count)) if first.is_empty() => {
            ByteRange::Part(length.saturating_sub(count), end)
        }
        (Ok(_) | Err(_), Ok(_) | Err(_)) => ByteRange::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_one_or_two_ends() {
        for (header, range) in [
            (None, ByteRange::All),
            (Some("bytes=0-3"), ByteRange::Part(0, 3)),
            (Some("bytes=4-"), ByteRange::Part(4, 9)),
            (Some("bytes=4-100"), ByteRange::Part(4, 9)),
            (Some("bytes=-3"), ByteRange::Part(7, 9)),
            (Some("bytes=-100"), ByteRange::Part(0, 9)),
            (Some("bytes=10-"), ByteRange::Impossible),
            (Some("bytes=-0"), ByteRange::Impossible),
            (Some("bytes=3-1"), ByteRange::All),
            (Some("bytes=0-1,3-4"), ByteRange::All),
            (Some("lines=0-3"), ByteRange::All),
        ] {
            assert_eq!(range_of(header, 10), range, "{header:?}");
        }
    }
}
