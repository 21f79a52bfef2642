//! Anthropic messages, tested as the gateway uses the room: bodies in, bodies out, streams in pieces.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod passing;
#[cfg(test)]
mod robust;
#[cfg(test)]
mod same_format;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod support;
#[cfg(test)]
mod translated;
#[cfg(test)]
mod turns;
