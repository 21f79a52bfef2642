//! Images, speech and transcripts over HTTP, against a real PostgreSQL and simulators of the vendors.

#[cfg(test)]
mod again;
#[cfg(test)]
mod edits;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod form;
#[cfg(test)]
#[path = "../it/got.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod got;
#[cfg(test)]
#[path = "../it/house.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod house;
#[cfg(test)]
mod images;
#[cfg(test)]
#[path = "../it/nodes.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod nodes;
#[cfg(test)]
#[path = "../it/outside.rs"]
mod outside;
#[cfg(test)]
mod quotes;
#[cfg(test)]
mod room;
#[cfg(test)]
mod speech;
#[cfg(test)]
mod transcripts;
#[cfg(test)]
#[path = "../it/wishes.rs"]
mod wishes;
