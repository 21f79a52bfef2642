//! The checks detect mistakes: each deliberate mistake in a throw-away workspace is refused with the right words.

#[cfg(test)]
mod circles;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod decisions;
#[cfg(test)]
mod deny;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod lints;
#[cfg(test)]
mod parameters;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod target;
#[cfg(test)]
mod tidy;
#[cfg(test)]
mod vocabulary;
