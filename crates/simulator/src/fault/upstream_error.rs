//! The error that a fault puts in the place of an answer.

use super::Fault;

/// An error that comes instead of an answer; the vendor words it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpstreamError {
    RateLimited {
        retry_after_secs: u32,
    },
    Status(u16),
    /// An error under status 200; `MiniMax` gives them codes.
    Inside200 {
        code: Option<u32>,
    },
}

/// The error that a fault hides under a good status. A stream takes an error frame instead.
pub(crate) fn inside_200(fault: Option<Fault>, is_stream: bool) -> Option<UpstreamError> {
    let code = match fault {
        Some(Fault::ErrorInside200) => None,
        Some(Fault::ErrorFrameMidStream { .. }) if !is_stream => None,
        Some(Fault::BaseResp(code)) => Some(code),
        Some(_) | None => return None,
    };
    Some(UpstreamError::Inside200 { code })
}
