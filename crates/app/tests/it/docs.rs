//! The documentation as its readers use it: every block of every page runs, and the page about one server
//! runs in the real nginx.

mod codes;
mod pages;
