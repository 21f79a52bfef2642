//! The event stream of an account.
//!
//! The table in PostgreSQL is authoritative, and each open connection follows it by its own numbers: it
//! is sent number n+1 or nothing. Copies from other nodes, and polls of the table, are hints that there is
//! more; a hint that is lost costs time and never an event. So nothing is missed or doubled when a
//! connection, a node or NATS is lost and found again.
//!
//! The order: `params` (the request) → `event_hub` (a permit for one subscriber) → `reader` (one
//! connection) while `subscription` feeds the hub; `relay` carries copies to other nodes.

mod params;
pub mod payloads;
mod reader;
mod relay;
mod subscription;

pub(crate) use params::{Begin, EventQuery, wrong};
pub use payloads::{Change as CatalogNews, catalog_events};
pub(crate) use reader::{QUEUE, Reader};
pub use relay::{RelayError, measure_outbox, relay_events};
pub use subscription::{event_readers, events_sent, run_event_hub};

/// The endpoint's name in policies.
pub(crate) const WORD: &str = "events";
