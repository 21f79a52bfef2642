//! The way of a conversation through the crate, as the gateway goes it: a request into another format,
//! an answer or a stream back to the caller.

use serde_json::{Map, Value};
use trunkline_types::{Money, Units};
use trunkline_wire::canon::{
    Conversation, Counted, Event, Meter, Restored, Target, Thread, Written,
};
use trunkline_wire::{
    AnswerError, Cost, Ending, Format, Frame, Frames, Reader, Rewrite, Seen, Shown, Tap, Trouble,
    Writer, error_frame, read_answer, rewrite_whole, write_answer, write_request,
};

/// The channel of every call here.
pub(crate) const CHANNEL: &str = "7";
/// Frames of an upstream that wait for the end at most.
const MAX_HELD: usize = 32;

/// Writes a conversation for an upstream of a format.
pub(crate) fn sent(to: Format, conversation: &Conversation) -> Written {
    let target = Target {
        model: "upstream-model",
        // Anthropic wants a length always.
        max_output: conversation
            .max_output
            .or((to == Format::ClaudeMessages).then_some(32_000)),
        // As its caller expects of it.
        thinks_by_effort: conversation.reasoning.effort.is_some(),
        channel: None,
        ..Target::default()
    };
    write_request(to, conversation, &target)
}

/// What the caller of a format gets for a whole answer.
pub(crate) fn answered(
    from: Format,
    to: Format,
    body: &[u8],
    thread: &Thread,
) -> Result<Vec<u8>, AnswerError> {
    if from == to {
        trunkline_wire::read_whole(from, body)?;
        let renamed = rewrite_whole(from, body, &rewrite());
        return Ok(renamed.map_or_else(|| body.to_vec(), |bytes| bytes.to_vec()));
    }
    let answer = thread.restore(read_answer(from, body)?);
    Ok(write_answer(to, &answer, &shown(to)))
}

/// What the caller of a format gets for a stream, whatever pieces it comes in.
pub(crate) fn streamed(from: Format, to: Format, pieces: &[&[u8]], thread: &Thread) -> Vec<u8> {
    if from == to {
        passed_on(from, pieces)
    } else {
        translated(from, to, pieces, thread)
    }
}

/// Cuts pieces into frames.
pub(crate) fn frames(pieces: &[&[u8]]) -> Vec<Frame> {
    let mut frames = Frames::default();
    let mut found = Vec::new();
    for piece in pieces {
        frames.push(piece);
        while let Some(frame) = frames.take().unwrap() {
            found.push(frame);
        }
    }
    found.extend(frames.rest());
    found
}

/// What happens in a stream, and whether it came to its end.
pub(crate) fn events(from: Format, pieces: &[&[u8]]) -> (Vec<Event>, bool) {
    let mut reader = Reader::new(from);
    let mut events = Vec::new();
    for frame in frames(pieces) {
        match reader.read(&frame, &mut events) {
            Seen::Failed(_) => return (events, false),
            Seen::Garbage => panic!("{}: {frame:?}", from.word()),
            Seen::Piece | Seen::Held | Seen::Last | Seen::Done | Seen::Nothing => {}
        }
    }
    let fine = reader.end(&mut events);
    (events, fine)
}

fn translated(from: Format, to: Format, pieces: &[&[u8]], thread: &Thread) -> Vec<u8> {
    let (events, fine) = events(from, pieces);
    let mut restored = Restored::new(thread.clone());
    let mut meter = Meter::default();
    let mut writer = Writer::new(to, shown(to));
    let (mut told, mut out) = (Vec::new(), Vec::new());
    for event in events {
        meter.see(&event);
        restored.pass(event, &mut told);
    }
    for event in &told {
        writer.write(event, &mut out);
    }
    if fine {
        let counted = meter.told().cloned().unwrap_or_default();
        writer.finish(&ending(counted), &mut out);
    } else {
        out.extend(error_frame(to, &trouble()));
    }
    out
}

fn passed_on(format: Format, pieces: &[&[u8]]) -> Vec<u8> {
    let mut tap = Tap::new(format);
    let (mut held, mut out) = (Vec::new(), Vec::new());
    for frame in frames(pieces) {
        match tap.see(&frame) {
            Seen::Piece => out.extend_from_slice(&tap.rewrite(&frame, &rewrite())),
            Seen::Held | Seen::Last => held.push(frame),
            Seen::Done | Seen::Nothing => {}
            Seen::Failed(_) => {
                out.extend(error_frame(format, &trouble()));
                return out;
            }
            Seen::Garbage => panic!("{}: {frame:?}", format.word()),
        }
    }
    assert!(held.len() <= MAX_HELD);
    assert!(tap.may_end(), "{}", format.word());
    let counted = tap.told().unwrap_or_default();
    out.extend(tap.goodbye(&held, &ending(counted), "public/model", &rewrite()));
    out
}

/// What an answer is shown with. Responses repeat what was asked.
pub(crate) fn shown(to: Format) -> Shown {
    let asked = || {
        let mut asked = Map::new();
        asked.insert("temperature".to_owned(), Value::from(0.5));
        asked
    };
    Shown {
        model: "public/model".to_owned(),
        id: "0192f0c1a2b3".to_owned(),
        created: 1_760_000_000,
        wants_usage: true,
        channel: Some(CHANNEL.to_owned()),
        asked: (to == Format::OpenaiResponses).then(asked),
    }
}

fn rewrite() -> Rewrite {
    Rewrite {
        model: Some("public/model".to_owned()),
        id: Some("resp_0192f0c1a2b3".to_owned()),
        previous: None,
        channel: Some(CHANNEL.to_owned()),
    }
}

fn ending(counted: Counted) -> Ending {
    Ending {
        counted,
        cost: Cost {
            total: Money::from_nanos(1_234_000),
            tier: "standard".to_owned(),
            units: Units::none(),
        },
        exhausted: false,
        wants_usage: true,
    }
}

fn trouble() -> Trouble {
    Trouble {
        status: 502,
        code: "upstream_failed".to_owned(),
        family: "upstream_error",
        message: "the upstream broke off".to_owned(),
        param: None,
        request_id: "0192".to_owned(),
        retryable: true,
        doc_url: "docs/errors.md#upstream_failed".to_owned(),
        retry_after: None,
        extras: Map::new(),
    }
}

/// Whether committed files are to be written anew.
#[expect(
    clippy::disallowed_methods,
    reason = "a test that writes its own snapshots when told to"
)]
pub(crate) fn is_updating() -> bool {
    std::env::var_os("UPDATE").is_some_and(|it| it == "1")
}
