//! Sending one prepared request to one channel: its address, its headers, its credential.

use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use trunkline_upstream::{Outgoing as Sent, SendError, UpstreamResponse};
use trunkline_wire::Format;

use crate::channels::{Channel, ChannelCredential};
use crate::format_selection::provider_format;
use crate::services::Services;

const AGENT: &str = concat!("trunkline/", env!("CARGO_PKG_VERSION"));

/// Sends a call with a credential shown.
pub(crate) async fn send_as(
    services: &Services,
    mut call: Sent<'_>,
    credential: &ChannelCredential,
) -> Result<UpstreamResponse, SendError> {
    let client = services
        .client
        .connecting_within(credential.connects_within);
    let auth_headers = credential
        .opened
        .headers(&services.client, &call, services.now());
    for (name, value) in auth_headers.await? {
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
    for (name, value) in channel.provider.format_headers(provider_format(to)) {
        headers.insert(name, value);
    }
    headers
}
