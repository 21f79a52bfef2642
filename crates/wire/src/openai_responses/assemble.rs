//! Events of a stream to a whole response: its last event repeats all of it.

use bytes::Bytes;
use serde_json::Value;

use super::stream_in::Reader;
use crate::canonical::Event;
use crate::{Ending, Frame, FrameKind, json_bytes, scan};

/// One response while its events are read.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    reader: Reader,
    events: Vec<Event>,
    /// The response as its last event has it.
    whole: Option<Bytes>,
}

impl Assembly {
    pub(crate) fn push(&mut self, frame: &Frame) {
        self.events.clear();
        if self.reader.read(frame, &mut self.events) != FrameKind::Last {
            return;
        }
        let data = frame.data.as_deref().unwrap_or_default();
        let response = scan(data).ok();
        let response = response.as_ref().and_then(|event| event.value("response"));
        self.whole = response.map(Bytes::copy_from_slice);
    }

    pub(crate) fn finish(mut self, ending: Ending) -> Option<Bytes> {
        match ending {
            Ending::Upstream => self.whole,
            Ending::Length => {
                let response = self.reader.cut_response()?;
                Some(Bytes::from(json_bytes(&Value::Object(response))))
            }
        }
    }
}
