//! Where requests arrive: listeners, TLS, authentication by the keys in memory, calls in flight and rate
//! limits, the context of a request, API errors, metrics and traces. What answers a request is given to
//! the listener at start; nothing here knows a price, a channel or an operation.
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

pub mod admin;
pub mod attempt;
pub mod authenticate;
pub mod caller;
pub mod duplicate;
pub mod error;
mod id_bytes;
pub mod in_flight;
pub mod key_table;
pub mod limit_headers;
pub mod limit_rules;
pub mod listener;
pub mod metrics;
pub mod obstacles;
pub mod percent;
pub mod process;
pub mod prometheus;
pub mod rate_limit;
pub mod request_context;
pub mod response;
pub mod settings;
pub mod socket;
pub mod splitmix;
pub mod state;
pub mod step;
pub mod telemetry;
mod tokens;
