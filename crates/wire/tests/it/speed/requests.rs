//! Requests of every format into every other.

use bytes::Bytes;
use trunkline_wire::canonical::Conversation;
use trunkline_wire::{Format, Outgoing, PathParams, Request, write_request};

use crate::speed::clock::{cost_of, pairs};
use crate::speed::samples::{MODEL, body, long, short, target};

/// Gemini's address says what the bodies of others do.
const PATH: PathParams<'static> = PathParams {
    model: Some(MODEL),
    stream: true,
};

/// Read and written, as the gateway does it: patched in its own format, through canon into another.
fn sent(from: Format, to: Format, body: &Bytes) -> Bytes {
    let path = if from == Format::Gemini {
        PATH
    } else {
        PathParams::default()
    };
    let request = Request::read(from, body.clone(), path).unwrap();
    if from == to {
        return request.outgoing(&Outgoing {
            model: "upstream-model",
            max_output: Some(256),
            ..Outgoing::default()
        });
    }
    let conversation = request.canonical().unwrap();
    Bytes::from(write_request(to, &conversation, &target()).body)
}

fn measured(name: &str, conversation: &Conversation, sizes: std::ops::Range<usize>) {
    let bodies = Format::ALL.map(|format| Bytes::from(body(format, conversation)));
    let lengths = bodies.each_ref().map(Bytes::len);
    assert!(
        lengths.iter().all(|length| sizes.contains(length)),
        "{lengths:?} bytes are no {name} request"
    );
    let of = |format: Format| {
        let place = Format::ALL.iter().position(|one| *one == format).unwrap();
        &bodies[place]
    };
    let title = format!("{name} request, {lengths:?} bytes: CPU-ns for each");
    let costs = pairs(&title, "caller \\ upstream", |from, to| {
        let body = of(from);
        let out = sent(from, to, body);
        let repeated = Request::read(to, out, PATH).unwrap();
        let lost = format!("{} to {}: something is lost", from.as_str(), to.as_str());
        assert_eq!(
            repeated.canonical().unwrap().turns.len(),
            conversation.turns.len(),
            "{lost}"
        );
        cost_of(|| drop(sent(from, to, body)))
    });
    assert!(costs.iter().all(|(_, _, nanos)| *nanos > 0.0));
}

#[test]
#[ignore = "a measurement: `just translation-speed`"]
fn what_a_request_costs() {
    measured("short", &short(), 850..1_150);
    measured("long", &long(), 60_000..90_000);
}
