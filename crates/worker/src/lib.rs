//! Jobs that somebody must do, whoever comes first. Each is idempotent: what was done before is found
//! done, and who dies in the middle is followed by another.
//!
//! - [`events`]: copies that are to be carried to other nodes.
//! - [`mail`]: letters to people.
//! - [`video`]: tasks that are to be sent, asked for, fetched.
//! - [`webhooks`]: messages to addresses of customers.
//! - [`retention`]: what is kept for a while and no longer.
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

pub mod events;
pub mod mail;
pub mod retention;
pub mod video;
mod waiting;
pub mod webhooks;
