//! What translation costs without a network: CPU-nanoseconds for a request and for a piece of a stream,
//! of every format into every other, beside what passing on in the same format costs.
//! `just translation-speed` runs it.

mod clock;
mod requests;
mod samples;
mod streams;
