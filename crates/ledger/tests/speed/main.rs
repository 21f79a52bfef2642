//! How fast the ledger is, as ratios of one run: against its own SQL text sent from a bare loop with
//! ready arrays, and against one UPDATE per call. `just ledger-speed` runs it on a durable server.

#[cfg(test)]
mod bare;
#[cfg(test)]
#[path = "../it/house.rs"]
#[expect(dead_code, reason = "the other test binaries use the rest of it")]
mod house;
#[cfg(test)]
mod ratios;
