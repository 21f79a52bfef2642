//! The caller, by the key of a request.

use std::net::IpAddr;

use http::{HeaderMap, Request};
use hyper::body::Incoming;
use trunkline_catalog::GroupChoice;
use trunkline_types::ApiKey;

use crate::caller::{Caller, key_text};
use crate::error::ApiError;
use crate::key_table::{Found, KeyStatus};
use crate::request_context::RequestContext;
use crate::services::Services;
use crate::step::Step;

/// The caller by its key.
pub(crate) fn identify(
    services: &Services,
    sent: (&HeaderMap, Option<&str>),
    address: IpAddr,
) -> Result<Caller, ApiError> {
    let (table, settings) = (&services.key_table, &services.settings);
    Caller::known(table, settings, sent, address, services.now())
}

/// The caller, if the key may use the endpoint.
pub(crate) fn authenticate(
    services: &Services,
    context: &RequestContext,
    request: &Request<Incoming>,
    endpoint: &str,
) -> Result<Caller, ApiError> {
    let sent = (request.headers(), request.uri().query());
    let caller = identify(services, sent, context.address)?;
    context.authenticated(&caller);
    caller.check_endpoint(endpoint)?;
    context.step(Step::Authenticate);
    Ok(caller)
}

/// The owner of a key, for pages that only display data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyOwner {
    /// There is no key.
    Nobody,
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
pub fn key_owner(services: &Services, headers: &HeaderMap) -> KeyOwner {
    let Some(text) = key_text(headers, None) else {
        return KeyOwner::Nobody;
    };
    let found = ApiKey::parse(text).ok().map(|key| {
        services
            .key_table
            .find(&key, services.settings.stale_after, services.now())
    });
    let Some(Found::Known(key, KeyStatus::Live, account)) = found else {
        return KeyOwner::Stranger;
    };
    if account.closed_at.is_some() {
        return KeyOwner::Stranger;
    }
    let models = key.policy.fields().models.clone();
    let group = match (Caller { key, account }).group() {
        GroupChoice::Named(group) => Some(group.to_owned()),
        GroupChoice::Auto => None,
    };
    KeyOwner::Known { group, models }
}
