//! Realtime connections over real sockets: what is relayed, what is held, what is charged.

mod access;
mod ends;
mod harness;
mod money;
mod session;
