//! Background jobs. Every worker node runs all of them; each is idempotent, and a node that fails in the
//! middle of a job is followed by another. [`jobs`] has the table.
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

mod job;
mod jobs;

pub use job::{JobContext, PaymentJobs, Retention};
pub use jobs::alarms::{AlarmSettings, Alarms};
pub use jobs::start;
