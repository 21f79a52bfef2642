//! The end of a stream: why it stopped, what was used and what that cost, once the charge is durable.

use serde_json::{Value, json};

use super::response_out::{id_out, stop_out};
use super::rewrite::rewrite_frame;
use super::stream_in::Reader;
use super::usage::written;
use crate::canonical::{ReportedUsage, Stop};
use crate::{
    Edit, Frame, Rewrite, StreamEnd, cost_comment, event_frame, json_bytes, patch, priced, scan,
};

impl Reader {
    /// The end of a stream that was passed on.
    pub(crate) fn write_end(
        &mut self,
        held: &[Frame],
        stream_end: &StreamEnd,
        rewrite: &Rewrite,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        let last = held.split_last().filter(|_| !stream_end.exhausted);
        if let Some((last, before)) = last {
            for frame in before {
                out.extend_from_slice(&rewrite_frame(frame, rewrite));
            }
            out.extend_from_slice(&with_cost(last, stream_end));
        } else {
            self.end_ourselves(stream_end, rewrite, &mut out);
        }
        out.extend_from_slice(cost_comment(&stream_end.cost).as_bytes());
        out.extend_from_slice(STOP_FRAME);
        self.ended = true;
        out
    }

    /// What the upstream did not come to say.
    fn end_ourselves(&mut self, stream_end: &StreamEnd, rewrite: &Rewrite, out: &mut Vec<u8>) {
        if !self.begun {
            self.begun = true;
            let model = rewrite.model.as_deref().unwrap_or_default();
            start_frame("", model, &stream_end.reported, out);
        }
        for index in std::mem::take(&mut self.open).into_keys() {
            stop_block(index, out);
        }
        let stop = if stream_end.exhausted {
            Stop::Length
        } else {
            self.stop.clone().unwrap_or_default()
        };
        end_frame(&stop, stream_end, out);
    }
}

/// The frame behind which nothing comes.
pub(super) const STOP_FRAME: &[u8] = b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// The frame that a response begins with.
pub(super) fn start_frame(id: &str, model: &str, reported: &ReportedUsage, out: &mut Vec<u8>) {
    let begin = json!({
        "type": "message_start",
        "message": {
            "id": id_out(id),
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": written(reported),
        },
    });
    frame("message_start", &begin, out);
}

/// The frame that closes a block.
pub(super) fn stop_block(index: u32, out: &mut Vec<u8>) {
    let stop = json!({ "type": "content_block_stop", "index": index });
    frame("content_block_stop", &stop, out);
}

/// The frame that says why it stopped, with usage and cost.
pub(super) fn end_frame(stop: &Stop, stream_end: &StreamEnd, out: &mut Vec<u8>) {
    let (reason, sequence) = stop_out(stop);
    let end = json!({
        "type": "message_delta",
        "delta": { "stop_reason": reason, "stop_sequence": sequence },
        "usage": written(&stream_end.reported),
    });
    let plain = end.to_string();
    let priced = priced_data(plain.as_bytes(), stream_end);
    let data = priced.as_deref().unwrap_or(plain.as_bytes());
    event_frame(Some("message_delta"), data, out);
}

pub(super) fn frame(event: &str, data: &Value, out: &mut Vec<u8>) {
    event_frame(Some(event), &json_bytes(data), out);
}

/// The upstream's own frame, with what it cost.
fn with_cost(frame: &Frame, stream_end: &StreamEnd) -> Vec<u8> {
    let priced = frame
        .data
        .as_ref()
        .and_then(|data| priced_data(data, stream_end));
    match priced {
        Some(data) => {
            let mut out = Vec::new();
            event_frame(frame.event.as_deref(), &data, &mut out);
            out
        }
        None => frame.raw.to_vec(),
    }
}

fn priced_data(data: &[u8], stream_end: &StreamEnd) -> Option<Vec<u8>> {
    let event = scan(data).ok()?;
    let reported = event.value("usage").filter(|value| *value != b"null");
    let usage = match reported {
        Some(usage) => priced(usage, &stream_end.cost)?,
        None => {
            let ours = Value::Object(written(&stream_end.reported)).to_string();
            priced(ours.as_bytes(), &stream_end.cost)?
        }
    };
    Some(patch(&event, &[Edit::Set("usage", usage)]))
}
