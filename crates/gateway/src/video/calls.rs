//! One call to a video vendor: what its protocol wants, with the channel's address, headers and
//! credential.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method, Uri};
use trunkline_upstream::{Answer, Outgoing, Protocol as Spoken, SendError};
use trunkline_video::upstreams::{At, Call, Method as Verb, Said};
use trunkline_wire::Format;

use crate::gateway::Gateway;
use crate::roster::{Live, LiveCredential};
use crate::sending::headers;

/// Largest answer of a vendor that is read.
const MAX_ANSWER_BYTES: usize = 4_000_000;

/// An answer that was read whole.
#[derive(Debug)]
pub(super) struct Heard {
    status: u16,
    retry_after: Option<u64>,
    body: Bytes,
}

impl Heard {
    pub(super) fn said(&self) -> Said<'_> {
        Said {
            status: self.status,
            retry_after: self.retry_after,
            body: &self.body,
        }
    }
}

impl Gateway {
    /// Asks, and reads the answer whole.
    pub(super) async fn ask_vendor(
        &self,
        live: &Live,
        credential: &LiveCredential,
        call: &Call,
    ) -> Result<Heard, SendError> {
        let wait = self.inner.settings.video.call_wait;
        let mut answer = self.open_vendor(live, credential, call, wait).await?;
        let seconds = answer.headers.get(RETRY_AFTER);
        let seconds = seconds.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let status = answer.status.as_u16();
        let body = answer.whole(MAX_ANSWER_BYTES).await;
        // It arrived, and what became of it is not known.
        let body = body.map_err(|error| SendError::Broken(error.to_string()))?;
        Ok(Heard {
            status,
            retry_after: seconds,
            body,
        })
    }

    /// Asks, and leaves the body to the caller.
    pub(super) async fn open_vendor(
        &self,
        live: &Live,
        credential: &LiveCredential,
        call: &Call,
        wait: Duration,
    ) -> Result<Answer, SendError> {
        let unsent = || SendError::NotSent("the address cannot be written".to_owned());
        let uri = address(&live.base, &call.at).ok_or_else(unsent)?;
        let mut sent = headers(live, Format::OpenaiChat, false);
        if call.body.is_none() {
            sent.remove(CONTENT_TYPE);
        }
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
            body: call.body.clone().map_or_else(Bytes::new, Bytes::from),
            deadlines: live.deadlines(wait, wait),
            proxy: live.proxy.as_ref(),
            protocol: Spoken::Http1,
        };
        self.send_as(outgoing, credential).await
    }
}

/// The whole address.
fn address(base: &str, at: &At) -> Option<Uri> {
    let base = base.trim_end_matches('/');
    let text = match at {
        At::Base(path) => format!("{base}{path}"),
        At::Host(path) => {
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
        let told = |at: At| {
            address("https://api.example.com/v1/", &at)
                .unwrap()
                .to_string()
        };
        assert_eq!(
            told(At::Base("/tasks/7?x=1".to_owned())),
            "https://api.example.com/v1/tasks/7?x=1"
        );
        assert_eq!(
            told(At::Host("/v2/tasks".to_owned())),
            "https://api.example.com/v2/tasks"
        );
        assert_eq!(address("nowhere", &At::Base("/x".to_owned())), None);
    }
}
