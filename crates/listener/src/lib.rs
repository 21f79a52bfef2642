//! Connections in, for every listener of a node: bounded in number, in the time to their first request and
//! in the time a response waits for its reader. It must not know paths, callers or prices: a request is
//! passed to a [`Service`].
//!
//! - A connection has one deadline from accept to its first complete request head, TLS included.
//! - Connections are bounded in all and by address. At the bound, the one that has waited longest for a
//!   request makes way; connections with a request in progress are never closed for others.
//! - A response whose reader takes nothing for a while is ended: over HTTP/1 with its connection, over
//!   HTTP/2 by a reset of its stream.
//! - HTTP/1 requests with ambiguous framing are refused.
//! - A client that is still sending when its request was refused can read the response.
//! - A listening socket can be handed over to another process: from then on nothing is accepted here, and HTTP/1
//!   connections end with their next response.
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

mod connection;
mod connections;
mod descriptors;
mod listener;
mod listening_socket;
mod paced_body;
mod request_framing;
mod requests;
mod socket_passing;
mod stream;
mod stream_executor;

pub use connection::{Peer, Service};
pub use listener::{ListenerSettings, serve};
pub use listening_socket::ListeningSocket;
pub use socket_passing::{receive_sockets, send_sockets};
