//! What a question about a video task costs when many tasks are in flight. `just video-growth` runs the
//! long form, every test run the short one.

mod meter;
mod polls;
