//! A message as it is sent: the Standard Webhooks scheme. What is signed is `id.timestamp.body`, byte by
//! byte as it goes out. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use sha2::Sha256;
use trunkline_store::webhooks::ClaimedEvent;
use trunkline_types::{SecretBytes, Timestamp};
use uuid::Uuid;

use crate::task_id::task_name;

const SECRET_BYTES: usize = 32;
/// The least that Standard Webhooks allows.
const MIN_SECRET_BYTES: usize = 24;
const PREFIX: &str = "whsec_";

/// What messages to one webhook are signed with.
#[derive(Debug, Clone)]
pub struct Secret(SecretBytes);

impl Secret {
    /// A fresh one; none if the system has no random bytes.
    pub(crate) fn make(fill: impl FnOnce(&mut [u8]) -> Option<()>) -> Option<Self> {
        let mut bytes = vec![0; SECRET_BYTES];
        fill(&mut bytes)?;
        Some(Self(SecretBytes::new(bytes)))
    }

    /// As the scheme writes it; none if it is not of this form, or too short to be one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
        (bytes.len() >= MIN_SECRET_BYTES).then(|| Self(SecretBytes::new(bytes)))
    }

    pub(super) fn of(bytes: SecretBytes) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.reveal()
    }

    /// As the customer is shown it, and as the scheme's libraries read it.
    pub(crate) fn encoded(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(self.0.reveal()))
    }

    /// One signature. None only if HMAC refused the length of a key; it takes all.
    fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> Option<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.bytes()).ok()?;
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        Some(format!(
            "v1,{}",
            STANDARD.encode(mac.finalize().into_bytes())
        ))
    }
}

/// A message to a service of the operator's: its headers with one signature, and its body.
#[must_use]
pub fn signed_message(
    secret: &Secret,
    id: Uuid,
    at: Timestamp,
    kind: &str,
    facts: Map<String, Value>,
) -> Option<(HeaderMap, Bytes)> {
    let body = envelope(kind, at, facts);
    let headers = headers(id, at, &body, std::slice::from_ref(secret))?;
    Some((headers, body))
}

/// The headers of a message: with two secrets, two signatures.
pub(crate) fn headers(
    id: Uuid,
    at: Timestamp,
    body: &[u8],
    secrets: &[Secret],
) -> Option<HeaderMap> {
    let id = id.to_string();
    let seconds = at.seconds();
    let signatures: Option<Vec<String>> = secrets
        .iter()
        .map(|secret| secret.sign(&id, seconds, body))
        .collect();
    let signatures = signatures.filter(|signatures| !signatures.is_empty())?;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut put = |name: &'static str, value: String| {
        let value = HeaderValue::try_from(value).ok()?;
        headers.insert(HeaderName::from_static(name), value);
        Some(())
    };
    put("webhook-id", id)?;
    put("webhook-timestamp", seconds.to_string())?;
    put("webhook-signature", signatures.join(" "))?;
    Some(headers)
}

/// The body: what `GET /v1/events` says of the same event, in the scheme's envelope.
pub(super) fn body(event: &ClaimedEvent, facts: Value) -> Bytes {
    let mut data = match facts {
        Value::Object(facts) => facts,
        Value::Null => Map::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Map::from_iter([("value".to_owned(), other)])
        }
    };
    // Last, so that no fact can pass for one of these.
    data.insert("id".to_owned(), json!(event.id.to_string()));
    data.insert("topic".to_owned(), json!(event.topic));
    data.insert("created_at".to_owned(), json!(event.at.seconds()));
    data.insert("seq".to_owned(), json!(event.seq));
    if let Some(task) = event.task {
        data.insert("task_id".to_owned(), json!(task_name(task)));
    }
    envelope(&event.topic, event.at, data)
}

/// A message that tells of nothing but itself.
pub(super) fn test_body(webhook: &str, at: Timestamp) -> Bytes {
    let data = Map::from_iter([("webhook".to_owned(), json!(webhook))]);
    envelope(TEST, at, data)
}

/// The type of a message that was asked for to see whether it arrives.
pub(super) const TEST: &str = "webhook.test";

pub(crate) fn envelope(kind: &str, at: Timestamp, data: Map<String, Value>) -> Bytes {
    let timestamp = jiff::Timestamp::from_microsecond(at.micros()).unwrap_or_default();
    let message = json!({ "type": kind, "timestamp": timestamp.to_string(), "data": data });
    Bytes::from(message.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the scheme's own libraries; `standardwebhooks` 1.1.0 of PyPI signs it so.
    #[test]
    fn a_signature_is_the_one_that_standard_webhooks_documents() {
        let bytes = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let secret = Secret::of(SecretBytes::new(bytes));
        assert_eq!(secret.encoded(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let signed = secret.sign(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(
            signed.unwrap(),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn facts_cannot_pass_for_the_event_and_what_is_no_object_is_wrapped() {
        let event = ClaimedEvent {
            id: Uuid::nil(),
            seq: 7,
            topic: "task.completed".to_owned(),
            task: None,
            at: Timestamp::from_micros(1_700_000_000_123_456),
        };
        let read = |facts| -> Value { serde_json::from_slice(&body(&event, facts)).unwrap() };
        let message = read(json!({ "id": "task_1", "seq": 1, "model": "m" }));
        assert_eq!(message["type"], "task.completed");
        assert_eq!(message["timestamp"], "2023-11-14T22:13:20.123456Z");
        assert_eq!(
            message["data"],
            json!({
                "id": Uuid::nil().to_string(), "topic": "task.completed", "seq": 7,
                "created_at": 1_700_000_000, "model": "m",
            })
        );
        assert_eq!(read(json!([1]))["data"]["value"], json!([1]));
    }
}
