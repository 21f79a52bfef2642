//! Sending one prepared request to one channel: its address, its headers, its credential.

use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use trunkline_upstream::{Answer, Ask, Outgoing as Sent, SendError};
use trunkline_wire::Format;

use crate::choose::spoken_as;
use crate::gateway::Gateway;
use crate::preparing::Prepared;
use crate::quoted::Quoted;
use crate::roster::{Live, LiveCredential};

const AGENT: &str = concat!("trunkline/", env!("CARGO_PKG_VERSION"));

/// Sends it, and waits for the head of the answer.
pub(crate) async fn send(
    gateway: &Gateway,
    (quoted, prepared): (&Quoted, &Prepared),
    live: &Live,
    credential: &LiveCredential,
) -> Result<Answer, SendError> {
    let facts = &quoted.request.facts;
    let ask = Ask {
        format: spoken_as(prepared.to),
        task: quoted.entrance.task(),
        model: live.upstream_model(&facts.model),
        stream: facts.stream,
        id: None,
    };
    let unsent = |error: trunkline_upstream::AddressError| SendError::NotSent(error.to_string());
    let uri = live.provider.address(&live.base, &ask).map_err(unsent)?;
    let settings = &gateway.inner.settings;
    let total = if facts.stream {
        Duration::from_millis(live.provider.total_ms)
    } else {
        settings.whole_wait
    };
    let mut headers = headers(live, prepared.to, facts.stream);
    if prepared.to == quoted.format() {
        headers.extend(quoted.forwarded.clone());
    }
    let call = Sent {
        method: Method::POST,
        uri,
        headers,
        body: prepared.body.clone().into(),
        deadlines: live.deadlines(total, settings.stream_idle),
        proxy: live.proxy.as_ref(),
        protocol: live.provider.protocol(facts.stream),
    };
    gateway.send_as(call, credential).await
}

impl Gateway {
    /// Sends a call with a credential shown.
    pub(crate) async fn send_as(
        &self,
        mut call: Sent<'_>,
        credential: &LiveCredential,
    ) -> Result<Answer, SendError> {
        let client = &self.inner.client;
        let shown = credential.opened.headers(client, &call, self.inner.now());
        for (name, value) in shown.await? {
            call.headers.insert(name, value);
        }
        client.send(call).await
    }
}

/// The headers of a call, but for its credential.
pub(crate) fn headers(live: &Live, to: Format, stream: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &live.row.extra_headers {
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
    for (name, value) in live.provider.format_headers(spoken_as(to)) {
        headers.insert(name, value);
    }
    headers
}
