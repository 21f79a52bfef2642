//! What customers see of their own, over a real PostgreSQL and the real ledger, asked as their pages ask.

mod catalogs;
pub(crate) mod harness;
mod home;
mod keys;
mod logs;
mod playground;
mod tasks;
mod tenants;
mod usage;
mod wallet;
