//! Keys for people and agents over HTTP, against a real PostgreSQL and the simulator.

#[cfg(test)]
mod below;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod doors;
#[cfg(test)]
#[path = "../it/got.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod got;
#[cfg(test)]
#[path = "../it/house.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod house;
#[cfg(test)]
mod lives;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod names;
#[cfg(test)]
#[path = "../it/nodes.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod nodes;
#[cfg(test)]
#[path = "../it/outside.rs"]
mod outside;
#[cfg(test)]
#[path = "../it/wishes.rs"]
mod wishes;
