//! Limits, in one process and over several nodes on a real Redis.

#[cfg(test)]
mod cost;
#[cfg(test)]
mod double_window;
#[cfg(test)]
mod suite;
#[cfg(test)]
mod tls;
