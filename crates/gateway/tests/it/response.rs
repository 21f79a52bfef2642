//! An answer of the gateway, read to its end.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use trunkline_upstream::UpstreamResponse;

/// An answer that was read.
#[derive(Debug)]
pub(crate) struct GatewayResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl GatewayResponse {
    pub(crate) async fn read(mut answer: UpstreamResponse) -> Self {
        let body = answer.whole(100_000_000).await.unwrap();
        Self {
            status: answer.status,
            headers: answer.headers,
            body,
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        Some(self.headers.get(name)?.to_str().unwrap().to_owned())
    }

    pub(crate) fn id(&self) -> String {
        self.header("x-request-id").unwrap()
    }

    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }

    /// The JSON of every `data:` line but the terminal one.
    pub(crate) fn frames(&self) -> Vec<Value> {
        let text = self.text();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let json = data.filter(|data| *data != "[DONE]");
        json.map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }
}
