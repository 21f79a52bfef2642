//! The streamable HTTP transport, on the listener that every server here stands on. It keeps no sessions: a request
//! has all that it needs, its caller's key too, so any number of these can stand behind one address.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use trunkline_listener::{ListenerSettings, Peer, Service};
use trunkline_types::Secret;

use super::MAX_MESSAGE_BYTES;
use super::server::{CallerKey, McpServer};
use crate::output::Output;

const PATH: &str = "/mcp";
/// Messages that are read and answered at once: what they hold in memory has a bound.
const MAX_REQUESTS: usize = 64;
/// A client's message and the gateway's answer to it.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
const SETTINGS: ListenerSettings = ListenerSettings {
    name: "mcp",
    max_connections: 500,
    descriptor_percent: 75,
    receive_bytes: 32_768_000,
    head_wait: Duration::from_secs(10),
    reader_wait: Duration::from_secs(30),
    max_head_bytes: 16_384,
    max_headers: 100,
    max_streams: 16,
};

type Body = BoxBody<Bytes, Infallible>;

struct McpService {
    inner: StreamableHttpService<McpServer, NeverSessionManager>,
    requests: Semaphore,
}

/// Until SIGINT or SIGTERM.
pub(super) async fn serve(
    server: McpServer,
    address: SocketAddr,
    hosts: &[String],
    output: &Output,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
    let url = format!("http://{}{PATH}", listener.local_addr()?);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (stop, stopped) = watch::channel(false);
    let service = Arc::new(McpService::new(server, hosts));
    let serving = Box::pin(trunkline_listener::serve(
        listener, SETTINGS, service, stopped,
    ));
    output.success(
        &format!("MCP server at {url}; Ctrl-C stops it"),
        &json!({ "ok": true, "url": url }),
    );
    let stopping = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stop.send_replace(true);
    };
    tokio::join!(serving, stopping);
    Ok(())
}

// === impl McpService ===

impl McpService {
    fn new(server: McpServer, hosts: &[String]) -> Self {
        let usual = StreamableHttpServerConfig::default();
        let known = usual.allowed_hosts.iter().chain(hosts).cloned();
        let known: Vec<String> = known.collect();
        let config = usual
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(MAX_MESSAGE_BYTES)
            .with_allowed_hosts(known)
            // No page of a browser is a client.
            .enforce_origin_validation();
        let sessions = Arc::new(NeverSessionManager::default());
        Self {
            inner: StreamableHttpService::new(move || Ok(server.clone()), sessions, config),
            requests: Semaphore::new(MAX_REQUESTS),
        }
    }

    async fn respond(&self, mut request: Request<Incoming>) -> Response<Body> {
        if request.uri().path() != PATH {
            let text = format!("there is nothing here; the MCP server is at {PATH}");
            return refusal(StatusCode::NOT_FOUND, "not_found", &text);
        }
        let Some(key) = bearer(request.headers()) else {
            let text = "send your API key as `Authorization: Bearer`";
            let mut response = refusal(StatusCode::UNAUTHORIZED, "missing_api_key", text);
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            return response;
        };
        // The SDK sees the request, and must not see the key.
        request.headers_mut().remove(AUTHORIZATION);
        request.extensions_mut().insert(CallerKey(key));
        let Ok(_permit) = self.requests.try_acquire() else {
            let text = "too many requests at once; retry";
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "busy", text);
        };
        let answered = timeout(ANSWERS_WITHIN, self.inner.handle(request)).await;
        answered.unwrap_or_else(|_| {
            let text = "the request was not complete, or the gateway did not answer, in time";
            refusal(StatusCode::GATEWAY_TIMEOUT, "timeout", text)
        })
    }
}

impl Service for McpService {
    type Body = Body;

    async fn answer(&self, request: Request<Incoming>, _peer: Peer) -> Response<Body> {
        Box::pin(self.respond(request)).await
    }
}

fn bearer(headers: &HeaderMap) -> Option<Secret> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    let key = key.trim();
    let is_one = scheme.eq_ignore_ascii_case("bearer") && !key.is_empty();
    is_one.then(|| Secret::new(key.to_owned()))
}

fn refusal(status: StatusCode, code: &str, message: &str) -> Response<Body> {
    let body = json!({ "error": { "code": code, "message": message } }).to_string();
    let mut response = Response::new(Full::new(Bytes::from(body)).boxed());
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
