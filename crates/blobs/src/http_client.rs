//! The HTTP client for `object_store`: hyper and rustls on aws-lc-rs, as in all other crates.
//!
//! Not `reqwest`, the default of `object_store`: it reads proxies from the environment and would be a second HTTP
//! stack with its own roots. Timeouts are set by the caller (`backend.rs`), which sees retries and their backoff;
//! only the connect timeout is set here.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpResponseBody, HttpService,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::MediaError;
use crate::error::cut;

/// Idle timeout of pooled connections; servers close them after a minute or so.
const IDLE: Duration = Duration::from_secs(20);
/// Pooled idle connections; the server would close more.
const MAX_IDLE: usize = 32;
/// Most certificates beside the public roots.
const MAX_EXTRA_ROOTS: usize = 500;

/// Creates the HTTP client of a store.
#[derive(Debug, Clone)]
pub(crate) struct HttpConnector {
    client: Client<HttpsConnector<TcpConnector>, HttpRequestBody>,
}

// === impl HttpConnector ===

impl HttpConnector {
    pub(crate) fn new(connect_limit: Duration, extra_roots_pem: &[u8]) -> Result<Self, MediaError> {
        let mut tcp = TcpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(connect_limit));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            .with_root_certificates(roots(extra_roots_pem)?)
            .with_no_client_auth();
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(MAX_IDLE)
            .build(https);
        Ok(Self { client })
    }
}

impl object_store::client::HttpConnector for HttpConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for HttpConnector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = self.client.request(request).await.map_err(|error| {
            let kind = if error.is_connect() {
                HttpErrorKind::Connect
            } else {
                kind_of(&error)
            };
            HttpError::new(kind, error)
        })?;
        Ok(response.map(|body| {
            HttpResponseBody::new(body.map_err(|error| HttpError::new(kind_of(&error), error)))
        }))
    }
}

/// The kind of an error, which decides whether the request may be retried.
fn kind_of(error: &(dyn StdError + 'static)) -> HttpErrorKind {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(hyper) = error.downcast_ref::<hyper::Error>() {
            if hyper.is_closed() || hyper.is_incomplete_message() || hyper.is_canceled() {
                return HttpErrorKind::Request;
            }
            if hyper.is_timeout() {
                return HttpErrorKind::Timeout;
            }
        }
        if error.is::<io::Error>() {
            return HttpErrorKind::Interrupted;
        }
        next = error.source();
    }
    HttpErrorKind::Unknown
}

/// The public roots and those of the settings.
fn roots(extra_pem: &[u8]) -> Result<rustls::RootCertStore, MediaError> {
    let mut store = rustls::RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    for (index, found) in CertificateDer::pem_slice_iter(extra_pem).enumerate() {
        if index >= MAX_EXTRA_ROOTS {
            let message = format!("more than {MAX_EXTRA_ROOTS} extra certificates");
            return Err(MediaError::Settings { message });
        }
        let root = found.map_err(|error| unusable(&error))?;
        store.add(root).map_err(|error| unusable(&error))?;
    }
    Ok(store)
}

fn unusable(error: &dyn StdError) -> MediaError {
    MediaError::Settings {
        message: cut(&format!("TLS: {error}")),
    }
}
