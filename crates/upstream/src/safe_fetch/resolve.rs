//! DNS resolution. A trait, so that a test can answer as an attacker's server would.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;

/// A pending resolution.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves host names.
pub trait Resolve: Send + Sync {
    /// All addresses of a host name. Never called with a literal address.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            // The port is of no interest to the system; it wants one.
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
