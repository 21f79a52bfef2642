//! The console's HTTP interface: what people and their programs read about the house. It is described
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
mod console;
mod fault;
mod front;
mod listener;
mod reply;
mod shop;

pub use console::{Console, Parts, RequestIds};
pub use shop::{Shop, SocialCell, Viewer};
