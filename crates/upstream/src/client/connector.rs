//! Connects to an upstream: TCP, the proxy's handshake, TLS, all within one timeout. When it fails, nothing was
//! sent.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::{Authority, Scheme};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::Protocol;
use super::proxy::Proxy;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Coming<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// Everything up to the first byte of a request.
#[derive(Clone)]
pub(super) struct Connector {
    https: HttpsConnector<Way>,
    longest: Duration,
}

/// Direct, or through a proxy.
#[derive(Clone)]
enum Way {
    Direct(HttpConnector),
    Http(Tunnel<HttpConnector>),
    Socks(SocksV5<HttpConnector>),
}

// === impl Connector ===

impl Connector {
    pub(super) fn new(
        tls: rustls::ClientConfig,
        proxy: Option<&Proxy>,
        protocol: Protocol,
        longest: Duration,
    ) -> Self {
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1();
        let way = Way::new(proxy, longest);
        let https = match protocol {
            Protocol::Http1 => https.wrap_connector(way),
            Protocol::Http2 => https.enable_http2().wrap_connector(way),
        };
        Self { https, longest }
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Coming<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let (mut https, longest) = (self.https.clone(), self.longest);
        Box::pin(async move {
            poll_fn(|context| https.poll_ready(context)).await?;
            match tokio::time::timeout(longest, https.call(to)).await {
                Ok(connected) => connected,
                Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            }
        })
    }
}

// === impl Way ===

impl Way {
    fn new(proxy: Option<&Proxy>, longest: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(longest));
        match proxy {
            None => Self::Direct(tcp),
            Some(Proxy::Http { uri, basic, .. }) => {
                let tunnel = Tunnel::new(uri.clone(), tcp);
                Self::Http(match basic {
                    Some(value) => tunnel.with_auth(value.clone()),
                    None => tunnel,
                })
            }
            Some(Proxy::Socks { uri, login, .. }) => {
                let socks = SocksV5::new(uri.clone(), tcp);
                Self::Socks(match login {
                    Some((user, password)) => {
                        socks.with_auth(user.clone(), password.reveal().to_owned())
                    }
                    None => socks,
                })
            }
        }
    }
}

impl Service<Uri> for Way {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Coming<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let way = self.clone();
        Box::pin(async move {
            match way {
                Self::Direct(tcp) => through(tcp, to).await,
                Self::Http(tunnel) => through(tunnel, with_port(to)?).await,
                Self::Socks(socks) => through(socks, with_port(to)?).await,
            }
        })
    }
}

async fn through<S>(mut service: S, to: Uri) -> Result<TokioIo<TcpStream>, BoxError>
where
    S: Service<Uri, Response = TokioIo<TcpStream>>,
    S::Error: Into<BoxError>,
{
    let ready = poll_fn(|context| service.poll_ready(context)).await;
    ready.map_err(Into::into)?;
    service.call(to).await.map_err(Into::into)
}

/// CONNECT needs a port, and hyper-util's tunnel uses 443 where the URL has none.
fn with_port(to: Uri) -> Result<Uri, BoxError> {
    let plain = to.scheme() == Some(&Scheme::HTTP);
    let Some(host) = to.host().filter(|_| plain && to.port().is_none()) else {
        return Ok(to);
    };
    let authority: Authority = format!("{host}:80").parse()?;
    let mut parts = to.into_parts();
    parts.authority = Some(authority);
    Ok(Uri::from_parts(parts)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_told_port_80_for_plain_http_and_else_what_the_address_says() {
        for (from, to) in [
            ("http://a.example/", "http://a.example:80/"),
            ("http://[::1]/", "http://[::1]:80/"),
            ("http://a.example:8080/", "http://a.example:8080/"),
            ("https://a.example/", "https://a.example/"),
        ] {
            assert_eq!(with_port(from.parse().unwrap()).unwrap().to_string(), to);
        }
    }
}
