//! The catalog: model records, price lists, tiers, rules, and the quote.
//!
//! A [`Book`] is checked whole when it is loaded and never changes afterwards; [`quote`] and
//! [`bound`] are pure functions of a price list, the usage and the pricing context of the call. This
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

mod check;
mod condition;
mod document;
mod extra_prices;
mod field_report;
mod hour_of_week;
mod input_rules;
mod lint;
mod model;
mod number;
mod price_book;
mod price_list;
mod pricing_context;
mod quote;
mod request_error;
mod rules;
mod specs;
mod stale;
mod starter;
mod unique_map;
mod unit_prices;
mod vendor_list;
mod version;
mod view;
pub mod workflow;

pub use check::{Finding, MAX_CELLS};
pub use condition::{Condition, MAX_CONDITIONS, MAX_PATH_CHARACTERS};
pub use document::{CatalogHeader, Document, Entry, Group, MAX_BOOK_BYTES, Vendor};
pub use extra_prices::{ExtraLine, ExtraPrices, ExtraUnit, LineRounding, ToolLine};
pub use field_report::{
    FieldNote, FieldReport, FieldTreatment, SERVER_TOOL_DROPPED, UNKNOWN_BETA, UNKNOWN_FIELD,
    nearest,
};
pub use input_rules::InputRules;
pub use lint::{LintFinding, Severity, lint};
pub use model::Model;
pub use number::{NUMBER_PLACES, Number};
pub use price_book::{Book, BookError, GroupChoice, MAX_MODELS, Offer, Sale, Unavailable};
pub use price_list::{Faces, MAX_TIERS, PriceClass, PriceList, RawList, RawTier, Tier};
pub use pricing_context::{Attributes, PricingContext, Scalar};
pub use quote::{
    Limits, Line, Quote, QuoteError, Why, amount_at, audio_tokens_shown, bound, floor, quote,
};
pub use request_error::RequestError;
pub use rules::{Breach, FieldLookup, MAX_RULES, ParameterPolicy, Rule, Test, first_breach};
pub use specs::{DEFAULT_MAX_OUTPUT, ModelKind, Specs};
pub use stale::{DEFAULT_MAX_AGE_DAYS, StalePrice, stale};
pub use starter::{StarterError, starter, starter_files};
pub use unit_prices::{UnitPrices, unit_prices};
pub use vendor_list::{FaceVerdict, ListPrice, MAX_SOURCES, VendorList, Verdict, compare};
pub use version::PricingVersion;
pub use view::{BookFaces, RecordView, RouteHealth, Routes, TierView, View};
