//! Prices: the book, its tiers, and the quote.
//!
//! A [`Book`] is checked whole when it is loaded and never changes afterwards; [`quote`] and
//! [`bound`] are pure functions of a price list, what was used and the situation of the call. This
//! crate knows no database, no clock and no endpoint: endpoints bring units and attributes, never
//! money.
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

mod book;
mod check;
mod condition;
mod list;
mod quote;
mod situation;
mod unique;
mod version;
mod week;
pub mod workflow;

pub use book::{
    Book, BookError, GroupChoice, MAX_BOOK_BYTES, MAX_MODELS, ModelPrices, NotSold, Offer,
};
pub use check::{Finding, MAX_CELLS};
pub use condition::{Condition, MAX_CONDITIONS, MAX_PATH_CHARACTERS};
pub use list::{Faces, MAX_TIERS, PriceClass, PriceList, RawList, RawTier, Tier};
pub use quote::{Limits, Line, Quote, QuoteError, Why, audio_tokens_shown, bound, quote};
pub use situation::{Attributes, Scalar, Situation};
pub use version::PricingVersion;
