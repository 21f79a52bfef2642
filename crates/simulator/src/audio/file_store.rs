//! Files that an answer names by their address: `GET /_audio/<id>.wav` and so on, without a key, until
//! the `Expires` of the link has passed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::header::HOST;
use http::{HeaderMap, Method};

use super::encoders::Sound;
use super::faults::AudioFault;
use crate::clock;
use crate::fault::Fault;
use crate::script::{Head, Piece, Script, Step};
use crate::scripted_body::VendorResponse;
use crate::server::RecordedRequest;
use crate::tokens::count;
use crate::video::media;

/// A file. A sound is made when it is fetched.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    Sound(Sound),
    /// A sound whose download breaks off.
    CutSound(Sound),
    Transcript(String),
}

/// All files, the oldest of which give way.
#[derive(Debug, Default)]
pub(super) struct FileStore {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    by_id: HashMap<String, Kept>,
    order: VecDeque<String>,
}

const FOLDER: &str = "/_audio/";
const MAX_FILES: usize = 100_000;
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

// === impl FileStore ===

impl FileStore {
    /// Keeps a sound, unless the fault is that it is not there.
    pub(super) fn keep_sound(&self, id: &str, sound: Sound, fault: Option<Fault>) {
        match fault {
            Some(Fault::Audio(AudioFault::DeadFile)) => {}
            Some(Fault::Audio(AudioFault::CutFile)) => self.keep(id, Kept::CutSound(sound)),
            Some(_) | None => self.keep(id, Kept::Sound(sound)),
        }
    }

    pub(super) fn keep(&self, id: &str, kept: Kept) {
        let mut inner = self.inner();
        inner.by_id.insert(id.to_owned(), kept);
        inner.order.push_back(id.to_owned());
        while inner.order.len() > MAX_FILES {
            if let Some(oldest) = inner.order.pop_front() {
                inner.by_id.remove(&oldest);
            }
        }
    }

    fn find(&self, id: &str) -> Option<Kept> {
        self.inner().by_id.get(id).cloned()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
