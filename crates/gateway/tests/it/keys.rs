//! Keys for people and agents over HTTP, against a real PostgreSQL and the simulator.

mod descendants;
mod calls;
mod endpoint_allow_lists;
mod lifecycle;
mod memory;
mod aliases;
