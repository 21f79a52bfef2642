//! `/api/tasks`: videos of the organisation, from the hold to the file.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of `TaskQuery`"
)]

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};
use trunkline_ledger::call_search::{self, Charged};
use trunkline_store::action_log::NewAction;
use trunkline_store::tasks::{self, Task, TasksQuery};
use trunkline_types::{AccountId, RequestId};
use utoipa::{IntoParams, ToSchema};

use super::call_row::Names;
use super::query;
use super::task_view::{Paid, TaskDetail, TaskState, TaskView, task_name, task_of};
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::session::{MemberSession, Right};
use crate::shared::Shared;

/// Default page size.
const USUAL_PAGE: u32 = 20;
const MOST_PER_PAGE: u32 = 100;

/// Which tasks. What is left out does not narrow.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TaskQuery {
    /// Tasks in this state.
    #[param(nullable = false, inline = false)]
    state: Option<TaskState>,
    /// Tasks of this model.
    #[param(nullable = false, max_length = 200)]
    model: Option<String>,
    /// Tasks created with this key id.
    #[param(nullable = false, minimum = 1)]
    key: Option<i64>,
    /// `next` of the previous page.
    #[param(nullable = false)]
    after: Option<String>,
    /// Page size; 20 by default.
    #[param(nullable = false, minimum = 1, maximum = 100)]
    limit: Option<u32>,
}

/// A page of tasks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskPage {
    /// Newest first.
    data: Vec<TaskView>,
    /// `after` of the next page; null at the end.
    #[schema(required)]
    next: Option<String>,
}

/// Lists tasks. A page scans a bounded number of tasks, so with rare filters it may be short and still
/// have a next page.
#[utoipa::path(get, path = "/api/tasks", operation_id = "list_tasks", tag = "tasks",
    params(TaskQuery),
    responses((status = 200, description = "A page of tasks", body = TaskPage)))]
pub(super) async fn search(
    State(shared): State<Shared>,
    own: MemberSession,
    params: Result<Query<TaskQuery>, QueryRejection>,
) -> Result<Json<TaskPage>, ApiError> {
    let params = query::query(params)?;
    let after = params.after.as_deref().map(|name| {
        let words = "is the `next` of the page before";
        task_of(name).ok_or_else(|| ApiError::invalid_param("after", words))
    });
    let tasks_query = TasksQuery {
        account: own.account,
        stage: params.state.map(TaskState::stage),
        model: query::text("model", params.model)?,
        key: query::key(params.key)?,
        before: after.transpose()?,
        limit: query::limit(params.limit, USUAL_PAGE, MOST_PER_PAGE)?,
    };
    let mut session = shared.people.session().await?;
    let found = tasks::search(&mut session, &tasks_query).await?;
    drop(session);
    Ok(Json(TaskPage {
        data: task_views(&shared, own.account, &found.tasks).await?,
        next: found.next.map(task_name),
    }))
}

/// Returns a task with its timeline.
#[utoipa::path(get, path = "/api/tasks/{id}", operation_id = "show_task", tag = "tasks",
    params(("id" = String, Path, description = "The task", example = "task_019a5c6b7d8e7f0081828384858687aa")),
    responses((status = 200, description = "The task", body = TaskDetail)))]
pub(super) async fn one(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<TaskDetail>, ApiError> {
    let task = own_task(&shared, own.account, id).await?;
    Ok(Json(detail(&shared, own.account, &task).await?))
}

/// Cancels a task if the provider confirms it. The hold or charge is refunded immediately, as the response
/// shows; a task that can no longer be cancelled continues at its price.
#[utoipa::path(post, path = "/api/tasks/{id}/cancel", operation_id = "cancel_task", tag = "tasks",
    params(("id" = String, Path, description = "The task", example = "task_019a5c6b7d8e7f0081828384858687aa")),
    responses(
        (status = 200, description = "Cancelled", body = TaskDetail),
        (status = 409, description = "The task can no longer be cancelled", body = ErrorBody)
    ))]
pub(super) async fn cancel(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<TaskDetail>, ApiError> {
    own.require(Right::TasksWrite)?;
    let task = own_task(&shared, own.account, id).await?;
    match shared.gateway.stop_task(&task).await {
        Some(true) => {}
        Some(false) => {
            let text =
                "this task can no longer be cancelled; it continues and is charged as quoted";
            return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
        }
        None => {
            let text = "the outcome of the cancellation is unknown; check the task again in a moment. It is \
                        charged only if it is delivered";
            return Err(ApiError::new(ConsoleErrorCode::Unavailable, text));
        }
    }
    let action = NewAction {
        action: "cancel_task",
        subject: &format!("task {}", task.id),
        ..NewAction::default()
    };
    own.log_apart(&shared, &action).await?;
    let task = find(&shared, own.account, task.id).await?;
    Ok(Json(detail(&shared, own.account, &task).await?))
}

async fn detail(shared: &Shared, account: AccountId, task: &Task) -> Result<TaskDetail, ApiError> {
    let look = shared.gateway.inspect_task(task, true).await;
    let look = look.ok_or_else(ApiError::unavailable)?;
    let names = Names::of(shared, account, std::iter::once(task.key)).await?;
    let request = RequestId::from_uuid(task.id).map_err(|_| ApiError::unavailable())?;
    let money = call_search::transfers(&shared.people, account, request).await?;
    let charged = call_search::charges(&shared.people, account, &[request]).await?;
    let paid = paid_of(&charged, request);
    let view = TaskView::of(task, &look, paid, shared.gateway.as_ref(), &names);
    Ok(TaskDetail::of(view, task, look, &money))
}

async fn task_views(
    shared: &Shared,
    account: AccountId,
    found: &[Task],
) -> Result<Vec<TaskView>, ApiError> {
    let names = Names::of(shared, account, found.iter().map(|task| task.key)).await?;
    let requests = found.iter().map(|task| RequestId::from_uuid(task.id));
    let requests: Vec<RequestId> = requests.filter_map(Result::ok).collect();
    let charged = call_search::charges(&shared.people, account, &requests).await?;
    let mut views = Vec::with_capacity(found.len());
    for task in found {
        let look = shared.gateway.inspect_task(task, false).await;
        let look = look.ok_or_else(ApiError::unavailable)?;
        let paid = RequestId::from_uuid(task.id);
        let paid = paid.map_or_else(|_| Paid::default(), |id| paid_of(&charged, id));
        views.push(TaskView::of(
            task,
            &look,
            paid,
            shared.gateway.as_ref(),
            &names,
        ));
    }
    Ok(views)
}

fn paid_of(charged: &[Charged], request: RequestId) -> Paid {
    let found = charged.iter().find(|one| one.request == request);
    found.map_or_else(Paid::default, |one| Paid {
        charged: one.charged,
        refunded: one.refunded,
    })
}

async fn own_task(
    shared: &Shared,
    account: AccountId,
    id: Result<Path<String>, PathRejection>,
) -> Result<Task, ApiError> {
    let Path(name) = id.map_err(|_| unknown())?;
    let id = task_of(&name).ok_or_else(unknown)?;
    find(shared, account, id).await
}

async fn find(shared: &Shared, account: AccountId, id: uuid::Uuid) -> Result<Task, ApiError> {
    let mut session = shared.people.session().await?;
    let task = tasks::of_account(&mut session, account, id).await?;
    task.ok_or_else(unknown)
}

fn unknown() -> ApiError {
    let text = "task not found in this organisation";
    ApiError::new(ConsoleErrorCode::NotFound, text)
}
