//! Timestamps, and the only source of the current time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde::{Deserialize, Serialize};

/// Microseconds since the Unix epoch, PostgreSQL's resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

/// Where the current time comes from.
///
/// The executable passes the system clock, tests pass a [`ShiftableClock`]; no other code may ask the operating
/// system (clippy.toml bans it).
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// A clock that runs with another one and can be moved.
#[derive(Clone)]
pub struct ShiftableClock {
    base: Arc<dyn Clock>,
    shift_micros: Arc<AtomicI64>,
}

// === impl Timestamp ===

impl Timestamp {
    /// A timestamp from microseconds since the epoch.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since the epoch, rounded down.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// Whole seconds since the epoch, rounded down.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Later (or, with a negative number, earlier) by so many seconds; saturating.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }
}

// === impl ShiftableClock ===

impl ShiftableClock {
    /// A clock that agrees with `base` until it is shifted.
    #[must_use]
    pub fn over(base: Arc<dyn Clock>) -> Self {
        Self {
            base,
            shift_micros: Arc::new(AtomicI64::new(0)),
        }
    }

    /// Shifts this clock and all its clones, relative to their current time.
    pub fn shift_seconds(&self, seconds: i64) {
        let micros = seconds.saturating_mul(1_000_000);
        self.shift_micros.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Clock for ShiftableClock {
    fn now(&self) -> Timestamp {
        let shift = self.shift_micros.load(Ordering::SeqCst);
        Timestamp(self.base.now().0.saturating_add(shift))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Stopped;

    impl Clock for Stopped {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(1_700_000_000_999_999)
        }
    }

    #[test]
    fn a_shifted_clock_moves_with_all_its_clones() {
        let clock = ShiftableClock::over(Arc::new(Stopped));
        let clone = clock.clone();
        clock.shift_seconds(60);
        clock.shift_seconds(-30);
        assert_eq!(clone.now().seconds(), 1_700_000_030);
        assert_eq!(clone.now().millis(), 1_700_000_030_999);
        assert_eq!(clone.now().plus_seconds(2).micros(), 1_700_000_032_999_999);
        assert_eq!(Timestamp::from_micros(-1).seconds(), -1);
        assert_eq!(Timestamp::from_micros(-1).millis(), -1);
    }
}
