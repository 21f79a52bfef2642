//! The protocol of the ledger as a pure model, lived through under every kind of fault. One number
//! is a whole world: a seed that fails is printed with everything that happened in it, and happens
//! again whenever it is asked to.
//!
//! ```sh
//! PROPTEST_CASES=100000 cargo nextest run -p trunkline-ledger --test model
//! ```

mod calls;
mod invariants;
mod lane;
mod leases;
mod mutations;
mod rng;
mod seeds;
mod store;
mod tables;
mod world;
