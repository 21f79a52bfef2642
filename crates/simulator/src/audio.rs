//! Speech and recognition: what all vendors of them share. Speech is a tone as long as its text says,
//! what is heard is words chosen by the bytes of the file; how a vendor speaks is in that vendor's file.

mod answer;
pub(crate) mod audio_sniff;
mod calls;
mod dashscope;
mod fake_transcript;
mod fetch;
mod file_store;
mod frames;
mod minimax;
mod openai;
mod upload;
mod zhipu;

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use http::request::Parts;
use hyper::body::Incoming;

use crate::recorded_request::RecordedRequest;
use crate::scripted_body::VendorResult;
use crate::shared_state::SharedState;
use crate::video::Taken;

pub use fake_transcript::{transcript, translation};

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
