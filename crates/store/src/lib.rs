//! Tables that are not money: who the customers are, which keys they hold with which policy, and the
//! channels to upstreams, workflow records and pauses of social data.
//!
//! One file per family of tables: [`accounts`], [`keys`], [`channels`], [`workflows`], [`tasks`],
//! [`social`], [`webhooks`], [`limits`], [`people`], [`arrivals`], [`letters`], [`codes`], [`trials`], [`tries`].
//! [`logins`] is about the database's own login.
//! What a key may do is a [`Policy`], checked once, when it is made.
//! Every change takes the next number of its topic, so that nodes which keep these tables in memory can
//! follow them.
//!
//! This crate must not know customers' money or prices, HTTP, or how a caller is let in: it keeps rows.
//! The text of a key enters it, is hashed, and goes nowhere else; the text of an upstream's credential
//! never enters it.
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

pub mod accounts;
pub mod arrivals;
pub mod bounds;
pub mod catalog;
pub mod channels;
pub mod codes;
pub mod keys;
pub mod letters;
pub mod limits;
pub mod logins;
mod network;
pub mod people;
mod policy;
pub mod routes;
pub mod social;
pub mod tally;
pub mod tasks;
pub mod trials;
pub mod tries;
pub mod webhooks;
pub mod workflows;
pub mod zones;

pub use bounds::{FieldError, Problem};
pub use network::Network;
pub use policy::{AUTO_GROUP, ENDPOINT_WORDS, KeyGroup, Policy, PolicyFields};
