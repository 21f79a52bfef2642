//! The probe over files that are written here, with lengths and sizes that are known.

#[cfg(test)]
mod broken;
#[cfg(test)]
mod driver;
#[cfg(test)]
mod fragmented;
#[cfg(test)]
mod movies;
#[cfg(test)]
mod pictures;
#[cfg(test)]
mod surprises;
#[cfg(test)]
mod writer;
