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

mod grant;
mod keeper;
mod limits;
mod name;
mod remote;
mod seats;
mod settings;
mod table;
mod window;

pub use grant::{Grant, Refused, Standing};
pub use keeper::Keeper;
pub use limits::{Counts, Limits, LimitsError, Mode};
pub use name::{Kind, Name, Tag, Want, Which};
pub use settings::RedisSettings;
