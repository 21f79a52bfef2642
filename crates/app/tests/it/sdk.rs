//! The vendors' SDKs through the whole product.

mod commands;
mod console;
mod customer;
mod receipts;
mod social;
mod suites;
