//! Social data: which platforms and capabilities there are, what a call to one may ask, how that is put
//! to the data source, and what the source's answer means.
//!
//! A platform is one file of `cells/`; there is no line of code for it. The way of a call here: a query
//! is checked against its [`Cell`] into an [`CheckedQuery`], that is written as an [`VendorRequest`] for the source,
//! and the source's answer is read into a [`ResponseClass`]. No I/O, no clock, no money.
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

mod cell;
mod cells;
mod check;
mod document;
mod field_pitfalls;
mod json;
mod paging;
mod query;
mod response;
mod vendor_request;
mod view;

pub use cell::{Capability, Cell, Cost, Kind, Limits, On400, Param, Platform};
pub use cells::{Cells, CellsError, MAX_CELL_FILE_BYTES, MAX_PLATFORMS};
pub use check::{CheckedQuery, MAX_VALUE_CHARACTERS, RequestError, check};
pub use paging::{Next, fingerprint, next};
pub use query::{MAX_PAIRS, Pair, pairs};
pub use response::{Data, ResponseClass, read};
pub use vendor_request::{Method, VendorRequest};
pub use view::{catalog_cell, envelope, page_line};
