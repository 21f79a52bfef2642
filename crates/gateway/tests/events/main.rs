//! Events over HTTP, against a real PostgreSQL, NATS and nodes beside each other.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod follower;
#[cfg(test)]
#[path = "../it/got.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod got;
#[cfg(test)]
mod happening;
#[cfg(test)]
#[path = "../it/house.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod house;
#[cfg(test)]
mod many;
#[cfg(test)]
#[path = "../it/nodes.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod nodes;
#[cfg(test)]
mod outages;
#[cfg(test)]
#[path = "../it/outside.rs"]
mod outside;
#[cfg(test)]
mod producers;
#[cfg(test)]
mod relay;
#[cfg(test)]
#[path = "../it/wishes.rs"]
mod wishes;
