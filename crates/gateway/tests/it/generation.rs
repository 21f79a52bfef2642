//! Images, speech and transcripts over HTTP, against a real PostgreSQL and simulators of the vendors.

mod idempotency;
mod edits;
mod faults;
pub(crate) mod form;
mod images;
mod quotes;
mod harness;
mod speech;
mod transcripts;
