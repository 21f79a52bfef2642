//! Whether the console answers.

use axum::response::Response;
use http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::reply;

/// Liveness. Readiness is on the admin listener.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// Always `live`.
    #[schema(example = "live")]
    status: &'static str,
}

/// Liveness of the process.
#[utoipa::path(get, path = "/healthz", operation_id = "health", tag = "service",
    responses((status = 200, description = "The console is running", body = Health)))]
pub(super) async fn health() -> Result<Response, ApiError> {
    reply::json(&HeaderMap::new(), &Health { status: "live" })
}
