//! The end of a stream that was passed on: its end, with what it cost; or the end it would have
//! had at its length, when the money does not reach further.

use serde_json::{Map, Value};

use super::item::CUT;
use super::item_events::EventWriter;
use super::response_object::end;
use super::rewrite::{mark_value, rewrite_data, rewrite_frame};
use super::stream_in::Reader;
use super::usage::write_usage;
use crate::{
    Edit, Frame, Rewrite, StreamEnd, cost_comment, event_frame, json_bytes, patch, priced, scan,
};

/// A response with what it cost. The number is written digit by digit: no float comes near it.
pub(super) fn with_cost(response: &[u8], stream_end: &StreamEnd) -> Vec<u8> {
    let written = || {
        let object = scan(response).ok()?;
        let reported = object
            .value("usage")
            .filter(|usage| usage.starts_with(b"{"));
        let ours = write_usage(&stream_end.reported).to_string();
        let usage = priced(reported.unwrap_or(ours.as_bytes()), &stream_end.cost)?;
        Some(patch(&object, &[Edit::Set("usage", usage)]))
    };
    written().unwrap_or_else(|| response.to_vec())
}

impl Reader {
    pub(crate) fn write_end(
        &mut self,
        held: &[Frame],
        stream_end: &StreamEnd,
        rewrite: &Rewrite,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        match held.split_last() {
            Some((last, before)) if !stream_end.exhausted => {
                for frame in before {
                    out.extend_from_slice(&rewrite_frame(frame, rewrite));
                }
                out.extend_from_slice(cost_comment(&stream_end.cost).as_bytes());
                last_frame(last, stream_end, rewrite, &mut out);
            }
            Some(_) | None => self.cut_off(stream_end, rewrite, &mut out),
        }
        out
    }

    /// Closes everything, and says that the response was cut off at its length.
    fn cut_off(&mut self, stream_end: &StreamEnd, rewrite: &Rewrite, out: &mut Vec<u8>) {
        let mut writer = EventWriter {
            next: self.next_sequence,
        };
        let mut output = self.cut_output(&mut writer, out);
        for item in &mut output {
            mark_value(item, rewrite.channel.as_deref());
        }
        let first = self.first.as_ref().map_or("{}", |first| first.get());
        let mut response: Map<String, Value> = serde_json::from_str(first).unwrap_or_default();
        let kind = end(
            &mut response,
            output,
            Some(&stream_end.reported),
            Some("max_output_tokens"),
        );
        for (field, name) in [
            ("id", &rewrite.id),
            ("model", &rewrite.model),
            ("previous_response_id", &rewrite.previous),
        ] {
            if let Some(name) = name {
                response.insert(field.to_owned(), Value::String(name.clone()));
            }
        }
        let response = with_cost(&json_bytes(&Value::Object(response)), stream_end);
        out.extend_from_slice(cost_comment(&stream_end.cost).as_bytes());
        writer.lifecycle(kind, &response, out);
        self.next_sequence = writer.next;
    }

    /// Closes everything, and gives the items as they are then.
    fn cut_output(&mut self, writer: &mut EventWriter, out: &mut Vec<u8>) -> Vec<Value> {
        let mut output = Vec::with_capacity(self.items.len());
        for tracked in self.items.values_mut() {
            if tracked.item.ended.is_none() {
                writer.close(&mut tracked.item, CUT, out);
            }
            let whole = tracked.whole.clone();
            output.push(whole.unwrap_or_else(|| tracked.item.ended()));
        }
        output
    }

    /// The response as if its length had ended it here, without usage; none if it has not begun.
    pub(super) fn cut_response(&mut self) -> Option<Map<String, Value>> {
        let mut response = serde_json::from_str(self.first.as_ref()?.get()).ok()?;
        let mut writer = EventWriter { next: 0 };
        // The events are for a stream that goes on; here only the items count.
        let output = self.cut_output(&mut writer, &mut Vec::new());
        end(&mut response, output, None, Some("max_output_tokens"));
        Some(response)
    }
}

fn last_frame(frame: &Frame, stream_end: &StreamEnd, rewrite: &Rewrite, out: &mut Vec<u8>) {
    let written = || {
        let data = frame.data.as_deref()?;
        let renamed = rewrite_data(frame, data, rewrite);
        let data = renamed.as_deref().unwrap_or(data);
        let object = scan(data).ok()?;
        let response = with_cost(object.value("response")?, stream_end);
        Some(patch(&object, &[Edit::Set("response", response)]))
    };
    match written() {
        Some(data) => event_frame(frame.event.as_deref(), &data, out),
        None => out.extend_from_slice(&frame.raw),
    }
}
