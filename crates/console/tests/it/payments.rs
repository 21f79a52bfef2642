//! Money in, over HTTP: a console with a real database, Stripe played by the simulator, webhooks sent by it.

mod automatic;
pub(crate) mod harness;
mod many_events;
mod reversals;
mod routes;
mod webhook;
