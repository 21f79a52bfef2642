//! Connections that are open now, of all customers and on every node, and how an operator closes one.

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};
use trunkline_store::action_log::NewAction;
use trunkline_store::live_connections::{self as store, ListedConnection, LiveQuery, MAX_ROWS};
use trunkline_types::{AccountId, RequestId};
use utoipa::ToSchema;

use super::views::reason;
use crate::api::customer::query;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::JsonBody;
use crate::operator_bodies::ReasonBody;
use crate::operator_session::{CustomersWrite, May, Operator};
use crate::shared::Shared;
use crate::times::rfc3339;

/// Connections of one list.
const MAX_LISTED: u32 = 500;

/// Which connections.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ConnectionQuery {
    /// Of one customer.
    #[param(nullable = false)]
    customer: Option<i64>,
    /// How many, at most 500.
    #[param(nullable = false, minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// Connections that are open now.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperatorConnections {
    /// Newest first.
    data: Vec<OperatorConnection>,
}

/// A connection that is open now.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperatorConnection {
    /// Request id of the connection.
    #[schema(example = "req_019a5c6b7d8e7f0081828384858687aa")]
    id: String,
    /// Customer.
    customer_id: i64,
    /// Name of the customer; null if it is gone.
    #[schema(required)]
    customer: Option<String>,
    /// Key id.
    key_id: i64,
    /// Name of the key; null if it was deleted.
    #[schema(required)]
    key_name: Option<String>,
    /// `realtime` or `responses`.
    #[schema(example = "realtime")]
    endpoint: String,
    /// Model; null where each message names its own.
    #[schema(required)]
    model: Option<String>,
    /// Channel; null where each message has its own.
    #[schema(required)]
    channel_id: Option<i64>,
    /// Name of the channel.
    #[schema(required)]
    channel: Option<String>,
    /// The node that serves it.
    node: String,
    /// Opened at.
    #[schema(format = DateTime)]
    opened_at: String,
    /// Whether it is being closed by an operator.
    is_closing: bool,
}

/// Lists open connections of all nodes.
#[utoipa::path(get, path = "/api/operator/connections", operation_id = "operator_connections", tag = "connections",
    params(ConnectionQuery),
    responses((status = 200, description = "The connections", body = OperatorConnections)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    _operator: Operator,
    params: Result<Query<ConnectionQuery>, QueryRejection>,
) -> Result<Json<OperatorConnections>, ApiError> {
    let params = query::query(params)?;
    let limit = query::limit(params.limit, MAX_LISTED, MAX_LISTED)?;
    let mut session = shared.people.session().await?;
    let query = LiveQuery {
        account: params.customer.map(AccountId::new),
        limit: i64::from(limit).min(MAX_ROWS),
    };
    let found = store::list(&mut session, query).await?;
    Ok(Json(OperatorConnections {
        data: found.into_iter().map(OperatorConnection::of).collect(),
    }))
}

/// Closes a connection within seconds. What runs is cancelled and charged as far as it was made; the client gets an
/// error event and close code 1008.
#[utoipa::path(post, path = "/api/operator/connections/{id}/close", operation_id = "close_connection",
    tag = "connections",
    params(("id" = String, Path, description = "The connection", example = "req_019a5c6b7d8e7f0081828384858687aa")),
    request_body = ReasonBody,
    responses(
        (status = 200, description = "The connection", body = OperatorConnection),
        (status = 409, description = "It is being closed already", body = ErrorBody)
    ))]
pub(super) async fn close(
    State(shared): State<Shared>,
    operator: May<CustomersWrite>,
    id: Result<Path<String>, PathRejection>,
    JsonBody(body): JsonBody<ReasonBody>,
) -> Result<Json<OperatorConnection>, ApiError> {
    let unknown = || ApiError::not_found("connection");
    let why = reason(&body.reason)?;
    let Path(id) = id.map_err(|_| unknown())?;
    let id: RequestId = id.parse().map_err(|_| unknown())?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let changed = async {
        let found = store::find(&mut tx, id).await?;
        let found = found.ok_or_else(unknown)?;
        if !store::request_close(&mut tx, id).await? {
            let text = "the connection is being closed already. Nothing was changed";
            return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
        }
        let action = NewAction {
            action: "close_connection",
            account: Some(found.connection.account),
            subject: &format!("connection {id}"),
            reason: Some(&why),
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await?;
        Ok::<_, ApiError>(found)
    };
    let changed = changed.await;
    let found = tx.finish(changed).await?;
    let mut view = OperatorConnection::of(found);
    view.is_closing = true;
    Ok(Json(view))
}

// === impl OperatorConnection ===

impl OperatorConnection {
    fn of(listed: ListedConnection) -> Self {
        let connection = listed.connection;
        Self {
            id: connection.id.to_string(),
            customer_id: connection.account.number(),
            customer: listed.account_name,
            key_id: connection.key.number(),
            key_name: listed.key_name,
            endpoint: connection.endpoint,
            model: connection.model,
            channel_id: connection.channel,
            channel: listed.channel_name,
            node: connection.node,
            opened_at: rfc3339(connection.opened_at),
            is_closing: connection.closes,
        }
    }
}
