//! Social data: which platforms and capabilities there are, what a call to one may ask, how that is put
//! to the data source, and what the source's answer means.
//!
//! A platform is one file of `cells/`; there is no line of code for it. The way of a call here: a query
//! is checked against its [`Cell`] into an [`Asked`], that is written as an [`Errand`] for the source,
//! and the source's answer is read into a [`Verdict`]. No I/O, no clock, no money.
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

mod answer;
mod cell;
mod cells;
mod check;
mod document;
mod errand;
mod json;
mod paging;
mod query;
mod shown;
mod traps;

pub use answer::{Found, Verdict, read};
pub use cell::{Capability, Cell, Cost, Kind, Limits, On400, Param, Platform};
pub use cells::{Cells, CellsError, MAX_CELL_FILE_BYTES, MAX_PLATFORMS};
pub use check::{Asked, MAX_VALUE_CHARACTERS, Refusal, check};
pub use errand::{Errand, Method};
pub use paging::{Next, fingerprint, next};
pub use query::{MAX_PAIRS, Pair, pairs};
pub use shown::{catalog_cell, envelope, page_line};
