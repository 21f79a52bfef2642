//! From a name to addresses. A trait, so that a test can answer what an attacker's server would.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;

/// Addresses that are on their way.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Who knows the addresses of a name.
pub trait Resolve: Send + Sync {
    /// All addresses of a name. It is never asked about a text that is an address itself.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

/// What the operating system says.
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
