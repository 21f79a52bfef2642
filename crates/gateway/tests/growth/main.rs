//! What a question about a video task costs when many tasks are in flight. `just video-growth` runs the
//! long form, every test run the short one.

#[cfg(test)]
#[path = "../it/got.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod got;
#[cfg(test)]
#[path = "../it/house.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest of it")]
mod house;
#[cfg(test)]
mod meter;
#[cfg(test)]
#[path = "../it/outside.rs"]
mod outside;
#[cfg(test)]
mod polls;
#[cfg(test)]
#[path = "../it/wishes.rs"]
mod wishes;
