//! Forms cut anywhere: the same parts or an error, and no more than the input explains.
#![no_main]

use std::convert::Infallible;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use multer::Multipart;
use trunkline_fuzz::{chosen, cut};

const BOUNDARY: &str = "X";

/// Name, file name, type and content.
type Part = (Option<String>, Option<String>, Option<String>, Bytes);

fuzz_target!(|data: &[u8]| {
    let Some(([first, step], bytes)) = chosen(data) else {
        return;
    };
    // What a client calls its form; a boundary is at most as long as its header.
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(boundary) = multer::parse_boundary(text)
    {
        assert!(boundary.len() <= text.len());
    }
    let whole = parts(&[bytes]);
    let held: usize = whole.0.iter().map(|part| part.3.len()).sum();
    assert!(held <= bytes.len(), "{} bytes became {held}", bytes.len());
    assert_eq!(
        parts(&cut(bytes, first, step)),
        whole,
        "one form, two readings"
    );
});

/// The parts before the first error, and whether there was one.
fn parts(pieces: &[&[u8]]) -> (Vec<Part>, bool) {
    let pieces: Vec<Result<Bytes, Infallible>> = pieces
        .iter()
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    let mut form = Multipart::new(futures_util::stream::iter(pieces), BOUNDARY);
    let all = async {
        let mut found = Vec::new();
        loop {
            let Ok(field) = form.next_field().await else {
                return (found, true);
            };
            let Some(field) = field else {
                return (found, false);
            };
            let name = field.name().map(str::to_owned);
            let file = field.file_name().map(str::to_owned);
            let kind = field.content_type().map(ToString::to_string);
            let Ok(content) = field.bytes().await else {
                return (found, true);
            };
            found.push((name, file, kind, content));
        }
    };
    let mut all = std::pin::pin!(all);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        // Everything is there: nothing waits for long.
        if let Poll::Ready(read) = all.as_mut().poll(&mut context) {
            return read;
        }
    }
}
