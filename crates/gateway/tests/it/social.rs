//! Social data over HTTP, against a real PostgreSQL and the simulator of the data source.

mod capacity;
mod cells;
mod doors;
mod faults;
mod folders;
mod forms;
mod leaving;
mod limits;
mod paged_cells;
mod pages;
mod pauses;
mod quotes;
mod stall;
mod stopping;
mod values;
