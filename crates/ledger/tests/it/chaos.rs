//! The ledger under races and faults: real processes, a real PostgreSQL, and everything killed.
//!
//! Each test starts ledger processes by running this very binary again (see `child`), keeps what
//! their clients asked and were told (`history`), breaks something, and joins that history with the
//! tables (`verdict`). `rounds` says how often; the long form is asked for there.

mod checker;
mod child_process;
mod clients;
mod commits;
mod config;
mod disk;
mod history;
mod kills;
mod pauses;
mod process;
mod process_harness;
mod races;
mod servers;
mod steps;
mod tables;
