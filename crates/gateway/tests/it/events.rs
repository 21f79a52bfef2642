//! Events over HTTP, against a real PostgreSQL, NATS and nodes beside each other.

mod answers;
mod ends;
mod follower;
mod happening;
mod many;
mod outages;
mod producers;
mod relay;
