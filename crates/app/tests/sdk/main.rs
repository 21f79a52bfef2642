//! The vendors' SDKs through the whole product.

#[cfg(test)]
mod suites;
