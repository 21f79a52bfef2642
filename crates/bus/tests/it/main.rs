//! The way between nodes: what both ways promise, and what NATS adds.

#[cfg(test)]
mod ways;
