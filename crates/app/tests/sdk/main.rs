//! The vendors' SDKs through the whole product.

#[cfg(test)]
mod console;
#[cfg(test)]
mod suites;
