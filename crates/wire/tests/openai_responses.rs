//! The Responses format against fixtures: requests, answers and streams, into canon and out of it.

#[cfg(test)]
#[path = "openai_responses/requests.rs"]
mod requests;
#[cfg(test)]
#[path = "openai_responses/shared.rs"]
mod shared;
#[cfg(test)]
#[path = "openai_responses/streams.rs"]
mod streams;
#[cfg(test)]
#[path = "openai_responses/translated.rs"]
mod translated;
#[cfg(test)]
#[path = "openai_responses/wild.rs"]
mod wild;
