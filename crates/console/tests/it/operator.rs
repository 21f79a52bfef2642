//! The operator's API: second factors, roles, the log of actions, and what operators see and change.

mod action_log;
mod channels;
mod connections;
mod customers;
mod document;
pub(crate) mod harness;
mod prices;
mod roles;
mod second_factor;
