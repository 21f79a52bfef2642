//! Background jobs. Every worker node runs all of them; each is idempotent, and a node that fails in the
//! middle of a job is followed by another.
//!
//! - [`events`]: relays event copies to other nodes.
//! - [`mail`]: delivers emails.
//! - [`video`]: submits, polls and downloads video tasks.
//! - [`webhooks`]: delivers webhook messages.
//! - [`retention`]: deletes expired data.
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
