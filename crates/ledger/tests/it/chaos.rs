//! The ledger under races and faults: real processes, a real PostgreSQL, and everything killed.
//!
//! Each test starts ledger processes by running this very binary again (see `child`), keeps what
//! their clients asked and were told (`history`), breaks something, and joins that history with the
//! tables (`verdict`). `rounds` says how often; the long form is asked for there.

mod process_harness;
mod tables;
mod child_process;
mod clients;
mod commits;
mod disk;
mod history;
mod kills;
mod pauses;
mod process;
mod races;
mod config;
mod servers;
mod steps;
mod checker;
