//! The vendors' SDKs through the whole product.

mod commands;
mod console;
mod customer;
mod first_minute;
mod receipts;
mod social;
mod suites;
