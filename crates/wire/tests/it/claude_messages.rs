//! Anthropic messages, tested as the gateway uses it: bodies in, bodies out, streams in pieces.

mod answers;
mod passing;
mod robust;
mod same_format;
mod streams;
mod support;
mod translated;
mod turns;
