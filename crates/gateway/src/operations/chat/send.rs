//! Sending one prepared request to one channel.

use std::time::Duration;

use http::Method;
use trunkline_upstream::{Ask, Outgoing, SendError, UpstreamResponse};

use super::{OutboundRequest, Quoted};
use crate::failover::To;
use crate::format_selection::provider_format;
use crate::sending::{headers, send_as};
use crate::services::Services;

/// Sends it, and waits for the head of the answer.
pub(super) async fn send(
    services: &Services,
    quoted: &Quoted,
    prepared: &OutboundRequest,
    to: To<'_>,
) -> Result<UpstreamResponse, SendError> {
    let To {
        channel,
        credential,
        query: _,
    } = to;
    let facts = &quoted.request.facts;
    let streams = facts.stream || prepared.aggregates;
    let ask = Ask {
        format: provider_format(prepared.to),
        task: quoted.endpoint.task(),
        model: channel.upstream_model(&facts.model),
        stream: streams,
        id: None,
    };
    let unsent = |error: trunkline_upstream::UrlError| SendError::NotSent(error.to_string());
    let uri = channel.address(&ask).map_err(unsent)?;
    let settings = &services.settings;
    let total = if facts.stream {
        Duration::from_millis(channel.provider.total_ms)
    } else {
        settings.whole_wait
    };
    let mut headers = headers(channel, prepared.to, streams);
    if prepared.to == quoted.format() {
        headers.extend(prepared.headers.clone());
    }
    let call = Outgoing {
        method: Method::POST,
        uri,
        headers,
        body: prepared.body.clone().into(),
        deadlines: channel.deadlines(total, settings.stream_idle),
        proxy: channel.proxy.as_ref(),
        protocol: channel.provider.protocol(streams),
    };
    send_as(services, call, credential).await
}
