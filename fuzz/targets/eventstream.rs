//! AWS event streams cut anywhere: the same messages or the same error, and no more than the input explains.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trunkline_fuzz::{chosen, cut};

use crate::source::eventstream::{EventStream, EventStreamError, Message};

/// The module alone: its crate needs an HTTP client and a TLS stack, which take minutes to build.
#[path = "../../crates/upstream/src"]
#[expect(dead_code, reason = "the other parts are used by the crate")]
mod source {
    pub(crate) mod eventstream;
}

fuzz_target!(|data: &[u8]| {
    let Some(([first, step], bytes)) = chosen(data) else {
        return;
    };
    let (messages, end) = read(&[bytes]);
    let held: usize = messages.iter().map(|message| message.payload.len()).sum();
    assert!(held <= bytes.len(), "{} bytes became {held}", bytes.len());
    assert_eq!(read(&cut(bytes, first, step)), (messages, end), "frames");
});

fn read(pieces: &[&[u8]]) -> (Vec<Message>, Result<(), EventStreamError>) {
    let mut stream = EventStream::default();
    let mut messages = Vec::new();
    for piece in pieces {
        stream.push(piece);
        loop {
            match stream.next_message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Err(error)),
            }
        }
    }
    (messages, stream.end())
}
