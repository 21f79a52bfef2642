//! Tables that are not money: who the customers are, which keys they hold with which policy, and the
//! channels to upstreams, workflow records and pauses of social data.
//!
//! One file per family of tables: [`accounts`], [`keys`], [`channels`], [`workflows`], [`tasks`],
//! [`cell_pauses`], [`webhooks`], [`limits`], [`people`], [`sign_ups`], [`oidc`], [`emails`], [`redemption_codes`], [`trial_grants`], [`attempt_counters`].
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
pub mod attempt_counters;
pub mod catalog;
pub mod cell_pauses;
pub mod channels;
pub mod emails;
pub mod keys;
pub mod limits;
pub mod logins;
mod network;
pub mod oidc;
pub mod people;
mod policy;
pub mod redemption_codes;
pub mod route_health;
pub mod sign_ups;
pub mod table_checksum;
pub mod tasks;
pub mod time_zones;
pub mod trial_grants;
pub mod validation;
pub mod webhooks;
pub mod workflows;

pub use network::Network;
pub use policy::{AUTO_GROUP, ENDPOINT_NAMES, KeyGroup, Policy, PolicyFields};
pub use validation::{FieldError, Problem};
