//! `MiniMax`'s video jobs, both interfaces. The first answers everything with status 200 and says in
//! `base_resp` what is wrong; the second says it by status. Written after the vendor's documents and
//! public clients (October 2026), nothing was called live: wordings are [unverified].

mod first;
mod second;

use http::Response;
use http::header::HOST;
use serde_json::{Map, Value};

use super::jobs::VideoJob;
use super::wishes::JobWishes;
use crate::clock;
use crate::headers::last_four;
use crate::played::{Cut, MAX_HANG, Played};
use crate::script::Script;
use crate::server::Read;

/// The vendor, for whoever compares.
const VENDOR: &str = "minimax";
/// Ids have so many digits behind the seconds of their making.
const ID_SPAN: u64 = 100_000;

pub(super) fn owns(path: &str) -> bool {
    first::owns(path) || second::owns(path)
}

pub(super) async fn serve(read: Read) -> Result<Response<Played>, Cut> {
    if first::owns(read.parts.uri.path()) {
        first::serve(read).await
    } else {
        second::serve(read).await
    }
}

/// A job was taken; the answer goes out unless the prompt asks that it does not.
pub(super) async fn hand_over(
    read: Read,
    wishes: &JobWishes,
    script: Script,
) -> Result<Response<Played>, Cut> {
    if wishes.is_silent {
        tokio::time::sleep(MAX_HANG).await;
    }
    if wishes.is_lost || wishes.is_silent {
        return Err(Cut);
    }
    Ok(read.play(script, None))
}

/// Writes down what was asked.
pub(super) fn note(read: &Read, model: &str, wishes: &JobWishes) {
    read.watch.entry().note(|served| {
        model.clone_into(&mut served.model);
        served.marker.clone_from(&wishes.marker);
    });
}

/// A finished file, as a link that anybody may follow until it expires.
pub(super) fn link(read: &Read, job: &VideoJob, lives_seconds: u64) -> String {
    let host = read.parts.headers.get(HOST);
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
pub(super) fn is_mine(read: &Read, job: &VideoJob, vendor: &str) -> bool {
    job.vendor == vendor && job.key == last_four(&read.key)
}

/// A value of the query.
pub(super) fn asked<'a>(read: &'a Read, name: &str) -> Option<&'a str> {
    let query = read.parts.uri.query()?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

/// Digits, as long as the vendor's.
fn new_id(read: &Read) -> String {
    let seconds = clock::seconds(read.received_at_micros);
    let last = read.number.checked_rem(ID_SPAN).unwrap_or_default();
    seconds
        .saturating_mul(ID_SPAN)
        .saturating_add(last)
        .to_string()
}

/// The body as an object.
fn object(read: &Read) -> Option<Map<String, Value>> {
    match serde_json::from_slice(&read.body) {
        Ok(Value::Object(body)) => Some(body),
        Ok(_) | Err(_) => None,
    }
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
