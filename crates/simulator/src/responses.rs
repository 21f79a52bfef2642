//! A response of the Responses API: how a request for one is checked, what the model answers, how it is
//! written, and which ones are kept. `responses_api` serves them.

pub(crate) mod answer;
pub(crate) mod context;
pub(crate) mod echo;
mod encrypted_reasoning;
mod parts;
pub(crate) mod request;
pub(crate) mod store;
mod tools;
pub(crate) mod wire_types;

pub(crate) use store::{ResponseStore, SocketResponses};
