//! The program as a person runs it, with servers of ours in the vendor's place.

#[cfg(test)]
mod modified_vendor;
#[cfg(test)]
mod runs;
