//! Files that an answer names by their address: `GET /_audio/<id>.wav` and so on, without a key, until
//! the `Expires` of the link has passed.

use http::header::HOST;
use http::{HeaderMap, Method};

use crate::audio_state::Kept;
use crate::clock;
use crate::recorded_request::RecordedRequest;
use crate::script::{Head, Piece, Script, Step};
use crate::scripted_body::VendorResponse;
use crate::tokens::count;
use crate::video::media;

const FOLDER: &str = "/_audio/";
/// How long a link works.
pub(super) const LINK_SECONDS: u64 = 86_400;

pub(super) fn owns(path: &str) -> bool {
    path.starts_with(FOLDER)
}

/// Where callers find the simulator, as they wrote it.
pub(super) fn host(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.unwrap_or("localhost").to_owned()
}

/// The address of a file.
pub(super) fn link(host: &str, id: &str, ending: &str) -> String {
    let expires = clock::seconds(clock::now_micros()).saturating_add(LINK_SECONDS);
    format!("http://{host}{FOLDER}{id}.{ending}?Expires={expires}&Signature=x")
}

pub(super) fn serve(recorded: RecordedRequest) -> VendorResponse {
    let is_asked = matches!(recorded.parts.method, Method::GET | Method::HEAD);
    let query = recorded.parts.uri.query().unwrap_or_default();
    let expires = query
        .split('&')
        .find_map(|field| field.strip_prefix("Expires="));
    let now = clock::seconds(clock::now_micros());
    let is_fresh = expires
        .and_then(|expires| expires.parse::<u64>().ok())
        .is_some_and(|ends| now < ends);
    let path = recorded.parts.uri.path();
    let file = path.strip_prefix(FOLDER).unwrap_or_default();
    let id = file.rsplit_once('.').map_or(file, |(id, _)| id);
    let kept = recorded.state.audio.files.find(id);
    match kept.filter(|_| is_asked && is_fresh) {
        Some(Kept::Sound(sound)) => {
            media::serve_bytes(recorded, sound.bytes(), sound.format.content_type())
        }
        Some(Kept::CutSound(sound)) => cut(recorded, &sound.bytes()),
        Some(Kept::Transcript(text)) => {
            media::serve_bytes(recorded, text.into_bytes(), "application/json")
        }
        None => media::serve_nothing(recorded),
    }
}

/// Half of a file, and the connection ends.
fn cut(recorded: RecordedRequest, bytes: &[u8]) -> VendorResponse {
    let head = Head {
        status: 200,
        is_event_stream: false,
        content_length: Some(count(bytes.len())),
        retry_after_secs: None,
    };
    let half = bytes.get(..bytes.len() / 2).unwrap_or_default().to_vec();
    let steps = vec![Step::Send(Piece::new(half)), Step::Abort];
    let mut script = Script::new(head, steps);
    script.is_complete = false;
    recorded.play(script, None)
}
