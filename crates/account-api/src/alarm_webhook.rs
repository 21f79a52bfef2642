//! Tells an operator's own receiver of alarms, by signed messages of the Standard Webhooks scheme. Its address is
//! a setting, so it may be a private one.

use std::time::Duration;

use http::{Method, Uri};
use serde_json::{Map, Value};
use trunkline_types::Timestamp;
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol};
use uuid::Uuid;

use crate::webhooks::message::{self, Secret};

/// Longest attempt.
const WAIT: Duration = Duration::from_secs(10);
const MAX_RESPONSE_BYTES: usize = 65_536;

/// Where alarms are sent, and what signs them.
#[derive(Debug, Clone)]
pub struct AlarmTarget {
    uri: Uri,
    secret: Secret,
}

/// Sends alarms to their target.
#[derive(Clone)]
pub struct AlarmReceiver {
    target: AlarmTarget,
    client: Client,
}

/// One message.
#[derive(Debug, Clone)]
pub struct AlarmMessage {
    /// The same for each attempt, so that the receiver can detect a duplicate.
    pub id: Uuid,
    pub at: Timestamp,
    pub kind: &'static str,
    pub facts: Map<String, Value>,
}

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AlarmNotSent {
    #[error("the message cannot be signed")]
    Unsigned,
    #[error("the receiver answered {0}")]
    Refused(u16),
    #[error("the receiver cannot be reached: {0}")]
    Unreached(String),
}

// === impl AlarmTarget ===

impl AlarmTarget {
    /// None for a secret that is not `whsec_` and the base64 of at least 24 bytes.
    #[must_use]
    pub fn new(uri: Uri, secret: &str) -> Option<Self> {
        Secret::parse(secret).map(|secret| Self { uri, secret })
    }
}

// === impl AlarmReceiver ===

impl AlarmReceiver {
    #[must_use]
    pub const fn new(target: AlarmTarget, client: Client) -> Self {
        Self { target, client }
    }

    pub async fn send(&self, message: AlarmMessage) -> Result<(), AlarmNotSent> {
        let AlarmMessage {
            id,
            at,
            kind,
            facts,
        } = message;
        let body = message::envelope(kind, at, facts);
        let secrets = std::slice::from_ref(&self.target.secret);
        let headers = message::headers(id, at, &body, secrets).ok_or(AlarmNotSent::Unsigned)?;
        let call = Outgoing {
            method: Method::POST,
            uri: self.target.uri.clone(),
            headers,
            body: body.into(),
            deadlines: Deadlines {
                first_byte: WAIT,
                idle: WAIT,
                total: WAIT,
            },
            proxy: None,
            protocol: Protocol::Http1,
        };
        let sent = self.client.send(call).await;
        let mut answer = sent.map_err(|error| AlarmNotSent::Unreached(error.to_string()))?;
        let status = answer.status;
        // Read, so that the connection can be used again.
        drop(answer.whole(MAX_RESPONSE_BYTES).await);
        if status.is_success() {
            return Ok(());
        }
        Err(AlarmNotSent::Refused(status.as_u16()))
    }
}
