//! An account's hash chain as bytes: lines, the tree of a day, its signed root, receipts and statements, and
//! checking them without a database.
//!
//! The exact bytes are in docs/guide/receipts.md; docs/verify/verify.py checks the same in Python and must say the
//! same of every file. Nothing here reads a clock, a socket or a file: [`verify`] is given a reader.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

mod file;
mod finding;
mod hash;
mod line;
mod path;
mod record;
mod signature;
mod signing_key;
mod tree;
mod verify;

pub use file::{RECEIPT_HEAD, STATEMENT_HEAD, day_line, end_line, path_line, text_line};
pub use finding::{Finding, Report, Totals};
pub use hash::Hash;
pub use line::{CallLine, TransferLine};
pub use path::{PathBuilder, root_of_path};
pub use record::{DayRecord, EndRecord};
pub use signature::{PublicKey, Signature, Signer};
pub use signing_key::SigningKey;
pub use tree::TreeHasher;
pub use verify::{MAX_FINDINGS, MAX_LINE_BYTES, verify};

#[cfg(test)]
mod tests;
