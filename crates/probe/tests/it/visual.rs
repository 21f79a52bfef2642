//! The probe over files that are written here, with lengths and sizes that are known.

mod broken;
mod driver;
mod fragmented;
mod images;
mod movies;
mod random;
mod writer;
