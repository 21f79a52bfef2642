//! Outbound HTTP: URLs, credentials and deadlines. It does not know what a call costs or what the bytes mean. The
//! one exception are AWS event streams, which it converts to server-sent events.
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
mod credentials;
mod eventstream;
mod providers;
pub mod safe_fetch;

pub use client::{
    BodyError, Client, ClientError, Deadlines, IdleDeadline, MAX_EXTRA_ROOTS, Outgoing, Payload,
    Protocol, Proxy, ProxyError, Roots, RootsError, SendError, UpstreamResponse,
};
pub use credentials::{Credential, OpenError};
pub use eventstream::{EventStream, EventStreamError, MAX_FRAME_BYTES, Message};
pub use providers::{
    Addressing, AnswerClass, AnswerRow, Ask, Auth, BodyRules, FIELD_LISTS, Format,
    MAX_PROVIDER_BYTES, MAX_PROVIDERS, PassFields, Proof, Provider, Providers, ProvidersError,
    Quirk, Refusal, Task, UrlError, drop_field, pass_field,
};
