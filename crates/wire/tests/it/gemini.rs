//! The Gemini format from outside: fixtures of requests and streams, and bytes of any kind.

mod fixtures;
mod prop;
mod requests;
mod sends;
mod streams;
