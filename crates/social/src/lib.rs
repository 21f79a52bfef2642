//! Social data: platforms and their capabilities, validation of queries, requests to the vendor, and the
//! classification of its responses.
//!
//! A platform is one file of `cells/`; there is no line of code for it. A query
//! is checked against its [`Cell`] into an [`CheckedQuery`], which is written as a [`VendorRequest`],
//! and the vendor's response is read into a [`ResponseClass`]. No I/O, no clock, no money.
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

pub use cell::{Capability, Cell, Cost, Kind, Limits, Method, On400, Param, Platform};
pub use cells::{Cells, CellsError, MAX_CELL_FILE_BYTES, MAX_PLATFORMS};
pub use check::{CheckedQuery, MAX_VALUE_CHARACTERS, RequestError, check};
pub use paging::{Next, fingerprint, next};
pub use query::{MAX_PAIRS, Pair, pairs};
pub use response::{Data, ResponseClass, read};
pub use vendor_request::VendorRequest;
pub use view::{catalog_cell, envelope, page_line};
