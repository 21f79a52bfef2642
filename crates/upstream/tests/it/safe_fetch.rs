//! The guarded fetcher against real listeners on this machine: what it refuses must reach no listener.

mod accepted;
mod fake_network;
mod limits;
mod redirects;
mod refused;
mod ssrf_cases;
