//! What was served, request by request, for a checker to compare with what the gateway recorded.
//!
//! A record is opened when a request has been read and grows while its answer is sent, so it is
//! right at every moment. Keys are cut to four characters before they get here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::{Serialize, Serializer};

use crate::fault::Fault;
use crate::tokens::hex;

/// One request and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequestRecord {
    /// Number of the request, from 1, in the order in which requests were read.
    pub number: u64,
    /// The name the prompt gave the request with `[[id:…]]`.
    pub marker: Option<String>,
    /// The last four characters of the key, or of the access key id that signed.
    pub key: String,
    /// The model as it was sent, cut to 256 bytes.
    pub model: String,
    /// Whether a stream was asked for.
    pub stream: bool,
    /// The bytes received, if they are at most 64 KiB and the log was not full; empty otherwise.
    #[serde(serialize_with = "as_text")]
    pub body: Bytes,
    /// SHA-256 of the bytes received, always.
    #[serde(serialize_with = "as_hex")]
    pub body_sha256: [u8; 32],
    /// Names and values received, keys redacted, each value cut to 1 KiB.
    pub headers: Vec<(String, String)>,
    /// Path without the query.
    pub path: String,
    pub fault: Option<Fault>,
    /// Status that was sent; 0 if none was.
    pub status: u16,
    /// True size of the prompt, with what a cache held of it; 0 for a request that was refused.
    pub prompt_tokens: u64,
    /// How much of the prompt came from a cache.
    pub cache_read_tokens: u64,
    /// How much of it was written to one, for five minutes or for as long as a vendor without a
    /// choice keeps it.
    pub cache_written_5m_tokens: u64,
    /// The same, for an hour.
    pub cache_written_1h_tokens: u64,
    /// Tokens that were generated and handed to the socket. A whole answer counts when its last
    /// byte was handed over, a streamed one frame by frame.
    pub completion_tokens: u64,
    /// Prompt and completion tokens as they were told, lies included; `None` if they were not.
    pub told_usage: Option<(u64, u64)>,
    /// Whether every byte of a complete answer was handed over. A refusal counts; a body that
    /// stops short, lacks its `[DONE]` or is an error under status 200 does not.
    pub finished: bool,
    /// Whether the client went away before the end.
    pub client_left: bool,
    /// When the request had been read, by the simulator's clock.
    pub received_at_micros: u64,
}

/// The records, newest last.
#[derive(Debug)]
pub(crate) struct RequestLog {
    kept: Mutex<Kept>,
    max: usize,
}

/// One record that is still being written.
#[derive(Debug)]
pub(crate) struct Entry {
    record: Mutex<RequestRecord>,
}

#[derive(Serialize)]
pub(crate) struct Page {
    pub(crate) requests: Vec<RequestRecord>,
    /// Records that gave way to newer ones.
    pub(crate) forgotten: u64,
    /// Whether there are more behind the last one.
    pub(crate) has_more: bool,
}

#[derive(Debug, Default)]
struct Kept {
    entries: VecDeque<Arc<Entry>>,
    forgotten: u64,
    body_bytes: usize,
}

/// Longest body that is kept word for word.
pub(crate) const MAX_KEPT_BODY: usize = 64 * 1024;
/// Most bytes of bodies kept at one time; later ones are kept as their hash.
const MAX_KEPT_BODIES: usize = 256 * 1024 * 1024;

// === impl RequestLog ===

impl RequestLog {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            kept: Mutex::default(),
            max,
        }
    }

    /// Opens a record. The oldest gives way if there are too many, and is counted.
    pub(crate) fn open(&self, mut record: RequestRecord) -> Arc<Entry> {
        let mut kept = lock(&self.kept);
        let bytes = kept.body_bytes.saturating_add(record.body.len());
        if record.body.len() > MAX_KEPT_BODY || bytes > MAX_KEPT_BODIES {
            record.body = Bytes::new();
        } else {
            kept.body_bytes = bytes;
        }
        let entry = Arc::new(Entry {
            record: Mutex::new(record),
        });
        kept.entries.push_back(Arc::clone(&entry));
        while kept.entries.len() > self.max {
            if let Some(oldest) = kept.entries.pop_front() {
                let bytes = lock(&oldest.record).body.len();
                kept.body_bytes = kept.body_bytes.saturating_sub(bytes);
                kept.forgotten = kept.forgotten.saturating_add(1);
            }
        }
        entry
    }

    pub(crate) fn all(&self) -> Vec<RequestRecord> {
        let entries = lock(&self.kept).entries.clone();
        entries.iter().map(|entry| entry.copy()).collect()
    }

    /// Up to `limit` records with a number above `after`.
    pub(crate) fn page(&self, after: u64, limit: usize) -> Page {
        let (entries, forgotten) = {
            let kept = lock(&self.kept);
            (kept.entries.clone(), kept.forgotten)
        };
        let mut later = entries
            .iter()
            .map(|entry| entry.copy())
            .filter(|record| record.number > after);
        let requests: Vec<RequestRecord> = later.by_ref().take(limit).collect();
        Page {
            requests,
            forgotten,
            has_more: later.next().is_some(),
        }
    }

    pub(crate) fn forget(&self) {
        *lock(&self.kept) = Kept::default();
    }
}

// === impl Entry ===

impl Entry {
    pub(crate) fn note(&self, write: impl FnOnce(&mut RequestRecord)) {
        write(&mut lock(&self.record));
    }

    fn copy(&self) -> RequestRecord {
        lock(&self.record).clone()
    }
}

/// The body as text; what is not UTF-8 is known by its hash alone.
fn as_text<S: Serializer>(body: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    let text = std::str::from_utf8(body).ok();
    text.filter(|text| !text.is_empty()).serialize(serializer)
}

fn as_hex<S: Serializer>(hash: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex(hash))
}

/// A record is plain data: one that was being written while a thread died is still the best there
/// is.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64) -> RequestRecord {
        RequestRecord {
            number,
            body: Bytes::from_static(b"{}"),
            ..RequestRecord::default()
        }
    }

    #[test]
    fn the_oldest_record_gives_way_and_is_counted() {
        let requests = RequestLog::new(2);
        for number in 1..=3 {
            requests.open(record(number));
        }
        let page = requests.page(0, 1);
        assert_eq!(page.requests, [record(2)]);
        assert_eq!(page.forgotten, 1);
        assert!(page.has_more);
        assert!(!requests.page(2, 1).has_more);
    }

    #[test]
    fn a_body_is_kept_up_to_its_bound_and_not_beyond() {
        let requests = RequestLog::new(9);
        for extra in [0, 1] {
            let mut long = record(extra);
            long.body = Bytes::from(vec![b' '; MAX_KEPT_BODY + usize::try_from(extra).unwrap()]);
            requests.open(long);
        }
        let lengths: Vec<usize> = requests
            .all()
            .iter()
            .map(|record| record.body.len())
            .collect();
        assert_eq!(lengths, [MAX_KEPT_BODY, 0]);
    }

    #[test]
    fn a_record_that_is_still_written_shows_what_it_has() {
        let requests = RequestLog::new(9);
        let entry = requests.open(record(1));
        entry.note(|record| record.completion_tokens = 4);
        assert_eq!(requests.all().first().unwrap().completion_tokens, 4);
        assert_eq!(requests.all().len(), 1);
    }
}
