//! What was ordered and made: a record for each request that was taken, and the pictures that links
//! lead to.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;

use crate::fault::Fault;
use crate::picture::Picture;

/// One request that was taken. Requests that were refused for what they asked have none; whether every
/// byte of the answer was handed over stands in the record of truth with the same number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImageCall {
    /// The number of its record of requests.
    pub number: u64,
    /// `openai`, `minimax`, `dashscope` or `ark`.
    pub vendor: &'static str,
    /// As it was asked for.
    pub model: String,
    /// The last four characters.
    pub key: String,
    /// Its name, if the prompt gave one.
    pub marker: Option<String>,
    /// Whether pictures were to be changed and not made from nothing.
    pub is_edit: bool,
    /// Pictures that came with the request.
    pub sources: u32,
    /// Whether a mask came with them.
    pub has_mask: bool,
    /// Pictures that were asked for, the vendor's default included.
    pub requested: u32,
    /// Pictures that the answer has. None if a fault came instead of an answer.
    pub made: u32,
    /// Pictures that the answer tells, or hides, as failed.
    pub failed: u32,
    /// Pixels of each.
    pub width: u32,
    /// Pixels of each.
    pub height: u32,
    /// `png` or `jpeg`.
    pub format: &'static str,
    /// Whether the answer has links and not the pictures themselves.
    pub by_link: bool,
    /// Whether the vendor's mark stands in them.
    pub has_watermark: bool,
    /// The quality that was made, where there are several.
    pub quality: Option<String>,
    /// The fields of the request, without files and with long texts cut.
    pub fields: Value,
    /// The SHA-256 of every picture that came as bytes, the mask last, in hexadecimal digits.
    pub files: Vec<String>,
    pub fault: Option<Fault>,
}

/// What a link leads to.
#[derive(Clone, Debug)]
pub(crate) enum StoredImage {
    Picture(Picture),
    Garbage,
    Nothing,
}

/// Records and pictures, oldest first.
#[derive(Debug)]
pub(crate) struct ImageStore {
    inside: Mutex<Inner>,
    max: usize,
}

#[derive(Debug, Default)]
struct Inner {
    calls: VecDeque<ImageCall>,
    names: VecDeque<String>,
    stored: HashMap<String, StoredImage>,
}

/// Pictures whose links work at one time; a picture is a few words, it is drawn when it is asked for.
const MAX_HUNG: usize = 200_000;

// === impl ImageStore ===

impl ImageStore {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            inside: Mutex::default(),
            max,
        }
    }

    /// A copy of all records.
    pub(crate) fn calls(&self) -> Vec<ImageCall> {
        self.lock().calls.iter().cloned().collect()
    }

    /// Drops all records; links go on working.
    pub(crate) fn forget(&self) {
        self.lock().calls.clear();
    }

    pub(crate) fn note(&self, call: ImageCall) {
        let mut inside = self.lock();
        inside.calls.push_back(call);
        while inside.calls.len() > self.max {
            inside.calls.pop_front();
        }
    }

    pub(crate) fn store(&self, name: String, stored: StoredImage) {
        let mut inside = self.lock();
        inside.names.push_back(name.clone());
        inside.stored.insert(name, stored);
        while inside.names.len() > MAX_HUNG {
            if let Some(oldest) = inside.names.pop_front() {
                inside.stored.remove(&oldest);
            }
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<StoredImage> {
        self.lock().stored.get(name).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Plain data: after a thread died it is still the best there is.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
