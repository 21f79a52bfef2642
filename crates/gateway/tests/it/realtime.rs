//! Realtime connections over real sockets: what is relayed, what is held, what is charged.

mod access;
mod clients;
mod ends;
mod extra_prices;
pub(crate) mod harness;
mod live;
mod money;
mod session;
mod transcription;
