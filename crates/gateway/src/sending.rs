//! Sending one prepared request to one channel: its address, its headers, its credential.

use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use trunkline_upstream::{Ask, Outgoing as Sent, SendError, UpstreamResponse};
use trunkline_wire::Format;

use crate::channels::{Channel, ChannelCredential};
use crate::failover::To;
use crate::format_selection::spoken_as;
use crate::operations::chat::{OutboundRequest, Quoted};
use crate::services::Services;

const AGENT: &str = concat!("trunkline/", env!("CARGO_PKG_VERSION"));

/// Sends it, and waits for the head of the answer.
pub(crate) async fn send(
    services: &Services,
    quoted: &Quoted,
    prepared: &OutboundRequest,
    to: To<'_>,
) -> Result<UpstreamResponse, SendError> {
    let To {
        channel,
        credential,
    } = to;
    let facts = &quoted.request.facts;
    let ask = Ask {
        format: spoken_as(prepared.to),
        task: quoted.endpoint.task(),
        model: channel.upstream_model(&facts.model),
        stream: facts.stream,
        id: None,
    };
    let unsent = |error: trunkline_upstream::UrlError| SendError::NotSent(error.to_string());
    let uri = channel
        .provider
        .address(&channel.base, &ask)
        .map_err(unsent)?;
    let settings = &services.settings;
    let total = if facts.stream {
        Duration::from_millis(channel.provider.total_ms)
    } else {
        settings.whole_wait
    };
    let mut headers = headers(channel, prepared.to, facts.stream);
    if prepared.to == quoted.format() {
        headers.extend(quoted.forwarded.clone());
    }
    let call = Sent {
        method: Method::POST,
        uri,
        headers,
        body: prepared.body.clone().into(),
        deadlines: channel.deadlines(total, settings.stream_idle),
        proxy: channel.proxy.as_ref(),
        protocol: channel.provider.protocol(facts.stream),
    };
    send_as(services, call, credential).await
}

/// Sends a call with a credential shown.
pub(crate) async fn send_as(
    services: &Services,
    mut call: Sent<'_>,
    credential: &ChannelCredential,
) -> Result<UpstreamResponse, SendError> {
    let client = &services.client;
    let shown = credential.opened.headers(client, &call, services.now());
    for (name, value) in shown.await? {
        call.headers.insert(name, value);
    }
    client.send(call).await
}

/// The headers of a call, but for its credential.
pub(crate) fn headers(channel: &Channel, to: Format, stream: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &channel.row.extra_headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
    let accept = if stream {
        "text/event-stream"
    } else {
        "application/json"
    };
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    for (name, value) in channel.provider.format_headers(spoken_as(to)) {
        headers.insert(name, value);
    }
    headers
}
