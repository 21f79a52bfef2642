//! The devices that a person is signed in on.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Serialize;
use trunkline_store::people::{self, Device};
use utoipa::ToSchema;
use uuid::Uuid;

use super::people::{done, without_token};
use crate::error::{ApiError, ErrorBody};
use crate::session::AuthenticatedUser;
use crate::shared::Shared;
use crate::times::rfc3339;

/// The devices of a user.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SignIns {
    /// Most recently active first; at most fifty.
    data: Vec<SignInView>,
}

/// A device.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SignIn)]
pub(crate) struct SignInView {
    /// Name.
    id: String,
    /// Time of sign-in.
    #[schema(format = DateTime)]
    created_at: String,
    /// Last activity, to the minute.
    #[schema(format = DateTime)]
    last_seen_at: String,
    /// IP address of the sign-in.
    address: String,
    /// User agent.
    agent: String,
    /// Whether this is the requesting device.
    current: bool,
}

/// Lists the user's devices.
#[utoipa::path(get, path = "/api/sessions", operation_id = "list_sessions", tag = "people",
    responses((status = 200, description = "The user's devices", body = SignIns)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    AuthenticatedUser(own): AuthenticatedUser,
) -> Result<Json<SignIns>, ApiError> {
    let mut session = shared.people.session().await?;
    let devices = people::devices(&mut session, own.person).await?;
    let views = devices
        .into_iter()
        .map(|device| SignInView::of(device, own.id));
    Ok(Json(SignIns {
        data: views.collect(),
    }))
}

/// Signs out one of the user's devices immediately.
#[utoipa::path(delete, path = "/api/sessions/{id}", operation_id = "end_session", tag = "people",
    params(("id" = String, Path, description = "The device", max_length = 36)),
    responses(
        (status = 204, description = "Signed out"),
        (status = 404, description = "Device not found", body = ErrorBody)
    ))]
pub(super) async fn end(
    State(shared): State<Shared>,
    AuthenticatedUser(own): AuthenticatedUser,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let unknown = || ApiError::not_found("device");
    let Path(id) = id.map_err(|_| unknown())?;
    let id = Uuid::try_parse(&id).map_err(|_| unknown())?;
    let mut tx = shared.people.begin().await?;
    let ended = people::end(&mut tx, own.person, id).await;
    if !tx.finish(ended).await? {
        return Err(unknown());
    }
    if id == own.id {
        return Ok(without_token(&shared, done()));
    }
    Ok(done())
}

// === impl SignInView ===

impl SignInView {
    fn of(device: Device, own: Uuid) -> Self {
        Self {
            id: device.id.to_string(),
            created_at: rfc3339(device.created_at),
            last_seen_at: rfc3339(device.last_seen_at),
            address: device.address,
            agent: device.agent,
            current: device.id == own,
        }
    }
}
