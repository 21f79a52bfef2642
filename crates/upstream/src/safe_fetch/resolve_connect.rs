//! The only place where the fetcher opens a connection. It resolves, checks and connects in one step and returns no
//! address, so no caller can check one DNS answer and connect to another (DNS rebinding).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::SafeFetchSettings;
use super::error::FetchError;
use super::networks::may_reach;
use super::resolve::Resolve;
use super::target::{Place, Target};

/// Addresses of one host name; a name with more is not a file server.
const MAX_ADDRESSES: usize = 64;
/// How many of them are tried.
const MAX_TRIED: usize = 4;

/// A connection to a checked address.
pub(super) enum Connection {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

pub(super) async fn connect(
    target: &Target,
    settings: &SafeFetchSettings,
    resolver: &dyn Resolve,
    tls: &Arc<rustls::ClientConfig>,
) -> Result<Connection, FetchError> {
    let addresses = resolve_checked(target, settings, resolver).await?;
    let stream = connect_first(&addresses, target.port, settings).await?;
    if !target.is_tls {
        return Ok(Connection::Plain(stream));
    }
    let name = match &target.place {
        Place::Address(address) => ServerName::IpAddress((*address).into()),
        Place::Name(name) => {
            ServerName::try_from(name.clone()).map_err(|_| FetchError::NotAnAddress)?
        }
    };
    let connector = TlsConnector::from(Arc::clone(tls));
    match connector.connect(name, stream).await {
        Ok(stream) => Ok(Connection::Tls(Box::new(stream))),
        Err(error) => Err(not_secured(&error)),
    }
}

/// Whether a target's host name resolves to allowed addresses now.
pub(super) async fn check(
    target: &Target,
    settings: &SafeFetchSettings,
    resolver: &dyn Resolve,
) -> Result<(), FetchError> {
    resolve_checked(target, settings, resolver).await.map(drop)
}

/// The addresses of a target, if all are allowed. One denied address denies the name: honest servers do not mix
/// public addresses with private ones, and picking the allowed ones would let an attacker retry until a check
/// misses.
async fn resolve_checked(
    target: &Target,
    settings: &SafeFetchSettings,
    resolver: &dyn Resolve,
) -> Result<Vec<IpAddr>, FetchError> {
    let addresses = match &target.place {
        Place::Address(address) => vec![*address],
        Place::Name(name) => resolver
            .resolve(name)
            .await
            .map_err(|_| FetchError::NotPublic)?,
    };
    let are_good = addresses
        .iter()
        .all(|address| may_reach(*address, &settings.allowed));
    if addresses.is_empty() || addresses.len() > MAX_ADDRESSES || !are_good {
        return Err(FetchError::NotPublic);
    }
    Ok(addresses)
}

/// An error that is not from rustls is a broken connection.
fn not_secured(error: &std::io::Error) -> FetchError {
    if error
        .get_ref()
        .is_some_and(|inner| inner.is::<rustls::Error>())
    {
        FetchError::Untrusted
    } else {
        FetchError::Unreachable
    }
}

async fn connect_first(
    addresses: &[IpAddr],
    port: u16,
    settings: &SafeFetchSettings,
) -> Result<TcpStream, FetchError> {
    for address in addresses.iter().take(MAX_TRIED) {
        let connecting = TcpStream::connect(SocketAddr::new(*address, port));
        if let Ok(Ok(stream)) = tokio::time::timeout(settings.connect_within, connecting).await {
            return Ok(stream);
        }
    }
    Err(FetchError::Unreachable)
}
