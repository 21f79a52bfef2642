//! Events over HTTP, against a real PostgreSQL, NATS and nodes beside each other.

mod answers;
mod close;
mod sse_client;
mod fixtures;
mod many;
mod outages;
mod producers;
mod relay;
