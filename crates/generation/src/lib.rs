//! Images, speech, transcription and video without I/O: a caller's request, its plan by the model's record, the
//! units it is billed by, the request to a vendor and the vendor's response. A vendor's protocol is one file and
//! one line in a list.
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
pub use vendor_failure::VendorFailure;
pub use vendor_http::{Content, Encoded, Part, VendorRequest};
