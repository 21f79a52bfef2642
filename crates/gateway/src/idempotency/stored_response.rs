//! A stored response: its status, its headers, and every byte of its body, up to a size. Sealed for the
//! account and the call, so that it opens for no other.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use trunkline_keyring::{Binding, Purpose};
use trunkline_types::{AccountId, RequestId};

use crate::error::ApiError;
use crate::in_flight::BufferPermit;
use crate::services::Services;

/// A response up to this size is sealed and opened where it is: some ten microseconds.
const MAX_INLINE_BYTES: usize = 65_536;

/// An answer while it is made, and when it is there.
pub(crate) struct StoredResponse {
    head: Head,
    body: Vec<u8>,
    most: usize,
    /// The copy is in memory as the call is.
    copied: BufferPermit,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    #[serde(rename = "s")]
    status: u16,
    #[serde(rename = "h")]
    headers: Vec<(String, String)>,
    /// The body had more bytes than are kept, and none are.
    #[serde(rename = "l")]
    too_large: bool,
}

/// An answer that was kept.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// None if it was too large.
    pub(crate) body: Option<Bytes>,
}

// === impl StoredResponse ===

impl StoredResponse {
    /// Of an answer that begins with these headers.
    pub(crate) fn begin(
        services: &Services,
        account: AccountId,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Self {
        let texts = headers.iter().filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        });
        Self {
            head: Head {
                status: status.as_u16(),
                headers: texts.collect(),
                too_large: false,
            },
            body: Vec::new(),
            most: services.settings.idempotency.most_bytes,
            copied: BufferPermit::none(Arc::clone(&services.edge.in_flight), account),
        }
    }

    /// The next bytes of its body.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        if self.head.too_large {
            return;
        }
        if self.body.len().saturating_add(bytes.len()) > self.most {
            self.head.too_large = true;
            self.body = Vec::new();
        } else {
            self.body.extend_from_slice(bytes);
        }
        self.copied.count(self.body.len());
    }

    /// Whether all of it is kept so far.
    pub(crate) const fn is_whole(&self) -> bool {
        !self.head.too_large
    }

    /// The length of the head, the head, the body.
    fn plain(&self) -> Option<Vec<u8>> {
        let head = serde_json::to_vec(&self.head).ok()?;
        let length = u32::try_from(head.len()).ok()?;
        Some([length.to_be_bytes().as_slice(), &head, &self.body].concat())
    }
}

// === impl Kept ===

impl Kept {
    fn read(plain: &[u8]) -> Option<Self> {
        let (length, rest) = plain.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (head, body) = rest.split_at_checked(length)?;
        let head: Head = serde_json::from_slice(head).ok()?;
        let mut headers = HeaderMap::new();
        for (name, value) in &head.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            headers.append(name, HeaderValue::from_str(value).ok()?);
        }
        Some(Self {
            status: StatusCode::from_u16(head.status).ok()?,
            headers,
            body: (!head.too_large).then(|| Bytes::copy_from_slice(body)),
        })
    }
}

pub(crate) async fn seal_record(
    services: &Services,
    request: RequestId,
    account: AccountId,
    record: &StoredResponse,
) -> Result<Vec<u8>, ApiError> {
    let plain = record.plain().ok_or_else(ApiError::unavailable)?;
    let keyring = services.keyring.clone();
    let sealed = ciphered(plain.len(), move || {
        let uuid = request.uuid();
        let binding = Binding::of_account(account, uuid.as_bytes());
        keyring.seal(Purpose::IdempotentAnswers, &binding, &plain)
    });
    let sealed = sealed.await.ok_or_else(ApiError::unavailable)?;
    sealed.map_err(|error| {
        tracing::error!(%error, request.id = %request, "idempotency: sealing the response failed");
        ApiError::unavailable()
    })
}

pub(crate) async fn open_record(
    services: &Services,
    request: RequestId,
    account: AccountId,
    sealed: Vec<u8>,
) -> Option<Kept> {
    let keyring = services.keyring.clone();
    let opened = ciphered(sealed.len(), move || {
        let uuid = request.uuid();
        let binding = Binding::of_account(account, uuid.as_bytes());
        let plain = keyring.open(Purpose::IdempotentAnswers, &binding, &sealed);
        Kept::read(plain.ok()?.reveal())
    });
    opened.await?
}

/// Seals or opens so many bytes. A large response would keep a thread of the runtime from every other call for
/// as long, so it is given to another thread; none if that failed.
async fn ciphered<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if bytes <= MAX_INLINE_BYTES {
        return Some(work());
    }
    tokio::task::spawn_blocking(work).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_written_and_nonsense_is_nothing() {
        let head = br#"{"s":200,"h":[["content-type","text/plain"]],"l":false}"#;
        let length = u32::try_from(head.len()).unwrap().to_be_bytes();
        let plain = [length.as_slice(), head, b"body"].concat();
        let stored = Kept::read(&plain).unwrap();
        assert_eq!(stored.status, StatusCode::OK);
        assert_eq!(stored.headers["content-type"], "text/plain");
        assert_eq!(stored.body.as_deref(), Some(&b"body"[..]));
        for cut in 0..head.len() + 4 {
            assert!(Kept::read(&plain[..cut]).is_none());
        }
    }
}
