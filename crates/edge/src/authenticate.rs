//! The caller, by the key of a request.

use http::{HeaderMap, Request};
use hyper::body::Incoming;
use trunkline_catalog::GroupChoice;
use trunkline_store::keys::KeyHash;
use trunkline_types::ApiKey;

use crate::caller::{Caller, key_text};
use crate::error::ApiError;
use crate::key_table::{Found, KeyStatus};
use crate::request_context::RequestContext;
use crate::state::EdgeState;
use crate::step::Step;

/// The caller by its key.
pub fn identify(
    edge: &EdgeState,
    context: &RequestContext,
    request: &Request<Incoming>,
) -> Result<Caller, ApiError> {
    let (headers, query) = (request.headers(), request.uri().query());
    let caller = Caller::known(edge, headers, query, context.address)?;
    context.authenticated(&caller);
    Ok(caller)
}

/// The caller, if the key may use the endpoint.
pub fn authenticate(
    edge: &EdgeState,
    context: &RequestContext,
    request: &Request<Incoming>,
    endpoint: &str,
) -> Result<Caller, ApiError> {
    let caller = identify(edge, context, request)?;
    caller.check_endpoint(endpoint)?;
    context.step(Step::Authenticate);
    Ok(caller)
}

/// The caller of a key that a secret of ours names, if the key may use the endpoint.
pub fn authenticate_by_hash(
    edge: &EdgeState,
    context: &RequestContext,
    hash: [u8; 32],
    endpoint: &str,
) -> Result<Caller, ApiError> {
    let caller = Caller::of_hash(edge, &KeyHash::from_bytes(hash), context.address)?;
    context.authenticated(&caller);
    caller.check_endpoint(endpoint)?;
    context.step(Step::Authenticate);
    Ok(caller)
}

/// The owner of a key, for pages that only display data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyOwner {
    /// There is no key.
    NoKey,
    /// There is one, and it opens nothing.
    Stranger,
    Known {
        /// The group whose prices apply; none for the first automatic one that sells a model.
        group: Option<String>,
        /// The only models it may use; none for all.
        models: Option<Vec<String>>,
    },
}

/// Whose key a request brings. Addresses are not looked at: nothing is called with it.
#[must_use]
pub fn key_owner(edge: &EdgeState, headers: &HeaderMap) -> KeyOwner {
    let Some(text) = key_text(headers, None) else {
        return KeyOwner::NoKey;
    };
    let key = ApiKey::parse(text).ok();
    let found = key.map(|key| edge.find_key(&KeyHash::of(&key)));
    let Some(Found::Known(key, KeyStatus::Live, account)) = found else {
        return KeyOwner::Stranger;
    };
    if account.closed_at.is_some() || account.suspended_at.is_some() {
        return KeyOwner::Stranger;
    }
    let models = key.policy.fields().models.clone();
    let group = match (Caller { key, account }).group() {
        GroupChoice::Named(group) => Some(group.to_owned()),
        GroupChoice::Auto | GroupChoice::Cheapest => None,
    };
    KeyOwner::Known { group, models }
}
