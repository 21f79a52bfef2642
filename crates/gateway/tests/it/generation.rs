//! Images, speech and transcripts over HTTP, against a real PostgreSQL and simulators of the vendors.

mod edits;
mod faults;
pub(crate) mod form;
pub(crate) mod harness;
mod idempotency;
mod images;
mod quotes;
mod speech;
mod transcripts;
