//! Transactional email: written in the transaction that causes it, delivered to a mail server later.
//!
//! [`MailWorker`] claims due emails, renders them and sends them to the server of [`MailSettings`]. Several nodes
//! share the work by claims. Delivery is at least once: if a node dies between the server's acceptance and the
//! commit, the email is sent again under the same Message-ID. Without a server, emails are held for the operator,
//! who passes their links on.
//!
//! This crate must not know who may get an email, or why.
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
mod low_balance;
mod mailer;
mod smtp_url;
mod template;

pub use delivery::{DeliverySummary, Instance, MailWorker, NotSent, Notice, open_sealed};
pub use low_balance::QueueError;
pub use mailer::{MailError, MailSettings, Mailer};
pub use smtp_url::{Server, ServerError};
