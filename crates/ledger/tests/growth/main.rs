//! What a full house costs: buffers touched at two and at twenty million usage rows, and what each index
//! of calls costs a settlement. `just ledger-growth` and `just logs-growth` run the long forms.

#[cfg(test)]
mod buffers;
#[cfg(test)]
#[path = "../it/house.rs"]
#[expect(dead_code, reason = "the other test binaries use the rest of it")]
mod house;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod price;
