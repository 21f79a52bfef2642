//! Images, speech and transcription without I/O: what a caller asks for, what it is billed by, what each
//! vendor is sent and what its answer means. A vendor's protocol is one file and one line in a list.
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

mod coding;
mod complaints;
mod errand;
mod fields;
pub mod images;
mod policy;
pub mod speech;
pub mod transcription;
mod trouble;
pub mod vendor_http;
pub mod video;

pub use errand::{Content, Errand, Part, Written};
pub use fields::Fields;
pub use trouble::{Trouble, by_status};
