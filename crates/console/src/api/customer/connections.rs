//! `GET /api/connections`: the organisation's connections that are open now, on every node.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use trunkline_store::live_connections::{self as store, ListedConnection, LiveQuery};
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::session::MemberSession;
use crate::shared::Shared;
use crate::times::rfc3339;

/// Connections of one list.
const MAX_LISTED: i64 = 200;

/// Connections that are open now.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Connections {
    /// Newest first, at most 200.
    data: Vec<ConnectionView>,
}

/// A connection that is open now.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LiveConnection)]
pub(crate) struct ConnectionView {
    /// Request id of the connection.
    #[schema(example = "req_019a5c6b7d8e7f0081828384858687aa")]
    id: String,
    /// `realtime` or `responses`.
    #[schema(example = "realtime")]
    endpoint: String,
    /// Model; null where each message names its own.
    #[schema(required)]
    model: Option<String>,
    /// Key id.
    key_id: i64,
    /// Name of the key; null if it was deleted.
    #[schema(required)]
    key_name: Option<String>,
    /// Opened at.
    #[schema(format = DateTime)]
    opened_at: String,
}

/// Lists open connections. A connection appears within seconds of its opening and disappears within seconds of its
/// end; one of a server that failed disappears within minutes.
#[utoipa::path(get, path = "/api/connections", operation_id = "list_connections", tag = "logs",
    responses((status = 200, description = "The connections", body = Connections)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    own: MemberSession,
) -> Result<Json<Connections>, ApiError> {
    let mut session = shared.people.session().await?;
    let query = LiveQuery {
        account: Some(own.account),
        limit: MAX_LISTED,
    };
    let found = store::list(&mut session, query).await?;
    Ok(Json(Connections {
        data: found.into_iter().map(ConnectionView::of).collect(),
    }))
}

// === impl ConnectionView ===

impl ConnectionView {
    fn of(listed: ListedConnection) -> Self {
        let connection = listed.connection;
        Self {
            id: connection.id.to_string(),
            endpoint: connection.endpoint,
            model: connection.model,
            key_id: connection.key.number(),
            key_name: listed.key_name,
            opened_at: rfc3339(connection.opened_at),
        }
    }
}
