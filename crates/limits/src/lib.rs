//! Counters that may be forgotten: how many requests and tokens in a minute, how many calls at once.
//!
//! In this process alone, or over all nodes by Redis; the first is also what remains when Redis is away.
//! Nothing here knows accounts, prices or HTTP: a limit is a name and a number.
//!
//! A node draws *slices* of a window from Redis by one script and spends them in memory, so most calls
//! wait for nobody. Never more than the limit is given out in one window over all nodes; what a node has
//! drawn and not spent, at most one slice of each counter, may be lost to the others. `docs/limits.md`
//! tells it all.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

mod concurrency;
mod grant;
mod key;
mod limits;
mod local;
mod redis;
mod settings;
mod sync;
mod window;

pub use grant::{CounterState, Grant, LimitExceeded};
pub use key::{CounterCost, CounterGroup, CounterKey, CounterKind, ScopeId};
pub use limits::{Counts, Limits, LimitsError, Mode};
pub use settings::RedisSettings;
pub use sync::SyncTask;
