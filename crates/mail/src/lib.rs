//! Letters to people: written in the transaction that made them necessary, carried to a mail server later.
//!
//! [`MailWorker`] takes what is due, puts it into words and hands it to the server of [`MailSettings`]. Several nodes
//! share the work by claims. Who dies between the server's word and ours has the letter sent once more, under
//! the same Message-ID; nobody loses one. Without a server letters are kept for the operator, who passes
//! their links on.
//!
//! This crate must not know who may have a letter, or why: it carries.
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

mod delivery;
mod mailer;
mod smtp_url;
mod template;

pub use delivery::{DeliverySummary, MailWorker, open_sealed};
pub use mailer::{MailError, MailSettings, Mailer};
pub use smtp_url::{Server, ServerError};
