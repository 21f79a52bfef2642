//! The framing of HTTP/1 requests as the edge reads it a second time: cut anywhere, the same byte is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trunkline_fuzz::{chosen, cut};

use crate::source::request_framing::{Refused, RequestFraming};

/// The module alone: its crate needs an HTTP server and a TLS stack, which take minutes to build.
#[path = "../../crates/listener/src"]
#[expect(dead_code, reason = "the other parts are used by the crate")]
mod source {
    pub(crate) mod request_framing;
}

fuzz_target!(|data: &[u8]| {
    let Some(([first, step], bytes)) = chosen(data) else {
        return;
    };
    let whole = refused_at(&[bytes]);
    assert!(whole.is_none_or(|at| at < bytes.len()), "beyond its input");
    assert_eq!(refused_at(&cut(bytes, first, step)), whole, "two readings");
});

/// The first byte that is refused.
fn refused_at(pieces: &[&[u8]]) -> Option<usize> {
    let (mut framing, mut before) = (RequestFraming::default(), 0);
    for piece in pieces {
        if let Err(Refused(at)) = framing.read(piece) {
            return Some(before + at);
        }
        before += piece.len();
    }
    None
}
