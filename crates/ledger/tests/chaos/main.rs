//! The ledger under races and faults: real processes, a real PostgreSQL, and everything killed.
//!
//! Each test starts ledger processes by running this very binary again (see `child`), keeps what
//! their clients asked and were told (`history`), breaks something, and joins that history with the
//! tables (`verdict`). `rounds` says how often; the long form is asked for there.

#[cfg(test)]
mod arena;
#[cfg(test)]
mod books;
#[cfg(test)]
mod child;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod commits;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod history;
#[cfg(test)]
#[path = "../it/house.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod house;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod pauses;
#[cfg(test)]
mod process;
#[cfg(test)]
mod races;
#[cfg(test)]
mod rounds;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod steps;
#[cfg(test)]
mod verdict;
