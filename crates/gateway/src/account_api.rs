//! The account API, one resource a file. Nothing here moves money.

mod aliases;
mod events;
mod keys;
mod usage;
mod webhooks;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde::de::DeserializeOwned;
use trunkline_wire::scan;

use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::response::Response;
use crate::services::Services;

pub(crate) use keys::key_view;
pub use keys::refresh_keys;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    /// `/v1/keys`: keys of the account, and keys below the caller's own.
    Keys,
    /// `/v1/aliases`: the account's own names for models.
    Aliases,
    /// `/v1/events`: what happens, as it happens.
    Events,
    /// `/v1/webhooks`: the same, sent to an address.
    Webhooks,
    /// `/v1/usage`: sums of what was used.
    Report,
}

/// An authenticated account-API request with an allowed method.
#[derive(Debug)]
pub(crate) struct ApiRequest<'a> {
    pub(crate) caller: Caller,
    pub(crate) method: Method,
    /// The path segments after the resource's name.
    pub(crate) rest: Vec<&'a str>,
    pub(crate) query: Option<&'a str>,
    pub(crate) headers: &'a HeaderMap,
    /// Empty where the method brings none.
    pub(crate) body: Bytes,
}

/// Dispatches a request to its resource.
pub(crate) async fn dispatch(
    services: &Arc<Services>,
    resource: Resource,
    visit: ApiRequest<'_>,
) -> Result<Response, ApiError> {
    visit.caller.check_endpoint(resource.word())?;
    match resource {
        Resource::Keys => keys::handle(services, visit).await,
        Resource::Aliases => aliases::handle(services, visit).await,
        Resource::Events => events::handle(services, visit).await,
        Resource::Webhooks => webhooks::handle(services, visit).await,
        Resource::Report => usage::handle(services, visit).await,
    }
}

// === impl Resource ===

impl Resource {
    /// Its name in a key's list of endpoints.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Aliases => "aliases",
            Self::Events => "events",
            Self::Webhooks => "webhooks",
            Self::Report => "usage",
        }
    }
}

/// A body of JSON, in which no field stands twice or is unknown.
fn read_body<T: DeserializeOwned>(body: &Bytes) -> Result<T, ApiError> {
    let wrong =
        |text: String| ApiError::new(ErrorCode::Invalid("invalid_request"), text).at("body");
    scan(body).map_err(|error| wrong(format!("the body is not a JSON object: {error}")))?;
    serde_json::from_slice(body)
        .map_err(|error| wrong(format!("the body is not understood: {error}")))
}
