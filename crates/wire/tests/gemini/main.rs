//! The Gemini room from outside: fixtures of requests and streams, and bytes of any kind.

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod prop;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod sends;
#[cfg(test)]
mod streams;
