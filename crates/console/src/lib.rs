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
mod browser;
mod console;
mod cookie;
mod docs;
mod fault;
mod front;
mod gifts;
mod letters;
mod listener;
mod oidc;
mod organisations;
mod origin;
mod pages;
mod passwords;
mod reply;
mod return_to;
mod sent;
mod settings;
mod shop;
mod signed_in;
mod times;
mod tokens;

pub use api::INVITATION_SECONDS;
pub use console::{Callers, Console, Parts, RequestIds};
pub use settings::{ConsoleSettings, Mode, Provider, SignUp, Trial};
pub use shop::{FileLink, Later, Shop, SocialCell, TaskLook, Viewer};
pub use tokens::Token;
