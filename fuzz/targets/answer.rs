//! Whole answers of every format: metered, renamed, and written for callers of every format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trunkline_fuzz::{assert_bounded, chosen, error_of, format_of, frames_of, shown};
use trunkline_wire::canonical::{Meter, TranslationState};
use trunkline_wire::{
    Rewrite, error_body, error_frame, read_response, rewrite_response, scan, scan_response,
    write_response,
};

fuzz_target!(|data: &[u8]| {
    let Some(([choice], body)) = chosen(data) else {
        return;
    };
    let from = format_of(choice);
    let rewrite = Rewrite {
        model: Some("public".to_owned()),
        id: Some("resp_sealed".to_owned()),
        channel: Some("7".to_owned()),
        ..Rewrite::default()
    };
    let error = error_of(body);
    let to = format_of(choice >> 2);
    let told = error_body(to, &error).to_string();
    assert_bounded("error", body.len(), told.len());
    let frames = frames_of(&[&error_frame(to, &error)]);
    assert!(frames.iter().any(|frame| frame.data.is_some()));
    let whole = scan_response(from, body);
    if let Some(renamed) = rewrite_response(from, body, &rewrite) {
        assert_bounded("renamed", body.len(), renamed.len());
        scan(&renamed).expect("a renamed answer is JSON");
    }
    let Ok(answer) = read_response(from, body) else {
        return;
    };
    if let Ok(whole) = whole {
        assert_eq!(whole.reported, answer.reported, "one answer, two bills");
    }
    let answer = TranslationState::default().restore(answer);
    let _ = Meter::of_response(&answer).written();
    let written = write_response(to, &answer, &shown());
    assert_bounded(to.as_str(), body.len(), written.len());
    assert!(
        serde_json::from_slice::<&serde_json::value::RawValue>(&written).is_ok(),
        "an answer of {} that is no JSON",
        to.as_str()
    );
});
