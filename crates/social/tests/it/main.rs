//! Cells against the specification, the checker, and answers of the source as fixtures.

#[cfg(test)]
mod checker;
#[cfg(test)]
mod files;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod spec;
