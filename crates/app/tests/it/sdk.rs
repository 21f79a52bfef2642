//! The vendors' SDKs through the whole product.

mod commands;
mod console;
mod customer;
mod dev;
mod receipts;
mod social;
mod suites;
