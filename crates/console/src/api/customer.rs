//! What customers see of their own: money, keys, calls, tasks and sums. Everything here belongs to the
//! organisation that the signed-in user selected; resources of other organisations are not found.

mod account_routes;
pub(crate) mod amounts;
pub(crate) mod budgets;
pub(crate) mod call_row;
mod connections;
mod dashboard;
pub(crate) mod key_view;
pub(crate) mod keys;
mod log_detail;
mod logs;
mod playground;
mod prices;
pub(crate) mod query;
mod statement;
mod task_view;
mod tasks;
mod usage;
mod wallet;
mod warnings;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::shared::Shared;

/// Their routes.
pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(dashboard::home))
        .routes(routes!(keys::list, keys::make))
        .routes(routes!(keys::one, keys::change, keys::delete))
        .routes(routes!(keys::rotate))
        .routes(routes!(keys::disable))
        .routes(routes!(keys::enable))
        .routes(routes!(keys::first_call))
        .routes(routes!(account_routes::show, account_routes::set))
        .routes(routes!(budgets::set))
        .routes(routes!(playground::key))
        .routes(routes!(logs::search))
        .routes(routes!(log_detail::one))
        .routes(routes!(connections::list))
        .routes(routes!(tasks::search))
        .routes(routes!(tasks::one))
        .routes(routes!(tasks::cancel))
        .routes(routes!(usage::sums))
        .routes(routes!(usage::table))
        .routes(routes!(wallet::wallet))
        .routes(routes!(wallet::set_low_balance_threshold))
        .routes(routes!(statement::lines))
        .routes(routes!(statement::table))
}
