//! All HTTP that goes out. It knows addresses, credentials and deadlines; it does not know what a
//! call costs or what the bytes mean. The one exception is AWS's frames, which it unwraps.
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
mod eventstream;
pub mod guarded;
mod opened;
mod providers;

pub use client::{
    Answer, BodyError, Client, ClientError, Deadlines, MAX_EXTRA_ROOTS, Outgoing, Overdue, Payload,
    Protocol, Proxy, ProxyError, Roots, RootsError, SendError,
};
pub use eventstream::{EventStream, EventStreamError, MAX_FRAME_BYTES, Message};
pub use opened::{OpenError, Opened};
pub use providers::{
    AddressError, Addressing, Ask, Auth, BodyRules, Format, MAX_PROVIDER_BYTES, MAX_PROVIDERS,
    Provider, Providers, ProvidersError, Quirk, Task,
};
