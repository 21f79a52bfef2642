//! Social data over HTTP, against a real PostgreSQL and the simulator of the data source.

mod capacity;
mod cells;
mod disconnects;
mod endpoints;
mod faults;
mod folders;
mod forms;
pub(crate) mod harness;
mod limits;
mod paged_cells;
mod pages;
mod pauses;
mod quotes;
mod stopping;
mod values;
