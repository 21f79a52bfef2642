//! Video jobs: what all vendors of them share. A job is taken, waits, runs and ends by the clock; a
//! prompt can ask for another fate. How a vendor speaks of it is in that vendor's file.

mod ark;
mod dashscope;
mod kling;
pub(crate) mod media;
mod minimax;
mod mp4;
mod openai;

use crate::recorded_request::RecordedRequest;
use crate::scripted_body::VendorResult;

pub(crate) use dashscope::written;

/// Answers what a video vendor is asked; gives everything else back.
pub(crate) enum Taken {
    Yes(VendorResult),
    No(RecordedRequest),
}

/// Asks each vendor whether a request is its own.
pub(crate) async fn serve(recorded: RecordedRequest) -> Taken {
    let path = recorded.parts.uri.path();
    // Files need no key, whichever vendor made them.
    if media::owns(path) {
        return Taken::Yes(Ok(media::serve(recorded)));
    }
    if dashscope::owns(path) {
        return Taken::Yes(dashscope::serve(recorded).await);
    }
    if ark::owns(path) {
        return Taken::Yes(ark::serve(recorded).await);
    }
    if kling::owns(path) {
        return Taken::Yes(kling::serve(recorded).await);
    }
    if minimax::owns(path) {
        return Taken::Yes(minimax::serve(recorded).await);
    }
    if openai::owns(path) {
        return Taken::Yes(openai::serve(recorded).await);
    }
    Taken::No(recorded)
}
