//! Events as server-sent events. A frame is written once and shared by all readers; only the line with
//! the cursor differs from reader to reader.

use bytes::Bytes;
use serde_json::{Map, Value, json};
use trunkline_db::bus::{EventCopy, LiveNotification};
use trunkline_db::events::Event;
use uuid::Uuid;

use super::cursor::{Cursor, Side};
use crate::task_id::task_name;

/// The first frame: a comment, so that proxies flush the head, and how soon to reconnect.
pub(crate) const BEGINNING: &str = ": trunkline events\nretry: 1000\n\n";
pub(crate) const HEARTBEAT: &str = ": still here\n\n";
/// The last frame of a node that stops.
pub(crate) const STOPPING: &str = ": this node is shutting down; reconnect\n\n";
/// The last frame for a key that is not valid any more.
pub(crate) const KEY_OVER: &str = ": this API key is no longer valid\n\n";
/// Reports that events were purged. It is no topic, so no filter can leave it out.
const GAP: &str = "stream.gap";

/// An event or news as it is told.
#[derive(Debug)]
pub(crate) struct SseFrame {
    /// Its number; 0 for news, which has none.
    pub(crate) seq: i64,
    pub(crate) topic: String,
    pub(crate) task: Option<Uuid>,
    frame: Bytes,
}

// === impl SseFrame ===

impl SseFrame {
    pub(crate) fn of_event(event: &Event) -> Self {
        let facts = RequestFacts {
            id: Some(event.id),
            seq: Some(event.seq),
            topic: &event.topic,
            task: event.task,
            seconds: event.created_at.seconds(),
        };
        facts.to_frame(&event.body)
    }

    pub(crate) fn of_copy(copy: &EventCopy) -> Self {
        let facts = RequestFacts {
            id: Some(copy.id),
            seq: Some(copy.seq),
            topic: &copy.topic,
            task: copy.task,
            seconds: copy.created_at().seconds(),
        };
        facts.to_frame(&copy.body)
    }

    pub(crate) fn of_news(news: &LiveNotification) -> Self {
        let facts = RequestFacts {
            id: None,
            seq: None,
            topic: &news.topic,
            task: news.task,
            seconds: news.created_at_micros.div_euclid(1_000_000),
        };
        facts.to_frame(&news.body)
    }

    /// The frame for a reader that is at this cursor once it has read it.
    pub(crate) fn at(&self, cursor: Cursor) -> Bytes {
        let mut frame = format!("id: {cursor}\n").into_bytes();
        frame.extend_from_slice(&self.frame);
        Bytes::from(frame)
    }

    /// The frame without a cursor: it does not move its reader.
    pub(crate) fn without_cursor(&self) -> Bytes {
        self.frame.clone()
    }
}

struct RequestFacts<'a> {
    id: Option<Uuid>,
    seq: Option<i64>,
    topic: &'a str,
    task: Option<Uuid>,
    seconds: i64,
}

impl RequestFacts<'_> {
    fn to_frame(&self, body: &Value) -> SseFrame {
        let mut data = Map::new();
        let mut put = |key: &str, value: Value| {
            data.insert(key.to_owned(), value);
        };
        if let Some(id) = self.id {
            put("id", json!(format!("evt_{}", id.simple())));
        }
        put("topic", json!(self.topic));
        put("created_at", json!(self.seconds));
        if let Some(seq) = self.seq {
            put("seq", json!(seq));
        }
        if let Some(task) = self.task {
            put("task_id", json!(task_name(task)));
        }
        // What the envelope says is not overwritten.
        for (key, value) in body.as_object().into_iter().flatten() {
            data.entry(key.as_str()).or_insert_with(|| value.clone());
        }
        let frame = format!("event: {}\ndata: {}\n\n", self.topic, Value::Object(data));
        SseFrame {
            seq: self.seq.unwrap_or(0),
            topic: self.topic.to_owned(),
            task: self.task,
            frame: Bytes::from(frame),
        }
    }
}

/// Reports which numbers are gone. The cursor is behind them, so that they are reported once.
pub(crate) fn gap(side: Side, from: i64, to: i64, cursor: Cursor) -> Bytes {
    let data = json!({ "topic": GAP, "of": side.as_str(), "from": from, "to": to });
    Bytes::from(format!("id: {cursor}\nevent: {GAP}\ndata: {data}\n\n"))
}

/// A place without an event: readers remember it and are told nothing.
pub(crate) fn cursor_frame(cursor: Cursor) -> Bytes {
    Bytes::from(format!("id: {cursor}\n\n"))
}

#[cfg(test)]
mod tests {
    use trunkline_types::{AccountId, Timestamp};

    use super::*;

    #[test]
    fn an_event_has_its_place_its_topic_and_one_line_of_data() {
        let event = Event {
            id: Uuid::from_u128(1),
            account: AccountId::new(3),
            seq: 9,
            topic: "task.failed".to_owned(),
            task: Some(Uuid::from_u128(2)),
            body: json!({ "seq": 1_000, "error": { "message": "two\nlines" } }),
            created_at: Timestamp::from_micros(1_700_000_000_900_000),
        };
        let cursor = Cursor {
            account: 9,
            system: 4,
        };
        let frame = SseFrame::of_event(&event).at(cursor);
        let text = std::str::from_utf8(&frame).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "id: a9-s4");
        assert_eq!(lines[1], "event: task.failed");
        let data: Value = serde_json::from_str(lines[2].strip_prefix("data: ").unwrap()).unwrap();
        let expected = json!({
            "id": "evt_00000000000000000000000000000001",
            "topic": "task.failed",
            "created_at": 1_700_000_000,
            "seq": 9,
            "task_id": "task_00000000000000000000000000000002",
            "error": { "message": "two\nlines" },
        });
        assert_eq!(data, expected);
        assert_eq!(&lines[3..], [""]);
    }
}
