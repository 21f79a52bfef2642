//! The responses that are kept, each for the key that made it: to be continued, looked at,
//! cancelled and deleted.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::fault::Spelling;

use super::context::Context;
use super::wire_types::{Reply, Stage};

/// All that are kept, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct ResponseStore {
    kept: HashMap<String, Stored>,
    order: VecDeque<String>,
    bytes: usize,
}

/// The responses of one WebSocket: they are gone with it, whether they are stored or not.
#[derive(Clone, Debug, Default)]
pub(crate) struct SocketResponses(Arc<Mutex<ResponseStore>>);

/// One response and what it was made from.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) key: String,
    pub(crate) reply: Arc<Reply>,
    /// What a continuing request begins with: the items in and out.
    pub(crate) context: Context,
    /// How many of those items were in.
    pub(crate) inputs: usize,
    /// From when on it can be continued, and how earlier requests are told.
    pub(crate) ready_at_micros: u64,
    pub(crate) spelling: Spelling,
    /// When a response in the background is there.
    pub(crate) ends_at_micros: u64,
    pub(crate) is_cancelled: bool,
    /// Size of the request and of its answer, for the bound.
    pub(crate) bytes: usize,
}

/// Most responses at a time; beyond it the oldest give way.
const MAX_KEPT: usize = 10_000;
/// Most bytes of requests and answers.
const MAX_BYTES: usize = 256 * 1024 * 1024;

// === impl ResponseStore ===

impl ResponseStore {
    pub(crate) fn keep(&mut self, stored: Stored) {
        let id = stored.reply.id.clone();
        self.bytes = self.bytes.saturating_add(stored.bytes);
        self.order.push_back(id.clone());
        self.kept.insert(id, stored);
        while self.order.len() > MAX_KEPT || self.bytes > MAX_BYTES {
            match self.order.pop_front() {
                Some(oldest) => self.forget(&oldest),
                None => break,
            }
        }
    }

    /// The response of this id, if this key made it.
    pub(crate) fn find(&self, key: &str, id: &str) -> Option<&Stored> {
        self.kept.get(id).filter(|stored| stored.key == key)
    }

    /// What continuing this response begins with; otherwise how to say that it is not known.
    pub(crate) fn continued(
        &self,
        key: &str,
        id: &str,
        now_micros: u64,
    ) -> Result<Context, Option<Spelling>> {
        match self.find(key, id) {
            Some(stored) if now_micros >= stored.ready_at_micros => Ok(stored.context.clone()),
            Some(stored) => Err(Some(stored.spelling)),
            None => Err(None),
        }
    }

    /// An item of any response of this key, the newest first.
    pub(crate) fn find_item(&self, key: &str, id: &str) -> Option<Arc<Value>> {
        let is_it = |item: &&Arc<Value>| item.get("id").and_then(Value::as_str) == Some(id);
        self.order
            .iter()
            .rev()
            .filter_map(|response| self.find(key, response))
            .find_map(|stored| stored.context.items.iter().find(is_it).cloned())
    }

    /// Takes a response away; whether there was one.
    pub(crate) fn delete(&mut self, key: &str, id: &str) -> bool {
        if self.find(key, id).is_none() {
            return false;
        }
        self.order.retain(|known| known != id);
        self.forget(id);
        true
    }

    /// Cancels a response in the background, unless it has ended.
    pub(crate) fn cancel(&mut self, key: &str, id: &str, now_micros: u64) {
        if let Some(stored) = self.kept.get_mut(id).filter(|stored| stored.key == key)
            && stored.stage(now_micros) != Stage::Ended
        {
            stored.is_cancelled = true;
        }
    }

    fn forget(&mut self, id: &str) {
        if let Some(stored) = self.kept.remove(id) {
            self.bytes = self.bytes.saturating_sub(stored.bytes);
        }
    }
}

// === impl SocketResponses ===

impl SocketResponses {
    pub(crate) fn store(&self) -> MutexGuard<'_, ResponseStore> {
        // Plain data: after a thread died they are still what was answered.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Stored ===

impl Stored {
    pub(crate) fn stage(&self, now_micros: u64) -> Stage {
        if self.is_cancelled {
            Stage::Cancelled
        } else if now_micros < self.ends_at_micros {
            Stage::InProgress
        } else {
            Stage::Ended
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::request::Object;

    use super::super::answer::Output;
    use super::super::echo::Echo;
    use super::super::wire_types::Style;
    use super::*;

    fn stored(number: usize, bytes: usize) -> Stored {
        Stored {
            key: "k".to_owned(),
            reply: Arc::new(Reply {
                id: format!("resp_{number}"),
                created_at: 0,
                model: "sim-a".to_owned(),
                echo: Echo::of(&Object::new(), false),
                output: Output::nothing(),
                style: Style::default(),
            }),
            context: Context::default(),
            inputs: 0,
            ready_at_micros: 10,
            spelling: Spelling::NoCode,
            ends_at_micros: 20,
            is_cancelled: false,
            bytes,
        }
    }

    #[test]
    fn the_oldest_response_gives_way_to_the_first_that_is_too_many() {
        let mut responses = ResponseStore::default();
        for number in 0..=MAX_KEPT {
            assert_eq!(
                responses.find("k", "resp_0").is_some(),
                (1..=MAX_KEPT).contains(&number)
            );
            responses.keep(stored(number, 1));
        }
        assert!(responses.find("k", "resp_0").is_none());
        assert!(responses.find("k", "resp_1").is_some());
        assert_eq!(responses.bytes, MAX_KEPT);
    }

    #[test]
    fn bytes_are_bounded_and_given_back() {
        let mut responses = ResponseStore::default();
        responses.keep(stored(1, MAX_BYTES));
        responses.keep(stored(2, 1));
        assert!(responses.find("k", "resp_1").is_none());
        assert!(responses.delete("k", "resp_2") && !responses.delete("k", "resp_2"));
        assert_eq!((responses.bytes, responses.order.len()), (0, 0));
    }

    #[test]
    fn a_response_is_ready_and_ended_at_its_moment_and_not_before() {
        let mut responses = ResponseStore::default();
        responses.keep(stored(1, 1));
        let continued = |now| responses.continued("k", "resp_1", now).err();
        assert_eq!(continued(9), Some(Some(Spelling::NoCode)));
        assert_eq!(continued(10), None);
        assert_eq!(responses.continued("other", "resp_1", 10).err(), Some(None));
        let stage = |now| {
            responses
                .find("k", "resp_1")
                .map(|stored| stored.stage(now))
        };
        assert_eq!(stage(19), Some(Stage::InProgress));
        assert_eq!(stage(20), Some(Stage::Ended));
        responses.cancel("k", "resp_1", 20);
        assert!(!responses.find("k", "resp_1").unwrap().is_cancelled);
        responses.cancel("k", "resp_1", 19);
        assert!(responses.find("k", "resp_1").unwrap().is_cancelled);
    }
}
