//! Tables apart from money: accounts, API keys and policies, channels, workflow records, pauses of
//! social cells, people, emails, tasks and webhooks.
//!
//! One module per group of tables: [`accounts`], [`account_notes`], [`account_close`], [`action_log`], [`keys`],
//! [`channels`], [`workflows`], [`workflow_runs`], [`tasks`], [`cell_pauses`], [`webhooks`], [`limits`], [`people`],
//! [`sign_ups`], [`oidc`], [`emails`], [`redemption_codes`], [`trial_grants`], [`imported_accounts`], [`payments`],
//! [`attempt_counters`], [`live_connections`].
//! [`logins`] is about the database's own login. What a key may do is a [`Policy`], checked once, when it is made. Every change takes
//! the next revision of its topic, so that nodes which cache these tables can follow them.
//!
//! This crate must not know money, prices, HTTP or authentication: it reads and writes rows. A
//! plain API key is hashed here and goes nowhere else; the plain text of an upstream's credential
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

pub mod account_close;
pub mod account_notes;
pub mod account_routes;
pub mod accounts;
pub mod action_log;
pub mod alarms;
pub mod attempt_counters;
pub mod attention;
pub mod catalog;
pub mod cell_pauses;
pub mod channel_health;
pub mod channels;
pub mod emails;
pub mod imported_accounts;
pub mod keys;
pub mod limits;
pub mod live_connections;
pub mod logins;
pub mod low_balance;
pub mod media_keys;
mod network;
pub mod oidc;
pub mod payments;
pub mod people;
mod policy;
pub mod redemption_codes;
pub mod route_health;
pub mod scheduled_prices;
pub mod sealed;
pub mod sign_ups;
pub mod table_checksum;
pub mod tasks;
pub mod time_zones;
pub mod trial_grants;
pub mod validation;
pub mod webhooks;
pub mod workflow_runs;
pub mod workflows;

pub use network::Network;
pub use policy::{
    AUTO_GROUP, ENDPOINT_NAMES, KeyGroup, MAX_PRICE_NANOS, MaxPrice, OnDisconnect, Policy,
    PolicyFields, RoutePolicy,
};
pub use validation::{FieldError, Problem};
