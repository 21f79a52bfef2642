//! The protocol of the ledger as a pure model, lived through under every kind of fault. One number
//! is a whole world: a seed that fails is printed with everything that happened in it, and happens
//! again whenever it is asked to.
//!
//! ```sh
//! PROPTEST_CASES=100000 cargo nextest run -p trunkline-ledger --test model
//! ```

#[cfg(test)]
mod calls;
#[cfg(test)]
mod dice;
#[cfg(test)]
mod invariants;
#[cfg(test)]
mod lane;
#[cfg(test)]
mod leases;
#[cfg(test)]
mod seeds;
#[cfg(test)]
mod store;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod world;
#[cfg(test)]
mod wrong;
