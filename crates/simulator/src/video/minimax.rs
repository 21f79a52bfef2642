//! `MiniMax`'s video jobs, both interfaces. The first answers everything with status 200 and says in
//! `base_resp` what is wrong; the second says it by status. Written after the vendor's documents and
//! public clients (October 2026), nothing was called live: wordings are [unverified].

mod v1;
mod v2;

use http::header::HOST;
use serde_json::Value;

use crate::clock;
use crate::fault_stage;
use crate::headers::last_four;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::VendorResult;
use crate::video_jobs::JobDirectives;
use crate::video_jobs::VideoJob;

/// The vendor's name in records.
const VENDOR: &str = "minimax";
/// Ids have so many digits behind the seconds of their making.
const ID_SPAN: u64 = 100_000;

pub(super) fn owns(path: &str) -> bool {
    v1::owns(path) || v2::owns(path)
}

pub(super) async fn serve(recorded: RecordedRequest) -> VendorResult {
    if v1::owns(recorded.parts.uri.path()) {
        v1::serve(recorded).await
    } else {
        v2::serve(recorded).await
    }
}

/// A job was taken; the answer goes out unless the prompt asks that it does not.
pub(super) async fn hand_over(
    mut recorded: RecordedRequest,
    directives: &JobDirectives,
    script: Script,
) -> VendorResult {
    fault_stage::early(&mut recorded, directives.fault()).await?;
    Ok(recorded.play(script, None))
}

/// Writes down what was asked.
pub(super) fn note(recorded: &RecordedRequest, model: &str, directives: &JobDirectives) {
    recorded.note(|record| {
        model.clone_into(&mut record.model);
        record.marker.clone_from(&directives.marker);
    });
}

/// A finished file, as a link that needs no key until it expires.
pub(super) fn link(recorded: &RecordedRequest, job: &VideoJob, lives_seconds: u64) -> String {
    let host = recorded.parts.headers.get(HOST);
    let host = host.and_then(|value| value.to_str().ok());
    let host = host.unwrap_or("localhost");
    let now = clock::seconds(clock::now_micros());
    let expires = now.saturating_add(lives_seconds);
    format!(
        "http://{host}/_media/{}.mp4?Expires={expires}&Signature=x",
        job.id
    )
}

/// Whether a job is this caller's.
pub(super) fn is_mine(recorded: &RecordedRequest, job: &VideoJob, vendor: &str) -> bool {
    job.vendor == vendor && job.key == last_four(&recorded.key)
}

/// A value of the query.
pub(super) fn query_param<'a>(recorded: &'a RecordedRequest, name: &str) -> Option<&'a str> {
    let query = recorded.parts.uri.query()?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

/// Digits, as long as the vendor's.
fn new_id(recorded: &RecordedRequest) -> String {
    let seconds = clock::seconds(recorded.received_at_micros);
    let last = recorded.number.checked_rem(ID_SPAN).unwrap_or_default();
    seconds
        .saturating_mul(ID_SPAN)
        .saturating_add(last)
        .to_string()
}

/// A number of the vendor's as it writes them; the prompt may ask for one that is none.
fn number(code: &str) -> Value {
    code.parse::<u64>()
        .map_or_else(|_| Value::from(code), Value::from)
}

/// Whether a text is an address or holds the media itself.
fn is_media(text: &str) -> bool {
    ["http://", "https://", "data:", "mm_file://"]
        .iter()
        .any(|start| text.starts_with(start))
}
