//! Our own signed links: `/media/<shard>/<account>/<rest>?Expires=<unix seconds>&Signature=<…>`.
//!
//! The signature covers the version of this format, shard, account, the rest of the path and `Expires`. A link has
//! exactly one spelling: it is parsed, serialized and compared, so an added, repeated or reordered parameter,
//! another number format or a percent sign makes it invalid. Only `&download=1` may follow: a browser then saves
//! the file. It is not signed, since it grants no access.
//!
//! The keys are elsewhere. [`LinkKeys`] has the signature interface of the keyring: ordered parts with their
//! boundaries signed too, and the key generation inside the signature.

use trunkline_types::{AccountId, Timestamp};

use crate::MediaPath;

/// Longest link that is read, path and query: a real one has about 200 characters.
pub const MAX_LINK_CHARACTERS: usize = 512;

/// Signed first, so that no link of another format is valid in this one.
const VERSION: &[u8] = b"media-link-1";
const PATH_START: &str = "/media/";
const EXPIRES_START: &str = "Expires=";
const SIGNATURE_START: &str = "&Signature=";
const DOWNLOAD: &str = "&download=1";

/// Signs and verifies links. Implemented where the keys are.
pub trait LinkKeys: Send + Sync {
    /// Signs parts in their order, for an account, with the current key. The ends of the parts must
    /// be signed too, and the signature must need no escaping in a query (base64url does not).
    fn sign(&self, account: AccountId, parts: &[&[u8]]) -> Result<String, SigningFailed>;

    /// Whether [`LinkKeys::sign`] made this signature of these parts, under any key that still
    /// counts. Takes the same time wherever the signature differs.
    fn is_signed(&self, account: AccountId, parts: &[&[u8]], signature: &str) -> bool;
}

/// The keys could not sign.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a medimedia link: signing failed: {0}")]
pub struct SigningFailed(pub String);

/// Why a link is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Not the form of a link: another path, other parameters, another spelling.
    #[error("not a media link")]
    NotALink,
    /// It was signed by us, and its time is over.
    #[error("the media link has expired")]
    Expired,
    /// Not signed by us, or altered since.
    #[error("the signature of the media link does not fit")]
    BadSignature,
}

/// A link that works up to the second of `expires`: path and query, without a host.
pub fn sign(
    keys: &dyn LinkKeys,
    path: &MediaPath,
    expires: Timestamp,
) -> Result<String, SigningFailed> {
    let expires = expires.seconds().max(0).to_string();
    let signature = with_parts(path, &expires, |parts| keys.sign(path.account(), parts))?;
    Ok(spell(path, &expires, &signature))
}

/// The target of a link, if its signature is valid and it has not expired.
pub fn verify(
    keys: &dyn LinkKeys,
    path_and_query: &str,
    now: Timestamp,
) -> Result<MediaPath, LinkError> {
    let (path, expires, signature) = read(path_and_query).ok_or(LinkError::NotALink)?;
    // First the signature: a forged link gets no other error.
    let is_ours = with_parts(&path, expires, |parts| {
        keys.is_signed(path.account(), parts, signature)
    });
    if !is_ours {
        return Err(LinkError::BadSignature);
    }
    let seconds: i64 = expires.parse().map_err(|_| LinkError::NotALink)?;
    if now > Timestamp::from_micros(seconds.saturating_mul(1_000_000)) {
        return Err(LinkError::Expired);
    }
    Ok(path)
}

/// A link by which a browser saves the file, where the link itself shows it.
#[must_use]
pub fn saving(link: &str) -> String {
    format!("{link}{DOWNLOAD}")
}

/// A link as it was signed, and whether its file is to be saved.
#[must_use]
pub fn read_saving(path_and_query: &str) -> (&str, bool) {
    match path_and_query.strip_suffix(DOWNLOAD) {
        Some(link) => (link, true),
        None => (path_and_query, false),
    }
}

/// Takes a link apart: what it leads to, `Expires` and the signature as they are written.
fn read(text: &str) -> Option<(MediaPath, &str, &str)> {
    if text.len() > MAX_LINK_CHARACTERS {
        return None;
    }
    let (path, query) = text.strip_prefix(PATH_START)?.split_once('?')?;
    let (expires, signature) = query
        .strip_prefix(EXPIRES_START)?
        .split_once(SIGNATURE_START)?;
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if signature.is_empty() || !signature.bytes().all(legal) {
        return None;
    }
    let number: u64 = expires.parse().ok()?;
    let path = MediaPath::from_link(path)?;
    // A link in any other spelling is not ours.
    (spell(&path, &number.to_string(), signature) == text).then_some((path, expires, signature))
}

fn spell(path: &MediaPath, expires: &str, signature: &str) -> String {
    let (shard, account, rest) = (path.shard().number(), path.account(), path.rest());
    format!(
        "{PATH_START}{shard}/{account}/{rest}?{EXPIRES_START}{expires}{SIGNATURE_START}{signature}"
    )
}

/// Calls `then` with the signed parts in order.
fn with_parts<T>(path: &MediaPath, expires: &str, then: impl FnOnce(&[&[u8]]) -> T) -> T {
    let shard = path.shard().number().to_string();
    let account = path.account().to_string();
    let rest = path.rest();
    then(&[
        VERSION,
        shard.as_bytes(),
        account.as_bytes(),
        rest.as_bytes(),
        expires.as_bytes(),
    ])
}

#[cfg(test)]
mod tests;
