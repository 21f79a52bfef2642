//! What a full house costs: buffers touched at two and at twenty million usage rows.
//! `just ledger-growth` runs it.

#[cfg(test)]
mod buffers;
#[cfg(test)]
#[path = "../it/house.rs"]
#[expect(dead_code, reason = "the other test binaries use the rest of it")]
mod house;
