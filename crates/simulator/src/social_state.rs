//! What the source of social data remembers: its calls, the paths that are gone, and who asked how
//! often in the last second.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::fault::SocialFault;

/// How the source of social data is set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocialSettings {
    /// Requests of one token in a second, one more is refused; none is no limit. The vendor says
    /// [`VENDORS_RATE`](Self::VENDORS_RATE).
    pub requests_per_second: Option<usize>,
}

/// The record of a call, for checkers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SocialCall {
    /// Number of the request in the requests.
    pub number: u64,
    /// GET or POST.
    pub method: String,
    pub path: String,
    /// The query as it was received, not decoded.
    pub query: String,
    /// The body as it was received, if it is at most 64 KiB; empty otherwise.
    pub body: String,
    /// Names and values: decoded once, in their order; JSON that is no text as it was written.
    pub params: Vec<(String, String)>,
    /// The last four characters of the token.
    pub key: String,
    /// The name that a parameter gave it with `[[id:…]]`.
    pub marker: Option<String>,
    pub fault: Option<SocialFault>,
    /// Status that was decided; 0 if there is no answer.
    pub status: u16,
    /// Whether the vendor charges for it: status 200, whatever stands in the body.
    pub is_billed: bool,
    /// What it costs at the vendor, in millionths of a dollar; 0 if it is not billed.
    pub cost_micros: u64,
}

/// The memory of one simulator.
#[derive(Debug)]
pub(crate) struct Social {
    settings: SocialSettings,
    max_calls: usize,
    calls: Mutex<VecDeque<SocialCall>>,
    retired: Mutex<BTreeSet<String>>,
    recent: Mutex<HashMap<String, VecDeque<u64>>>,
}

/// Most tokens whose last second is remembered.
const MAX_TOKENS: usize = 10_000;
/// Most paths that are gone; there are a hundred.
const MAX_RETIRED: usize = 1_000;
const SECOND_MICROS: u64 = 1_000_000;

// === impl SocialSettings ===

impl SocialSettings {
    /// What the vendor states for each account.
    pub const VENDORS_RATE: usize = 10;
}

// === impl Social ===

impl Social {
    pub(crate) fn new(settings: SocialSettings, max_calls: usize) -> Self {
        Self {
            settings,
            max_calls,
            calls: Mutex::default(),
            retired: Mutex::default(),
            recent: Mutex::default(),
        }
    }

    /// Keeps a call; the oldest gives way if there are too many.
    pub(crate) fn keep(&self, call: SocialCall) {
        let mut calls = lock(&self.calls);
        calls.push_back(call);
        while calls.len() > self.max_calls {
            calls.pop_front();
        }
    }

    /// Copies of all calls, oldest first.
    pub(crate) fn calls(&self) -> Vec<SocialCall> {
        lock(&self.calls).iter().cloned().collect()
    }

    pub(crate) fn forget(&self) {
        lock(&self.calls).clear();
    }

    /// What all billed calls that are kept cost.
    pub(crate) fn spent_micros(&self) -> u64 {
        let calls = lock(&self.calls);
        let costs = calls.iter().map(|call| call.cost_micros);
        costs.fold(0, u64::saturating_add)
    }

    /// Takes a path away. Beyond the bound nothing more is taken away.
    pub(crate) fn retire(&self, path: &str) {
        let mut retired = lock(&self.retired);
        if retired.len() < MAX_RETIRED {
            retired.insert(path.to_owned());
        }
    }

    pub(crate) fn restore(&self) {
        lock(&self.retired).clear();
    }

    pub(crate) fn is_retired(&self, path: &str) -> bool {
        lock(&self.retired).contains(path)
    }

    /// Whether a token may ask now; it counts if it may.
    pub(crate) fn may_ask(&self, token: &str, now_micros: u64) -> bool {
        let Some(limit) = self.settings.requests_per_second else {
            return true;
        };
        let mut recent = lock(&self.recent);
        if recent.len() > MAX_TOKENS {
            recent.clear();
        }
        let times = recent.entry(token.to_owned()).or_default();
        let begin = now_micros.saturating_sub(SECOND_MICROS);
        while times.front().is_some_and(|time| *time <= begin) {
            times.pop_front();
        }
        if times.len() >= limit {
            return false;
        }
        times.push_back(now_micros);
        true
    }
}

/// Plain data: after a thread died it is still the best there is.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_may_ask_so_often_in_any_second() {
        let settings = SocialSettings {
            requests_per_second: Some(2),
        };
        let social = Social::new(settings, 9);
        let may = |token: &str, millis: u64| social.may_ask(token, millis * 1_000);
        assert!(may("a", 5_000) && may("a", 5_900) && !may("a", 5_999) && may("b", 5_999));
        assert!(may("a", 6_000) && !may("a", 6_899) && may("a", 6_900));
    }

    #[test]
    fn without_a_limit_no_request_is_refused() {
        let social = Social::new(SocialSettings::default(), 9);
        assert!((0..1_000).all(|_| social.may_ask("a", 5)));
    }
}
