//! Resources of the account API, one a file. Nothing here moves money, but for a refund of an answer whose
//! delivery is in doubt.

mod aliases;
mod events;
mod keys;
pub mod receipts;
mod usage;
mod webhooks;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde::de::DeserializeOwned;
use trunkline_catalog::Book;
use trunkline_edge::caller::Caller;
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_edge::response::Response;
use trunkline_wire::scan;

use crate::state::AccountApi;

pub(crate) use keys::key_view;
pub use keys::refresh_keys;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
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
    /// `/v1/statement`: all lines of the account, signed.
    Statement,
}

/// An authenticated account-API request with an allowed method.
#[derive(Debug)]
pub struct ApiRequest<'a> {
    pub caller: Caller,
    pub method: Method,
    /// The path segments after the resource's name.
    pub rest: Vec<&'a str>,
    pub query: Option<&'a str>,
    pub headers: &'a HeaderMap,
    /// The models of now.
    pub book: &'a Book,
    /// Empty where the method brings none.
    pub body: Bytes,
}

/// Dispatches a request to its resource.
pub async fn dispatch(
    api: &Arc<AccountApi>,
    resource: Resource,
    visit: ApiRequest<'_>,
) -> Result<Response, ApiError> {
    visit.caller.check_endpoint(resource.as_str())?;
    if resource.changes_account(&visit.method) && visit.caller.key.parent.is_some() {
        let text = format!(
            "this API key is a sub-key; {} belong to the whole account, and changes need a key without a parent",
            resource.as_str()
        );
        return Err(ApiError::new(ErrorCode::EndpointNotAllowed, text));
    }
    match resource {
        Resource::Keys => keys::handle(api, visit).await,
        Resource::Aliases => aliases::handle(api, visit).await,
        Resource::Events => events::handle(api, visit).await,
        Resource::Webhooks => webhooks::handle(api, visit).await,
        Resource::Report => usage::handle(api, visit).await,
        Resource::Statement => {
            let head_only = visit.method == Method::HEAD;
            receipts::statement(api, &visit.caller, visit.query, head_only).await
        }
    }
}

// === impl Resource ===

impl Resource {
    /// Its name in a key's list of endpoints.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Aliases => "aliases",
            Self::Events => "events",
            Self::Webhooks => "webhooks",
            Self::Report | Self::Statement => "usage",
        }
    }

    /// Whether a method changes what applies to all keys of the account. Keys and usage are limited to what
    /// is below a sub-key.
    fn changes_account(self, method: &Method) -> bool {
        match self {
            Self::Keys | Self::Report | Self::Statement | Self::Events => false,
            Self::Aliases | Self::Webhooks => *method != Method::GET && *method != Method::HEAD,
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
