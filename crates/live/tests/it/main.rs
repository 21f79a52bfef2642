//! The program as a person runs it, with servers of ours in the vendor's place.

#[cfg(test)]
mod doctored;
#[cfg(test)]
mod runs;
