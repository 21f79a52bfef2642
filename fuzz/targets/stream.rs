//! Streams of every format, cut anywhere: the same events and the same bytes as uncut, for callers of
//! every format, and no more of them than came in can explain.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trunkline_fuzz::{
    assert_bounded, chosen, cut, events_of, format_of, frames_of, passed_on, written,
};

fuzz_target!(|data: &[u8]| {
    let Some(([choice, first, step], stream)) = chosen(data) else {
        return;
    };
    let from = format_of(choice);
    let exhausted = choice & 0x80 != 0;
    let pieces = cut(stream, first, step);
    let whole = events_of(from, &[stream]);
    assert_eq!(events_of(from, &pieces), whole, "events");
    let passed = passed_on(from, &[stream], exhausted);
    assert_eq!(passed_on(from, &pieces, exhausted), passed, "passed on");
    assert_bounded("passed on", stream.len(), passed.len());
    // One pair in an execution: the byte that chooses is mutated like all others.
    let to = format_of(choice >> 2);
    let out = written(to, &whole.0, exhausted);
    assert_bounded(to.as_str(), stream.len(), out.len());
    // Whatever order an upstream invents, what we write is a stream of JSON.
    for frame in frames_of(&[&out]) {
        let Some(data) = frame.data.filter(|data| data.as_ref() != b"[DONE]") else {
            continue;
        };
        assert!(
            serde_json::from_slice::<&serde_json::value::RawValue>(&data).is_ok(),
            "a stream of {} that nobody can read",
            to.as_str()
        );
    }
});
