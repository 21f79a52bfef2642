//! What a full house costs: buffers touched at two and at twenty million usage rows.
//! `just ledger-growth` runs it.

#[cfg(test)]
mod buffers;
