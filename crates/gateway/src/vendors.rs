//! One call to a vendor: what its protocol wants, with the channel's address, headers and credential.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use trunkline_generation::vendor_http::{
    Method as Verb, UrlPath, VendorError, VendorRequest, VendorResponse,
};
use trunkline_upstream::{
    Deadlines, Outgoing, Payload, Protocol as Spoken, SendError, UpstreamResponse,
};
use trunkline_wire::Format;

use crate::channels::{Channel, ChannelCredential};
use crate::error::{ApiError, ErrorCode};
use crate::scrub::without_secrets;
use crate::sending::{self, headers};
use crate::services::Services;

/// Largest answer of a vendor that is read.
const MAX_ANSWER_BYTES: usize = 4_000_000;

/// A body with its type.
pub(crate) struct VendorBody {
    pub(crate) payload: Payload,
    pub(crate) content_type: Option<HeaderValue>,
}

/// An answer that was read whole.
#[derive(Debug)]
pub(crate) struct BufferedResponse {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<u64>,
    pub(crate) body: Bytes,
}

impl BufferedResponse {
    pub(crate) async fn read(mut answer: UpstreamResponse, most: usize) -> Result<Self, SendError> {
        let seconds = answer.headers.get(RETRY_AFTER);
        let seconds = seconds.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let status = answer.status.as_u16();
        let body = answer.whole(most).await;
        // It arrived, and what became of it is not known.
        let body = body.map_err(|error| SendError::Broken(error.to_string()))?;
        Ok(Self {
            status,
            retry_after: seconds,
            body,
        })
    }

    pub(crate) fn as_vendor_response(&self) -> VendorResponse<'_> {
        VendorResponse {
            status: self.status,
            retry_after: self.retry_after,
            body: &self.body,
        }
    }
}

/// A vendor's error message, without secrets.
pub(crate) fn vendor_error(services: &Services, reported: &VendorError) -> ApiError {
    let secrets = services.channels.load_full().secrets();
    let clean = |text: &str| without_secrets(text, &secrets);
    let status = StatusCode::from_u16(reported.status).unwrap_or(StatusCode::BAD_REQUEST);
    let code = Some(clean(&reported.code)).filter(|code| !code.is_empty());
    let message = match clean(&reported.message) {
        text if text.is_empty() => "the upstream refused the request".to_owned(),
        text => text,
    };
    let mut error = ApiError::new(ErrorCode::UpstreamRefused(status, code), message);
    error.param = reported.param.as_deref().map(clean);
    error
}

/// Asks, and reads the answer whole.
pub(crate) async fn call_json(
    services: &Services,
    channel: &Channel,
    credential: &ChannelCredential,
    call: &VendorRequest,
) -> Result<BufferedResponse, SendError> {
    let wait = services.settings.video.call_wait;
    let answer = open(services, channel, credential, call, wait).await?;
    BufferedResponse::read(answer, MAX_ANSWER_BYTES).await
}

/// Asks, and leaves the body to the caller.
pub(crate) async fn open(
    services: &Services,
    channel: &Channel,
    credential: &ChannelCredential,
    call: &VendorRequest,
    wait: Duration,
) -> Result<UpstreamResponse, SendError> {
    let json = HeaderValue::from_static("application/json");
    let sending = VendorBody {
        payload: call
            .body
            .clone()
            .map_or_else(Bytes::new, Bytes::from)
            .into(),
        content_type: call.body.is_some().then_some(json),
    };
    let deadlines = channel.deadlines(wait, wait);
    send(services, channel, credential, call, sending, deadlines).await
}

/// Asks with any body, and leaves the answer's to the caller.
pub(crate) async fn send(
    services: &Services,
    channel: &Channel,
    credential: &ChannelCredential,
    call: &VendorRequest,
    sending: VendorBody,
    deadlines: Deadlines,
) -> Result<UpstreamResponse, SendError> {
    let unsent = || SendError::NotSent("the address cannot be written".to_owned());
    let uri = address(&channel.base, &call.path).ok_or_else(unsent)?;
    let mut sent = headers(channel, Format::OpenaiChat, false);
    match sending.content_type {
        Some(content_type) => sent.insert(CONTENT_TYPE, content_type),
        None => sent.remove(CONTENT_TYPE),
    };
    for (name, value) in &call.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unsent())?;
        let value = HeaderValue::from_str(value).map_err(|_| unsent())?;
        sent.insert(name, value);
    }
    let outgoing = Outgoing {
        method: match call.method {
            Verb::Get => Method::GET,
            Verb::Post => Method::POST,
            Verb::Delete => Method::DELETE,
        },
        uri,
        headers: sent,
        body: sending.payload,
        deadlines,
        proxy: channel.proxy.as_ref(),
        protocol: Spoken::Http1,
    };
    sending::send_as(services, outgoing, credential).await
}

fn address(base: &str, at: &UrlPath) -> Option<Uri> {
    let base = base.trim_end_matches('/');
    let text = match at {
        UrlPath::Base(path) => format!("{base}{path}"),
        UrlPath::Host(path) => {
            let base: Uri = base.parse().ok()?;
            let (scheme, authority) = (base.scheme_str()?, base.authority()?);
            format!("{scheme}://{authority}{path}")
        }
    };
    let uri: Uri = text.parse().ok()?;
    uri.host().is_some().then_some(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stands_behind_the_base_or_at_the_root_of_its_host() {
        let resolved = |at: UrlPath| {
            address("https://api.example.com/v1/", &at)
                .unwrap()
                .to_string()
        };
        assert_eq!(
            resolved(UrlPath::Base("/tasks/7?x=1".to_owned())),
            "https://api.example.com/v1/tasks/7?x=1"
        );
        assert_eq!(
            resolved(UrlPath::Host("/v2/tasks".to_owned())),
            "https://api.example.com/v2/tasks"
        );
        assert_eq!(address("nowhere", &UrlPath::Base("/x".to_owned())), None);
    }
}
