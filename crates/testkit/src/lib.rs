//! Engines for tests: a private PostgreSQL, Redis and NATS from the installed programs, in a
//! temporary directory, with handles to kill, stop, pause, slow and cut them, and a clean end.
//!
//! Linux only: it looks processes up in `/proc`. This is test support and stops at the first
//! surprise; no product crate may depend on it except for its tests.
//!
//! - [`Db::fresh`] gives one database per test, cloned from a migrated template on one server that
//!   all tests of a run share. That server has no durability to speak of. [`Db::prepared`] gives a copy of
//!   one that a test has filled.
//! - [`Postgres::own`] gives a test its own server to break, with a [`FaultProxy`] in front of it.
//! - [`Redis::start`] and [`Nats::start`] give a test its own of these, [`Nats::cluster`] three that know
//!   each other; [`Shared::take`] gives it a part of one Redis and one NATS that the run shares.
//! - [`Certificates`] is a certificate authority, for engines that speak TLS.
//! - [`Smtp`] is a mail server that keeps what it gets and fails when it is told to.
//! - [`NetNamespace`] is a network of its own for a process that is to be cut off from everything.
//! - [`privileged`] lets a test mount and make networks, as root or as a plain user, and reports a test that
//!   cannot run on a machine.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "test support stops at the first surprise, with a sentence"
)]

mod binaries;
mod certificates;
mod clock;
mod db;
mod engine_process;
mod join_all;
mod nats;
mod netns;
mod port;
mod postgres;
mod prepared;
mod privileges;
mod process;
mod random;
mod redis;
mod server;
mod shared;
mod skip;
mod smtp;
mod tally;
mod tcp_proxy;
mod test_run;

pub use certificates::Certificates;
pub use clock::test_clock;
pub use db::Db;
pub use join_all::all_at_once;
pub use nats::Nats;
pub use netns::{HostBridge, NetNamespace};
pub use postgres::{OwnSettings, Postgres};
pub use privileges::privileged;
pub use random::random_bytes;
pub use redis::Redis;
pub use shared::Shared;
pub use smtp::{Mail, Smtp, SmtpBehaviour};
pub use tally::count;
pub use tcp_proxy::FaultProxy;
pub use trunkline_db::SystemClock;
pub use trunkline_types::ShiftableClock;
