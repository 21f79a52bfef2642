//! Social data over HTTP, against a real PostgreSQL and the simulator of the data source.

#[cfg(test)]
mod capacity;
#[cfg(test)]
mod cells;
#[cfg(test)]
mod doors;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod folders;
#[cfg(test)]
mod forms;
#[cfg(test)]
#[path = "../it/got.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod got;
#[cfg(test)]
#[path = "../it/house.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod house;
#[cfg(test)]
mod leaving;
#[cfg(test)]
mod limits;
#[cfg(test)]
#[path = "../it/log.rs"]
mod log;
#[cfg(test)]
#[path = "../it/nodes.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod nodes;
#[cfg(test)]
#[path = "../it/outside.rs"]
mod outside;
#[cfg(test)]
mod paged_cells;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod pauses;
#[cfg(test)]
mod quotes;
#[cfg(test)]
mod stall;
#[cfg(test)]
mod stopping;
#[cfg(test)]
mod values;
#[cfg(test)]
#[path = "../it/wishes.rs"]
mod wishes;
