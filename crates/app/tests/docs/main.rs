//! The documentation as its readers use it: every block of every page runs, and the page about one server
//! runs in the real nginx.

#[cfg(test)]
mod codes;
#[cfg(test)]
#[path = "../sdk/dev.rs"]
mod dev;
#[cfg(test)]
mod pages;
