//! The vendors' SDKs through the whole product.

mod commands;
mod console;
pub(crate) mod customer;
mod field_tables;
mod first_minute;
mod receipts;
mod social;
mod suites;
