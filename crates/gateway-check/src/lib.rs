//! A test bench for gateways. The simulator is the upstream of any gateway that can be pointed at it; each check
//! sends one request to the gateway and the same to the simulator, and compares what a client would read of both.
//!
//! It must not know any gateway: what one is called, which formats it speaks, what it charges and where it says so is
//! its [`Profile`]. The checks are data, in `checks/`. How results are to be read: `docs/dev/gateway-check.md`.
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

mod bench;
mod charge;
mod check;
mod events;
mod exchange;
mod format;
mod page;
mod profile;
mod reading;
mod report;
mod request;
mod shape;
mod upstream_log;
mod verdict;

pub use bench::{Bench, BenchError};
pub use check::{Check, CheckError, checks};
pub use page::page;
pub use profile::{Profile, ProfileError};
pub use report::{Report, Score};
