//! Access to PostgreSQL: pools under a role, transactions that know whether they were committed,
//! the clock in SQL, revisions, events, the outbox and the migrations; and the [`bus`] that carries
//! copies of events over NATS.
//!
//! This crate must not know tables of the product except the ones in this list, prices or HTTP. It
//! reads no environment; the URL comes in as a [`Secret`](trunkline_types::Secret).
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

mod address;
pub mod bus;
mod clock;
mod database;
mod error;
pub mod events;
mod migrate;
mod migrations;
mod notifications;
pub mod outbox;
mod plans;
mod pooled_connection;
pub mod revision;
mod role;
mod settings;
pub mod tenant;
mod tx;

pub use clock::{SystemClock, database_now, from_sql_time, to_sql_time};
pub use database::{Database, connect, connect_lazily};
pub use error::{Cause, DbError, within};
pub use migrate::{
    Applied, MigrateError, MigrationReport, incompatible_migrations, migrate, missing_migrations,
    seal,
};
pub use notifications::{Notifications, PollInterval, Signal, Subscription};
pub use pooled_connection::Session;
pub use role::Role;
pub use settings::{PoolSettings, Pooler};
pub use tx::Tx;
