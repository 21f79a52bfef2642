//! Speech and recognition: what all vendors of them share. Speech is a tone as long as its text says,
//! what is heard is words chosen by the bytes of the file; how a vendor speaks is in that vendor's file.

mod answer;
mod audio_sniff;
mod calls;
mod dashscope;
mod encoders;
mod fake_transcript;
mod faults;
mod fetch;
mod file_store;
mod frames;
mod minimax;
mod openai;
mod tone;
mod upload;
mod zhipu;

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use http::request::Parts;
use hyper::body::Incoming;

use crate::scripted_body::VendorResult;
use crate::server::RecordedRequest;
use crate::shared_state::SharedState;
use crate::video::Taken;
use calls::Calls;
use dashscope::Tasks;
use file_store::FileStore;

pub use calls::{AudioCall, AudioWork};
pub use fake_transcript::{transcript, translation};
pub use faults::AudioFault;
pub use tone::speech_millis;

/// How fast speech is sent and how long recognition takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioSettings {
    /// Pause between two pieces of speech, which are about a fifth of a second each.
    pub pace_millis: u64,
    /// How long a recognition task waits before it begins.
    pub wait_millis: u64,
    /// How long it runs at least; it may take longer to fetch its file.
    pub run_millis: u64,
}

/// What was said and heard, and what can still be fetched.
#[derive(Debug)]
pub(crate) struct Audio {
    settings: AudioSettings,
    calls: Arc<Calls>,
    files: Arc<FileStore>,
    tasks: Tasks,
}

// === impl AudioSettings ===

impl Default for AudioSettings {
    fn default() -> Self {
        Self {
            pace_millis: 0,
            wait_millis: 20,
            run_millis: 100,
        }
    }
}

// === impl Audio ===

impl Audio {
    pub(crate) fn new(settings: AudioSettings, max_calls: usize) -> Self {
        Self {
            settings,
            calls: Arc::new(Calls::new(max_calls)),
            files: Arc::default(),
            tasks: Tasks::default(),
        }
    }

    pub(crate) fn calls(&self) -> Vec<AudioCall> {
        self.calls.all()
    }

    pub(crate) fn forget(&self) {
        self.calls.forget();
    }
}

/// Whether a request brings a file that must not be held.
pub(crate) fn is_upload(parts: &Parts) -> bool {
    let path = parts.uri.path();
    parts.method == Method::POST && (openai::takes_uploads(path) || path == zhipu::PATH)
}

/// Answers such a request. An error closes the connection without an answer.
pub(crate) async fn serve_upload(
    state: Arc<SharedState>,
    parts: Parts,
    incoming: Incoming,
) -> VendorResult {
    // It is read before anything is decided, as every body is; nothing of the file stays.
    let upload = upload::read(&parts.headers, incoming).await?;
    let recorded = RecordedRequest::open(state, parts, Bytes::new());
    let body_sha256 = upload.body_sha256;
    recorded.note(|record| record.body_sha256 = body_sha256);
    if recorded.parts.uri.path() == zhipu::PATH {
        zhipu::serve(recorded, upload).await
    } else {
        openai::transcribe(recorded, upload).await
    }
}

/// Answers what a vendor of audio is asked; gives everything else back.
pub(crate) async fn serve(recorded: RecordedRequest) -> Taken {
    let path = recorded.parts.uri.path();
    // Files need no key, whichever vendor made them.
    if file_store::owns(path) {
        return Taken::Yes(Ok(file_store::serve(recorded)));
    }
    if openai::owns(path) {
        return Taken::Yes(openai::serve(recorded).await);
    }
    if minimax::owns(path) {
        return Taken::Yes(minimax::serve(recorded).await);
    }
    dashscope::serve(recorded).await
}
