//! The storage budget. A put reserves its bytes before it writes them, so concurrent puts cannot exceed the budget
//! together, and releases them when it fails or is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::PutError;

/// Bytes in use and their limit; nothing is counted without a limit.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Option<Arc<Counted>>);

#[derive(Debug)]
struct Counted {
    limit: u64,
    used: AtomicU64,
}

/// Bytes reserved by a running put.
#[derive(Debug)]
pub(crate) struct Taken {
    budget: Budget,
    bytes: u64,
}

// === impl Budget ===

impl Budget {
    pub(crate) fn new(limit: Option<u64>, used: u64) -> Self {
        let used = AtomicU64::new(used);
        Self(limit.map(|limit| Arc::new(Counted { limit, used })))
    }

    pub(crate) const fn is_counted(&self) -> bool {
        self.0.is_some()
    }

    /// Bytes in use, including running puts. None if nothing is counted.
    pub(crate) fn used(&self) -> Option<u64> {
        let counted = self.0.as_ref()?;
        Some(counted.used.load(Ordering::SeqCst))
    }

    /// An empty reservation.
    pub(crate) fn begin(&self) -> Taken {
        Taken {
            budget: self.clone(),
            bytes: 0,
        }
    }

    /// Releases the bytes of a deleted object.
    pub(crate) fn give_back(&self, bytes: u64) {
        if let Some(counted) = &self.0 {
            let less = |used: u64| Some(used.saturating_sub(bytes));
            // The closure never returns `None`.
            let (Ok(_) | Err(_)) =
                counted
                    .used
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        }
    }
}

// === impl Taken ===

impl Taken {
    pub(crate) fn more(&mut self, bytes: u64) -> Result<(), PutError> {
        if let Some(counted) = &self.budget.0 {
            let more = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= counted.limit);
            counted
                .used
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, more)
                .map_err(|_| PutError::OverBudget {
                    budget_bytes: counted.limit,
                })?;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    /// The object is stored: its bytes are released when it is deleted.
    pub(crate) fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_taken_up_to_the_budget_and_come_back_when_a_put_fails() {
        let budget = Budget::new(Some(10), 4);
        let mut one = budget.begin();
        one.more(6).unwrap();
        let mut two = budget.begin();
        let refused = two.more(1).unwrap_err();
        assert!(matches!(refused, PutError::OverBudget { budget_bytes: 10 }));
        drop(one);
        two.more(6).unwrap();
        two.keep();
        assert_eq!(budget.used(), Some(10));
        budget.give_back(3);
        assert_eq!(budget.used(), Some(7));
        assert!(budget.begin().more(u64::MAX).is_err());
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let budget = Budget::new(None, 0);
        budget.begin().more(u64::MAX).unwrap();
        assert_eq!(budget.used(), None);
    }
}
