//! Bodies of every format: read or refused, patched into JSON, and written in every format.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use trunkline_fuzz::{assert_bounded, chosen, format_of};
use trunkline_wire::canonical::Target;
use trunkline_wire::{CapName, Format, Outgoing, PathParams, Request, scan, write_request};

fuzz_target!(|data: &[u8]| {
    let Some(([choice], body)) = chosen(data) else {
        return;
    };
    let from = format_of(choice);
    let path = PathParams {
        model: (from == Format::Gemini).then_some("public"),
        stream: choice & 0x40 != 0,
    };
    let Ok(request) = Request::read(from, Bytes::copy_from_slice(body), path) else {
        return;
    };
    let out = Outgoing {
        model: "upstream",
        max_output: Some(100),
        cap_name: match choice & 0x30 {
            0x00 => CapName::Either,
            0x10 => CapName::MaxCompletionTokens,
            _ => CapName::MaxTokens,
        },
        without: &["temperature".to_owned(), "metadata.user_id".to_owned()],
        with: &[("service_tier".to_owned(), "\"flex\"".to_owned())],
        ..Outgoing::default()
    };
    scan(&request.outgoing(&out)).expect("a patched body is JSON");
    let Ok(conversation) = request.canonical() else {
        return;
    };
    let target = Target {
        model: "upstream",
        max_output: Some(4_000),
        thinks_by_effort: choice & 0x80 != 0,
        channel: Some("7"),
        ..Target::default()
    };
    let to = format_of(choice >> 2);
    let written = write_request(to, &conversation, &target);
    assert_bounded(to.as_str(), body.len(), written.body.len());
    if written.notes.first_refused().is_none() {
        let path = PathParams {
            model: Some("upstream"),
            stream: false,
        };
        let again = Request::read(to, Bytes::from(written.body), path);
        // Only what is too deep, or beyond what the other format takes, may be refused there.
        if let Ok(again) = again {
            let _ = again.canonical();
        }
    }
});
