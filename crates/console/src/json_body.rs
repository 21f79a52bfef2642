//! The body of a request: JSON, whole, bounded. And who sent it.

use std::net::IpAddr;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use serde::de::DeserializeOwned;
use trunkline_store::people::agent_of;

use crate::error::{ApiError, ConsoleErrorCode};
use crate::json_reader::read_json;

pub(crate) const MAX_BODY_BYTES: usize = 65_536;

/// What a request brings as JSON. Types of bodies refuse fields that they do not know.
pub(crate) struct JsonBody<T>(pub(crate) T);

/// Where a request comes from, put there by the middleware.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallerAddress(pub(crate) IpAddr);

/// Who asks, as far as the connection tells.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) address: IpAddr,
    /// What the browser calls itself, cut.
    pub(crate) agent: String,
}

// === impl JsonBody ===

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ApiError> {
        if !is_json(request.headers().get(CONTENT_TYPE)) {
            let text = "the body must be JSON, with content-type: application/json";
            return Err(ApiError::new(ConsoleErrorCode::Invalid, text));
        }
        let body = axum::body::to_bytes(request.into_body(), MAX_BODY_BYTES)
            .await
            .map_err(|_| too_large())?;
        let value = read_json(&body);
        let value = value.map_err(|text| ApiError::new(ConsoleErrorCode::Invalid, text))?;
        Ok(Self(value))
    }
}

/// The fault of a body that is too large.
pub(crate) fn too_large() -> ApiError {
    let text = format!("the body must not exceed {MAX_BODY_BYTES} bytes");
    ApiError::new(ConsoleErrorCode::TooLarge, text)
}

fn is_json(content_type: Option<&http::HeaderValue>) -> bool {
    let text = content_type.and_then(|value| value.to_str().ok());
    let kind = text.and_then(|text| text.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

// === impl Caller ===

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let address = parts.extensions.get::<CallerAddress>();
        let CallerAddress(address) = *address.ok_or_else(ApiError::unavailable)?;
        let agent = parts.headers.get(USER_AGENT);
        let agent = agent.map(|value| String::from_utf8_lossy(value.as_bytes()));
        Ok(Self {
            address,
            agent: agent_of(&agent.unwrap_or_default()),
        })
    }
}
