//! What was said and heard, call by call, for checkers that compare it with what was charged.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// What a call was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AudioWork {
    Speech,
    /// A file was written down, in its own language.
    Transcription,
    /// A file was written down in English.
    Translation,
    /// A task was taken that writes a file down; it is here from the moment at which it is taken.
    Task,
}

/// One call that was taken. Refused ones, and those that met a fault instead of an answer, are in the
/// truth alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AudioCall {
    /// The number of its request in the requests.
    pub number: u64,
    pub vendor: &'static str,
    pub work: AudioWork,
    /// The model as it was sent.
    pub model: String,
    /// The last four characters of the key.
    pub key: String,
    /// The name a text gave it with `[[id:…]]`.
    pub marker: Option<String>,
    /// The name of the task, if it is one.
    pub task: Option<String>,
    /// Characters that were spoken.
    pub characters: u64,
    /// The format of what was spoken.
    pub format: Option<&'static str>,
    /// The length of what was spoken or heard.
    pub millis: u64,
    /// The bytes of the file that was heard; of speech none are counted, the truth tells how much of
    /// it was handed over.
    pub bytes: u64,
    /// SHA-256 of the file that was heard, in hexadecimal.
    pub sha256: Option<String>,
    pub text: Option<String>,
}

/// The calls, newest last.
#[derive(Debug)]
pub(crate) struct Calls {
    all: Mutex<VecDeque<AudioCall>>,
    max: usize,
}

// === impl Calls ===

impl Calls {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            all: Mutex::default(),
            max,
        }
    }

    pub(crate) fn add(&self, call: AudioCall) {
        let mut all = self.inner();
        all.push_back(call);
        while all.len() > self.max {
            all.pop_front();
        }
    }

    /// Adds to a call that is there, if it still is.
    pub(crate) fn note(&self, number: u64, write: impl FnOnce(&mut AudioCall)) {
        let mut all = self.inner();
        if let Some(call) = all.iter_mut().rev().find(|call| call.number == number) {
            write(call);
        }
    }

    pub(crate) fn all(&self) -> Vec<AudioCall> {
        self.inner().iter().cloned().collect()
    }

    pub(crate) fn forget(&self) {
        self.inner().clear();
    }

    fn inner(&self) -> MutexGuard<'_, VecDeque<AudioCall>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
