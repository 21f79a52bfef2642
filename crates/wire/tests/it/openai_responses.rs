//! The Responses format against fixtures: requests, answers and streams, into canon and out of it.

mod fuzz;
mod requests;
mod shared;
mod streams;
mod translated;
