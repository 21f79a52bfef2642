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

mod encoding;
mod error_mapping;
mod field_policy;
mod fields;
pub mod images;
pub mod speech;
pub mod transcription;
mod vendor_failure;
pub mod vendor_http;
pub mod video;

pub use fields::Fields;
pub use vendor_failure::{VendorFailure, by_status};
pub use vendor_http::{Content, Encoded, Part, VendorRequest};
