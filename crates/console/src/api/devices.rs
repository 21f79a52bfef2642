//! The devices that a person is signed in on.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Serialize;
use trunkline_store::people::{self, Device};
use utoipa::ToSchema;
use uuid::Uuid;

use super::Shared;
use super::people::{done, without_token};
use crate::error::{ApiError, ErrorBody};
use crate::session::AuthenticatedUser;
use crate::times::rfc3339;

/// The devices of a person.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SignIns {
    /// The last one heard of first; fifty at most.
    data: Vec<SignInView>,
}

/// A device.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SignIn)]
pub(crate) struct SignInView {
    /// Its name.
    id: String,
    /// When it signed in.
    #[schema(format = DateTime)]
    created_at: String,
    /// When it was last heard of, to the minute.
    #[schema(format = DateTime)]
    last_seen_at: String,
    /// Where it signed in from.
    address: String,
    /// What the browser calls itself.
    agent: String,
    /// Whether it is the one that asks.
    current: bool,
}

/// Lists one's own devices.
#[utoipa::path(get, path = "/api/sessions", operation_id = "list_sessions", tag = "people",
    responses((status = 200, description = "One's own devices", body = SignIns)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    AuthenticatedUser(own): AuthenticatedUser,
) -> Result<Json<SignIns>, ApiError> {
    let mut session = shared.people.session().await?;
    let devices = people::devices(&mut session, own.person).await?;
    let shown = devices
        .into_iter()
        .map(|device| SignInView::of(device, own.id));
    Ok(Json(SignIns {
        data: shown.collect(),
    }))
}

/// Signs one of one's own devices out, at once.
#[utoipa::path(delete, path = "/api/sessions/{id}", operation_id = "end_session", tag = "people",
    params(("id" = String, Path, description = "The device", max_length = 36)),
    responses(
        (status = 204, description = "It is signed out"),
        (status = 404, description = "There is no such device of this person", body = ErrorBody)
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
