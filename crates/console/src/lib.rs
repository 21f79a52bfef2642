//! The console's HTTP API: public catalog and instance information, and what signed-in users read and
//! change in their organisations. Its OpenAPI document is generated from the handlers.
//!
//! One file per resource below `api`; limits that apply to all of them are in `middleware`. This crate
//! moves no money and takes no customer's call: that is `gateway`'s, and neither knows the other.
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

mod api;
mod browser_binding;
mod console;
mod csrf;
mod docs;
mod emails;
mod error;
mod gateway_port;
mod json_body;
mod json_reader;
mod listener;
mod middleware;
mod oidc;
pub mod operations;
mod operator_bodies;
mod operator_session;
mod organisations;
mod parts;
mod passwords;
mod reply;
mod request_bodies;
mod response_cache;
mod safe_redirect;
mod session;
mod session_cookie;
mod settings;
mod shared;
mod static_files;
mod times;
mod tokens;
mod totp;
mod trial_credit;

pub use api::INVITATION_SECONDS;
pub use console::Console;
pub use gateway_port::{
    BoxFuture, FileLink, GatewayPort, MakeChange, PublishFault, PublishedPrices, SocialCell,
    TaskInspection, Viewer,
};
pub use parts::{Callers, Parts, RequestIds};
pub use settings::{ConsoleSettings, Mode, Provider, SignUp, Trial};
pub use tokens::Token;
