//! Concurrent fetches, over all and for each owner.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One owner may have this part of the places: one divided by it.
const OWNER_PART: usize = 4;
/// Owners are swept when they have doubled, and not below this.
const SWEEP_FROM: usize = 64;

/// The places. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Places {
    all: Arc<Semaphore>,
    most: usize,
    owners: Arc<Mutex<Owners>>,
    /// Those of one owner; none for fetches of the operator.
    own: Option<Arc<Semaphore>>,
}

#[derive(Debug, Default)]
struct Owners {
    places: HashMap<i64, Weak<Semaphore>>,
    sweep_at: usize,
}

/// One place; given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    _own: Option<OwnedSemaphorePermit>,
    _all: OwnedSemaphorePermit,
}

// === impl Places ===

impl Places {
    pub(super) fn new(most: usize) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(most)),
            most,
            owners: Arc::default(),
            own: None,
        }
    }

    /// The same places, of which one owner may have a part.
    pub(super) fn of(&self, owner: i64) -> Self {
        let part = self.most.checked_div(OWNER_PART).unwrap_or(self.most);
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let own = owners.of(owner, part.max(1));
        drop(owners);
        Self {
            own: Some(own),
            ..self.clone()
        }
    }

    /// The next free place: of the owner first, so that one who waits for its own takes no other's.
    pub(super) async fn take(&self) -> Option<Place> {
        let own = match &self.own {
            Some(own) => Some(Arc::clone(own).acquire_owned().await.ok()?),
            None => None,
        };
        let all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Place {
            _own: own,
            _all: all,
        })
    }
}

// === impl Owners ===

impl Owners {
    fn of(&mut self, owner: i64, part: usize) -> Arc<Semaphore> {
        if let Some(own) = self.places.get(&owner).and_then(Weak::upgrade) {
            return own;
        }
        if self.places.len() >= self.sweep_at.max(SWEEP_FROM) {
            self.places.retain(|_, own| own.strong_count() > 0);
            self.sweep_at = self.places.len().saturating_mul(2);
        }
        let own = Arc::new(Semaphore::new(part));
        self.places.insert(owner, Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn is_free(places: &Places) -> bool {
        let taken = tokio::time::timeout(Duration::from_millis(20), places.take()).await;
        matches!(taken, Ok(Some(_)))
    }

    #[tokio::test]
    async fn an_owner_with_all_its_places_taken_leaves_those_of_others() {
        let places = Places::new(8);
        let (one, other) = (places.of(1), places.of(2));
        let held = [one.take().await, places.of(1).take().await];
        assert!(held.iter().all(Option::is_some));
        assert!(!is_free(&one).await && !is_free(&places.of(1)).await);
        assert!(is_free(&other).await && is_free(&places).await);
        drop(held);
        assert!(is_free(&one).await);
    }

    #[tokio::test]
    async fn owners_without_fetches_are_forgotten() {
        let places = Places::new(8);
        for owner in 0..1_000 {
            assert!(is_free(&places.of(owner)).await);
        }
        let kept = places.owners.lock().unwrap().places.len();
        assert!(kept <= 2 * SWEEP_FROM, "{kept} owners");
    }
}
