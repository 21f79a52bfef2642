//! What clients asked and what they were told, one line each, written before the next step is taken:
//! a line that was written survives the kill of its writer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use trunkline_types::RequestId;

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum CallOperation {
    Reserve,
    Extend,
    Settle,
    Void,
    Refund,
    /// A refund of a part, under its own kind.
    Adjust,
    TopUp,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answered {
    /// Held, charged, let go, given back or put in, now.
    Done,
    /// It was resolved before, by a charge or not.
    Before { charged: bool },
    /// Too little, or nothing to do it with.
    Refused,
    /// The ledger cannot be reached: not done, or taken back.
    Unavailable,
    /// The process was replaced.
    Stale,
    /// The database would not have it, which nothing here deserves.
    Rejected(String),
}

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Event {
    Requested {
        word: CallOperation,
        request: RequestId,
        amount: i64,
    },
    Answered {
        word: CallOperation,
        request: RequestId,
        answered: Answered,
        amount: i64,
    },
    /// An order of the test's was carried out.
    Did {
        order: u64,
        what: String,
        count: i64,
    },
}

/// The writer's end.
pub(crate) struct HistoryWriter(Mutex<File>);

/// The reader's end, and everything read so far.
pub(crate) struct History {
    path: PathBuf,
    read: u64,
    torn: Vec<u8>,
    pub(crate) events: Vec<Event>,
    /// The process was killed or replaced: a caller without an answer does not know the outcome.
    pub(crate) died: bool,
}

// === impl HistoryWriter ===

impl HistoryWriter {
    pub(crate) fn at(path: &Path) -> Self {
        let file = File::options().create(true).append(true).open(path);
        Self(Mutex::new(file.expect("the diary can be written")))
    }

    pub(crate) fn write(&self, event: &Event) {
        let mut line = serde_json::to_vec(event).expect("an event is plain data");
        line.push(b'\n');
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).expect("the diary can be written");
    }
}

// === impl History ===

impl History {
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read: 0,
            torn: Vec::new(),
            events: Vec::new(),
            died: false,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what was written since.
    pub(crate) fn read_on(&mut self) {
        let Ok(mut file) = File::open(&self.path) else {
            return; // the process has not come so far
        };
        file.seek(SeekFrom::Start(self.read)).unwrap();
        let mut bytes = std::mem::take(&mut self.torn);
        // Not from the beginning: a busy process writes megabytes.
        let count = BufReader::new(file).read_to_end(&mut bytes).unwrap();
        self.read += u64::try_from(count).unwrap();
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        self.torn = bytes.split_off(whole);
        let lines = bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        self.events
            .extend(lines.map(|line| serde_json::from_slice::<Event>(line).unwrap()));
    }

    /// The answer to an order, if it was carried out.
    pub(crate) fn did(&self, number: u64) -> Option<i64> {
        self.events.iter().rev().find_map(|event| match event {
            Event::Did { order, count, .. } if *order == number => Some(*count),
            Event::Did { .. } | Event::Requested { .. } | Event::Answered { .. } => None,
        })
    }

    /// What is unanswered, by operation.
    pub(crate) fn in_flight(&self) -> BTreeMap<CallOperation, i64> {
        let mut open = BTreeMap::new();
        for event in &self.events {
            match event {
                Event::Requested { word, .. } => *open.entry(*word).or_default() += 1,
                Event::Answered { word, .. } => *open.entry(*word).or_default() -= 1,
                Event::Did { .. } => {}
            }
        }
        open.retain(|_, count| *count != 0);
        open
    }

    /// All calls that clients asked for.
    pub(crate) fn requests(&self) -> BTreeSet<RequestId> {
        let request_of = |event: &Event| match event {
            Event::Requested { request, .. } => Some(*request),
            Event::Answered { .. } | Event::Did { .. } => None,
        };
        self.events.iter().filter_map(request_of).collect()
    }

    /// How often each answer was given, for the report.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for event in &self.events {
            if let Event::Answered { word, answered, .. } = event {
                *counts.entry(format!("{word:?} {answered:?}")).or_default() += 1;
            }
        }
        counts
    }
}
