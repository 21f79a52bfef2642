//! The console over a real PostgreSQL, asked as a browser or a program asks it.

#[cfg(test)]
mod arrivals;
#[cfg(test)]
mod customer;
#[cfg(test)]
mod desk;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod document;
#[cfg(test)]
mod manners;
#[cfg(test)]
mod people;
#[cfg(test)]
mod pricing;
#[cfg(test)]
mod social;
#[cfg(test)]
mod stall;
#[cfg(test)]
mod workflows;
