//! Keys for people and agents over HTTP, against a real PostgreSQL and the simulator.

mod below;
mod calls;
mod doors;
mod lives;
mod memory;
mod names;
