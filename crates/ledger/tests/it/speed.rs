//! How fast the ledger is, as ratios of one run: against its own SQL text sent from a bare loop with
//! ready arrays, and against one UPDATE per call. `just ledger-speed` runs it on a durable server.

mod bare;
mod ratios;
