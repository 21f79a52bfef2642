//! Events over HTTP, against a real PostgreSQL, NATS and nodes beside each other.

mod answers;
mod close;
mod fixtures;
mod many;
mod outages;
mod producers;
mod relay;
mod sse_client;
