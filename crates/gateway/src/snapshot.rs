//! A value that is read by everybody and replaced as a whole.

use std::sync::{Arc, PoisonError, RwLock};

/// Readers get the value as it was when they asked, and keep it as long as they like.
#[derive(Debug)]
pub(crate) struct Snapshot<T>(RwLock<Arc<T>>);

impl<T> Snapshot<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(RwLock::new(Arc::new(value)))
    }

    pub(crate) fn get(&self) -> Arc<T> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }

    /// Replaces the value by one that is made of it. Of two changes at once neither is lost.
    pub(crate) fn change(&self, make: impl FnOnce(&T) -> T) {
        let mut value = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let made = make(value.as_ref());
        *value = Arc::new(made);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_changes_at_once_none_is_lost() {
        const CHANGES: u64 = 2_000;
        let value = Snapshot::new((0_u64, 0_u64));
        std::thread::scope(|scope| {
            scope.spawn(|| (0..CHANGES).for_each(|_| value.change(|(a, b)| (a + 1, *b))));
            scope.spawn(|| (0..CHANGES).for_each(|_| value.change(|(a, b)| (*a, b + 1))));
        });
        assert_eq!(*value.get(), (CHANGES, CHANGES));
    }
}
