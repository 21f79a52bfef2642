//! The vendors' SDKs through the whole product.

#[cfg(test)]
mod commands;
#[cfg(test)]
mod console;
#[cfg(test)]
mod customer;
#[cfg(test)]
mod dev;
#[cfg(test)]
mod receipts;
#[cfg(test)]
mod social;
#[cfg(test)]
mod suites;
