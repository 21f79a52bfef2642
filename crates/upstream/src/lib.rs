//! All HTTP that goes out. It knows addresses, credentials and deadlines; it does not know what a
//! call costs or what the bytes mean.
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

mod client;
mod providers;

pub use client::{
    Answer, BodyError, Client, ClientError, Deadlines, MAX_EXTRA_ROOTS, Outgoing, Overdue,
    Protocol, Proxy, ProxyError, Roots, RootsError, SendError,
};
pub use providers::{
    Auth, Format, MAX_PROVIDER_BYTES, MAX_PROVIDERS, Provider, Providers, ProvidersError, Quirk,
};
