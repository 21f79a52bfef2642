//! What operators see and change: the installation in numbers, customers, channels, prices, payments, codes,
//! operators and the log of actions. Every route answers a user who is no operator as a path that does not exist.
//!
//! A handler that changes something takes [`May`](crate::operator_session::May) of the permission that it needs,
//! and writes a row of the action log, whose action is its operation id, in the transaction of the change. The
//! document of these routes is the operator's own: customers' documents do not have them.

mod actions;
mod calls;
mod catalog;
mod channel_changes;
mod channels;
mod codes;
mod connections;
mod credentials;
mod customer_changes;
mod customer_data;
mod customer_keys;
mod customer_money;
mod customers;
mod instance;
mod operators;
mod overview;
mod payments;
mod prices;
mod schedule;
mod views;

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use self::schedule::publish_due;
use super::emails;
use crate::error::ErrorBody;
use crate::operator_session::Operator;
use crate::reply;
use crate::shared::Shared;

/// The head of the operator's document; the routes add themselves.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Trunkline operator",
        description = "What operators see and change. Every answer carries `x-request-id`; errors have one shape.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    components(schemas(ErrorBody)),
    tags(
        (name = "overview", description = "The installation in numbers, and what needs a person"),
        (name = "customers", description = "Customers, their money, keys and data"),
        (name = "calls", description = "Single calls, with attempts and cost"),
        (name = "connections", description = "Connections that are open now"),
        (name = "channels", description = "Channels and credentials"),
        (name = "catalog", description = "Records and prices"),
        (name = "payments", description = "Payments, refunds and disputes"),
        (name = "instance", description = "Alarms, codes, emails and settings"),
        (name = "operators", description = "Operators and the log of actions")
    )
)]
struct Described;

/// Returns the OpenAPI document of the operator's API.
#[utoipa::path(get, path = "/api/operator/openapi.json", operation_id = "operator_openapi", tag = "instance",
    responses((status = 200, description = "This document", body = Object)))]
async fn openapi(
    State(shared): State<Shared>,
    _operator: Operator,
    headers: HeaderMap,
) -> Response {
    reply::bytes(&headers, shared.operator_document, "application/json")
}

/// Their routes.
pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(Described::openapi())
        .routes(routes!(openapi))
        .routes(routes!(overview::overview))
        .routes(routes!(overview::search))
        .routes(routes!(customers::list, customers::create))
        .routes(routes!(customers::show, customer_changes::change))
        .routes(routes!(customer_changes::suspend))
        .routes(routes!(customer_changes::resume))
        .routes(routes!(customer_changes::add_note))
        .routes(routes!(customer_keys::keys))
        .routes(routes!(customer_keys::disable_key))
        .routes(routes!(customer_keys::enable_key))
        .routes(routes!(customer_changes::invite))
        .routes(routes!(customer_money::statement))
        .routes(routes!(customer_money::adjust))
        .routes(routes!(customer_money::top_up))
        .routes(routes!(customer_data::export))
        .routes(routes!(customer_data::close))
        .routes(routes!(customer_data::view))
        .routes(routes!(customer_data::end_view))
        .routes(routes!(calls::list))
        .routes(routes!(calls::show))
        .routes(routes!(connections::list))
        .routes(routes!(connections::close))
        .merge(channel_routes())
        .merge(money_routes())
        .merge(super::margins::routes())
        .routes(routes!(instance::alarms))
        .routes(routes!(instance::settings))
        .routes(routes!(instance::trial))
        .routes(routes!(emails::list))
        .routes(routes!(operators::list, operators::add))
        .routes(routes!(operators::change, operators::remove))
        .routes(routes!(operators::reset_second_factor))
        .routes(routes!(actions::list))
        .routes(routes!(actions::export))
}

fn channel_routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(channels::list, channel_changes::add))
        .routes(routes!(channels::show, channel_changes::change))
        .routes(routes!(channels::providers))
        .routes(routes!(channel_changes::drain))
        .routes(routes!(channel_changes::resume))
        .routes(routes!(channel_changes::copy))
        .routes(routes!(channel_changes::test))
        .routes(routes!(credentials::add))
        .routes(routes!(credentials::replace))
        .routes(routes!(credentials::remove))
        .routes(routes!(credentials::pause))
        .routes(routes!(credentials::resume))
}

fn money_routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(catalog::show))
        .routes(routes!(catalog::model))
        .routes(routes!(catalog::history))
        .routes(routes!(catalog::change))
        .routes(routes!(prices::preview))
        .routes(routes!(prices::publish))
        .routes(routes!(prices::rollback))
        .routes(routes!(schedule::list, schedule::add))
        .routes(routes!(schedule::cancel))
        .routes(routes!(payments::list))
        .routes(routes!(payments::show))
        .routes(routes!(payments::refund))
        .routes(routes!(payments::reconcile))
        .routes(routes!(payments::disputes))
        .routes(routes!(codes::list, codes::create))
        .routes(routes!(codes::revoke))
}
