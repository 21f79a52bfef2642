//! Keys for people and agents over HTTP, against a real PostgreSQL and the simulator.

mod account_wide;
mod aliases;
pub(crate) mod calls;
mod descendants;
mod endpoint_allow_lists;
mod lifecycle;
mod memory;
