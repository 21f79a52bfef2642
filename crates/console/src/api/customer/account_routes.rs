//! `/api/account/routes`: which routes all keys of the organisation are served by. A key's own setting wins where it
//! orders, and narrows where it demands.

use axum::Json;
use axum::extract::State;
use trunkline_store::MaxPrice;
use trunkline_store::account_routes::AccountRoutes;
use trunkline_store::accounts::{self, CreateAccountError};

use super::query;
use crate::error::ApiError;
use crate::json_body::JsonBody;
use crate::request_bodies::{AccountRoutesBody, MaxPriceBody, RoutePolicyName};
use crate::session::{MemberSession, Right};
use crate::shared::Shared;

/// Returns which routes keys of the organisation are served by.
#[utoipa::path(get, path = "/api/account/routes", operation_id = "show_account_routes", tag = "keys",
    responses((status = 200, description = "The routes", body = AccountRoutesBody)))]
pub(super) async fn show(
    State(shared): State<Shared>,
    own: MemberSession,
) -> Result<Json<AccountRoutesBody>, ApiError> {
    read(&shared, &own).await
}

/// Sets which routes keys of the organisation are served by. What is not named is removed.
#[utoipa::path(put, path = "/api/account/routes", operation_id = "set_account_routes", tag = "keys",
    request_body = AccountRoutesBody,
    responses((status = 200, description = "The routes", body = AccountRoutesBody)))]
pub(super) async fn set(
    State(shared): State<Shared>,
    own: MemberSession,
    JsonBody(body): JsonBody<AccountRoutesBody>,
) -> Result<Json<AccountRoutesBody>, ApiError> {
    own.require(Right::AccountWrite)?;
    let routes = AccountRoutes {
        policy: body.policy.map(RoutePolicyName::value),
        max_price: match &body.max_price {
            Some(limits) => limits.value()?,
            None => MaxPrice::default(),
        },
        residencies: body.residencies,
        upstream_zero_retention: body.upstream_zero_retention,
    };
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let done = accounts::set_routes(&mut tx, own.account, &routes).await;
    let done = done.map_err(|error| match error {
        CreateAccountError::Field(error) => ApiError::from(error),
        CreateAccountError::Db(error) => query::unwritten(error),
    });
    tx.finish(done).await?;
    shared.gateway.refresh_keys().await;
    read(&shared, &own).await
}

async fn read(shared: &Shared, own: &MemberSession) -> Result<Json<AccountRoutesBody>, ApiError> {
    let mut session = shared.people.session().await?;
    let account = accounts::find(&mut session, own.account).await?;
    let account = account.ok_or_else(|| ApiError::not_found("organisation"))?;
    let routes = account.routes;
    Ok(Json(AccountRoutesBody {
        policy: routes.policy.map(RoutePolicyName::of),
        max_price: MaxPriceBody::of(routes.max_price),
        residencies: routes.residencies,
        upstream_zero_retention: routes.upstream_zero_retention,
    }))
}
