//! The console's HTTP interface: what people and their programs read about the house, and what people
//! who are signed in change in their own organisations. It is described
//! by its own OpenAPI document, which is made of the handlers themselves.
//!
//! One file per resource below `api`; the bounds that hold for all of them are in `front`. This crate
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
mod listener;
mod middleware;
mod oidc;
mod organisations;
mod passwords;
mod reply;
mod safe_redirect;
mod session;
mod session_cookie;
mod settings;
mod static_files;
mod times;
mod tokens;
mod trial_credit;

pub use api::INVITATION_SECONDS;
pub use console::{Callers, Console, Parts, RequestIds};
pub use gateway_port::{BoxFuture, FileLink, GatewayPort, SocialCell, TaskInspection, Viewer};
pub use settings::{ConsoleSettings, Mode, Provider, SignUp, Trial};
pub use tokens::Token;
