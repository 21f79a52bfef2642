//! Rate and concurrency limits: requests and tokens per minute, concurrent calls. The counters may
//! be lost.
//!
//! Counted in this process alone, or over all nodes in Redis; the first is also the fallback while
//! Redis is unavailable. This crate must not know accounts, prices or HTTP: a limit is a key and a
//! number.
//!
//! A node draws *slices* of a window from Redis by one script and spends them in memory, so most
//! calls do not wait. The window slides: never more than the limit is granted in any minute over all
//! nodes, wherever it begins. What a node has drawn and not spent, at most one slice of each counter,
//! is unavailable to the others.
//! See `docs/guide/rate-limits.md`.
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
mod decision;
mod grant;
mod key;
mod limits;
mod local;
mod node_counters;
mod redis;
mod settings;
mod sync;
mod window;

pub use decision::CounterState;
pub use grant::{Grant, LimitExceeded};
pub use key::{CounterCost, CounterGroup, CounterKey, CounterKind, ScopeId};
pub use limits::{Counts, Limits, LimitsError, Mode};
pub use settings::RedisSettings;
pub use sync::SyncTask;
