//! Which account each open request is of, for all lanes of a node. An account always uses the same lane,
//! so one lane sees all operations of a request and of its account; two lanes could hold one id under two.

use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trunkline_types::{AccountId, OwnKeyMap, RequestId};

/// Requests that are being reserved or are held, each with the account that was first. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenRequests(Arc<Mutex<OwnKeyMap<RequestId, AccountId>>>);

// === impl OpenRequests ===

impl OpenRequests {
    /// Whether the request is this account's, now or since before.
    pub(super) fn claim(&self, request: RequestId, account: AccountId) -> bool {
        match self.lock().entry(request) {
            Entry::Occupied(of) => *of.get() == account,
            Entry::Vacant(free) => {
                free.insert(account);
                true
            }
        }
    }

    /// What the tables say of these requests counts from now on.
    pub(super) fn release(&self, requests: impl IntoIterator<Item = RequestId>) {
        let mut open = self.lock();
        for request in requests {
            open.remove(&request);
        }
    }

    fn lock(&self) -> MutexGuard<'_, OwnKeyMap<RequestId, AccountId>> {
        // Each change is one call of the map, so a panic elsewhere leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use trunkline_types::Timestamp;

    use super::*;

    #[test]
    fn a_request_is_the_account_s_that_was_first_until_it_is_released() {
        let request = RequestId::new(Timestamp::from_micros(1), [0; 10]);
        let (first, second) = (AccountId::new(1), AccountId::new(2));
        let lanes = OpenRequests::default();
        let other_lane = lanes.clone();
        assert!(lanes.claim(request, first) && lanes.claim(request, first));
        assert!(!other_lane.claim(request, second));
        lanes.release([request]);
        assert!(other_lane.claim(request, second));
    }
}
