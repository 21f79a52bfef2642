//! What customers see: the answer to a request, a task in the shape that was asked for, a page of them.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;
use trunkline_generation::video::views::{State, VideoView, legacy, openai, openai_list};
use trunkline_ledger::Outcome;
use trunkline_store::tasks::{self, Task, TaskState};
use trunkline_types::{AccountId, Defect, RequestId};

use super::WORD;
use super::accept::{self, Accepted};
use super::clips;
use super::content;
use super::request::{PricedVideo, Video};
use super::submit::{self, Sending};
use crate::caller::Caller;
use crate::detach::{detach, respond};
use crate::error::{ApiError, ErrorCode};
use crate::failover::AttemptLog;
use crate::idempotency::{self, IdempotencyKey, StoredResponse, is_retry};
use crate::in_flight::InFlightPermit;
use crate::model_alias;
use crate::paid_route::PaidRequest;
use crate::pipeline;
use crate::request_context::{RequestContext, Tokens};
use crate::response::{self, Response, ResponseBody, set_cost, set_warnings};
use crate::services::Services;
use crate::step::Step;
use crate::task_id::{task_name, task_of};

/// The shape of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `/v1/videos`.
    Openai,
    /// `/v1/video/generations`.
    Legacy,
}

/// How long a library's own retry is taken for the same request.
const RETRY_SECONDS: i32 = 120;
/// How often a task is polled for a caller that waits.
const LOOK: Duration = Duration::from_millis(500);
/// Progress that is only guessed never gets further.
const MOST_GUESSED: i64 = 95;
const MOST_PER_PAGE: i64 = 100;
const USUAL_PER_PAGE: i64 = 20;

/// `POST /v1/videos` and `POST /v1/video/generations`.
pub(crate) async fn create_video(paid: PaidRequest<'_>) -> Result<Response, ApiError> {
    let PaidRequest {
        services,
        context,
        request,
    } = paid;
    let retries = is_retry(request.headers());
    let accepted = pipeline::accept::<Video>(services, context, (), request).await?;
    let (video, permit) = pipeline::price_and_admit(services, context, accepted).await?;
    if retries
        && video.call.idempotency.is_none()
        && let Some(task) = find_duplicate(services, &video).await?
        && let Some(task) = wait_until_decided(services, task).await?
    {
        return task_response(services, &task, Shape::Openai).await;
    }
    start(services, context, video, permit).await
}

/// Detaches a video that was admitted: what it becomes outlives the handler of its request.
pub(crate) async fn start(
    services: &Arc<Services>,
    context: &Arc<RequestContext>,
    video: PricedVideo,
    permit: InFlightPermit,
) -> Result<Response, ApiError> {
    context.step(Step::Detach);
    let (owned, context) = (Arc::clone(services), Arc::clone(context));
    let detached = move |responder| async move {
        let response = run(&owned, video, &context).await;
        respond(responder, response);
    };
    detach(services, permit, detached).await
}

/// The clips, money, then the upstream. The execution ends when the vendor took the task; its verdict is settled
/// by a worker.
async fn run(
    services: &Arc<Services>,
    mut video: PricedVideo,
    context: &RequestContext,
) -> Result<Response, ApiError> {
    let copies = Box::pin(clips::mirror_clips(services, &mut video)).await?;
    let video = &video;
    let accepted = match accept::accept_video(services, video).await {
        Ok(accepted) => accepted,
        Err(error) => {
            copies.forget(services).await;
            return Err(error);
        }
    };
    context.step(Step::Reserve);
    let sending = submit::submit_video(services, AttemptLog(Some(context)), &accepted).await;
    context.step(Step::Failover);
    // What is not charged yet is charged later, and told by the task.
    let (outcome, charged) = match &sending {
        Ok(Sending::Taken) => (Outcome::Accepted, Some(accepted.task.amount)),
        Ok(Sending::Refused(_)) => (Outcome::Refused, None),
        Ok(Sending::NotSent(_)) => (Outcome::UpstreamFailed, None),
        Ok(Sending::Waits | Sending::Unknown | Sending::NotOurs) | Err(_) => {
            (Outcome::Accepted, None)
        }
    };
    context.step(Step::Settle);
    context.complete(outcome, charged, Tokens::default());
    match sending {
        Ok(Sending::Refused(error)) => return Err(error),
        Ok(Sending::NotSent(error)) => {
            if accept::is_undone(services, &accepted.task).await {
                return Err(error);
            }
        }
        Ok(Sending::Taken | Sending::Waits | Sending::Unknown | Sending::NotOurs) => {}
        Err(error) => {
            let name = task_name(accepted.task.id);
            tracing::warn!(%error, task.id = name, "video submission: left to a worker");
        }
    }
    let response = created_response(services, &accepted, video)?;
    if let Some(key) = &video.call.idempotency {
        store_created(services, video, key, &response).await;
    }
    context.step(Step::Deliver);
    context.step(Step::Record);
    Ok(response)
}

/// Stores the response to a request that became a task. If that fails, a duplicate is shown the task.
async fn store_created(
    services: &Services,
    video: &PricedVideo,
    key: &IdempotencyKey,
    response: &Response,
) {
    let (request, account) = (video.call.id, video.call.caller.account.id);
    let (status, headers) = (response.status(), response.headers());
    let mut stored = StoredResponse::begin(services, account, status, headers);
    if let ResponseBody::Whole(Some(body)) = response.body() {
        stored.add(body);
    }
    if idempotency::store_response(services, request, account, key, &stored)
        .await
        .is_err()
    {
        tracing::warn!(request.id = %request, "storing idempotent response failed");
    }
}

/// A task that its sender knows to be accepted, as it is now; none before that.
pub(crate) async fn find_task(
    services: &Services,
    account: AccountId,
    request: RequestId,
) -> Result<Option<Response>, ApiError> {
    let mut session = services.data.session().await?;
    let task = tasks::of_account(&mut session, account, request.uuid()).await;
    drop(session);
    match task? {
        Some(task) if !is_open(&task) => task_response(services, &task, Shape::Openai)
            .await
            .map(Some),
        Some(_) | None => Ok(None),
    }
}

/// A task of another request, once its sender knows whether it is accepted: until then a refusal
/// undoes it. None if that happened.
async fn wait_until_decided(services: &Services, task: Task) -> Result<Option<Task>, ApiError> {
    let ends = Instant::now().checked_add(services.settings.video.most_wait);
    let mut task = task;
    loop {
        if !is_open(&task) || ends.is_none_or(|ends| Instant::now() >= ends) {
            return Ok(Some(task));
        }
        tokio::time::sleep(LOOK).await;
        let found = accept::find_written(services, task.id).await;
        match found? {
            Some(found) => task = found,
            None => return Ok(None),
        }
    }
}

/// The answer to a request that became a task: always the one of its beginning.
fn created_response(
    services: &Services,
    accepted: &Accepted,
    video: &PricedVideo,
) -> Result<Response, ApiError> {
    let task = &accepted.task;
    let view = task_view(services, task, None)?;
    let mut answer = response::json(StatusCode::OK, &openai(&view));
    let headers = answer.headers_mut();
    set_cost(headers, task.amount);
    let codes: Vec<_> = video.plan.report.codes().cloned().collect();
    set_warnings(headers, &codes);
    Ok(answer)
}

/// `GET /v1/videos/{id}` and `GET /v1/video/generations/{id}`.
pub(crate) async fn show_video(
    services: &Services,
    caller: &Caller,
    name: &str,
    shape: Shape,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    caller.check_endpoint(WORD)?;
    let wait = wait_of(query, services.settings.video.most_wait)?;
    let ends = Instant::now().checked_add(wait);
    loop {
        let task = task_of_caller(services, caller, name).await?;
        let over = task.state.is_over() || ends.is_none_or(|ends| Instant::now() >= ends);
        if over || services.is_draining() {
            return task_response(services, &task, shape).await;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// `GET /v1/videos`.
pub(crate) async fn list_videos(
    services: &Services,
    caller: &Caller,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    caller.check_endpoint(WORD)?;
    let (mut limit, mut after, mut newest_first) = (USUAL_PER_PAGE, None, true);
    for pair in query.unwrap_or_default().split('&') {
        match pair.split_once('=') {
            Some(("limit", text)) => {
                let number = text.parse().ok();
                let number = number.filter(|number| (1..=MOST_PER_PAGE).contains(number));
                limit = number.ok_or_else(|| invalid("limit", "`limit` must be from 1 to 100"))?;
            }
            Some(("after", name)) => {
                let id = task_of(name).ok_or_else(|| no_task(name))?;
                after = Some(id);
            }
            Some(("order", "asc")) => newest_first = false,
            Some(_) | None => {}
        }
    }
    let mut session = services.data.session().await?;
    let account = caller.account.id;
    let more = limit.saturating_add(1);
    let found = tasks::page(&mut session, account, after, newest_first, more).await;
    drop(session);
    let mut found = found?;
    let most = usize::try_from(limit).unwrap_or(0);
    let has_more = found.len() > most;
    found.truncate(most);
    let view: Result<Vec<VideoView>, ApiError> = found
        .iter()
        .map(|task| task_view(services, task, None))
        .collect();
    Ok(response::json(
        StatusCode::OK,
        &openai_list(&view?, has_more),
    ))
}

pub(super) async fn task_of_caller(
    services: &Services,
    caller: &Caller,
    name: &str,
) -> Result<Task, ApiError> {
    let id = task_of(name).ok_or_else(|| no_task(name))?;
    let mut session = services.data.session().await?;
    let task = tasks::of_account(&mut session, caller.account.id, id).await?;
    task.ok_or_else(|| no_task(name))
}

/// A task as it is now.
pub(crate) async fn task_response(
    services: &Services,
    task: &Task,
    shape: Shape,
) -> Result<Response, ApiError> {
    let guess = estimate_progress(services, task).await;
    let view = task_view(services, task, guess)?;
    let body = match shape {
        Shape::Openai => openai(&view),
        Shape::Legacy => legacy(&view),
    };
    Ok(response::json(StatusCode::OK, &body))
}

/// How far a task may be whose vendor reports no progress: by how long others of its model took.
pub(super) async fn estimate_progress(services: &Services, task: &Task) -> Option<u8> {
    let waits = matches!(task.state, TaskState::Submitted | TaskState::Running);
    if !waits || task.progress_reported {
        return None;
    }
    let mut session = services.data.session().await.ok()?;
    let usual = tasks::usual_millis(&mut session, &task.model)
        .await
        .ok()??;
    let since = task
        .read_at
        .millis()
        .saturating_sub(task.submitted_at?.millis());
    let part = since.saturating_mul(100).checked_div(usual.max(1))?;
    u8::try_from(part.clamp(0, MOST_GUESSED)).ok()
}

fn task_view(services: &Services, task: &Task, guess: Option<u8>) -> Result<VideoView, ApiError> {
    let (state, ends) = match task.state {
        TaskState::Accepted => (State::Queued { submitted: false }, None),
        TaskState::Submitting | TaskState::Unknown => (State::Sent, None),
        TaskState::Submitted => (State::Queued { submitted: true }, None),
        TaskState::Running => (State::InProgress, None),
        TaskState::Completed => {
            let (url, ends) = content::signed_link(services, task)?;
            (State::Completed { url }, Some(ends))
        }
        TaskState::Failed => {
            let (code, message) = task.error.clone().unwrap_or_default();
            (State::Failed { code, message }, None)
        }
    };
    let reported = u8::try_from(task.progress).unwrap_or(0);
    let warnings = task.warnings.as_array().cloned().unwrap_or_default();
    let leaks = Defect::LeakedForeignId.is_on();
    let foreign = leaks.then(|| task.upstream.clone()).flatten();
    Ok(VideoView {
        id: foreign.unwrap_or_else(|| task_name(task.id)),
        model: task
            .requested_model
            .clone()
            .unwrap_or_else(|| task.model.clone()),
        state,
        progress: guess.map_or(reported, |guess| guess.max(reported)),
        estimated: guess.is_some(),
        created_at: task.created_at.seconds(),
        completed_at: task.ended_at.map(trunkline_types::Timestamp::seconds),
        expires_at: ends,
        seconds: task.seconds.and_then(|seconds| u64::try_from(seconds).ok()),
        size: task.size.clone(),
        warnings,
        cost_usd: (task.state != TaskState::Failed).then(|| task.amount.to_string()),
    })
}

/// A task that a client's library asks for again by itself.
async fn find_duplicate(
    services: &Services,
    video: &PricedVideo,
) -> Result<Option<Task>, ApiError> {
    let mut session = services.data.session().await?;
    let account = video.call.caller.account.id;
    let found = tasks::newest_like(&mut session, account, &video.body_hash, RETRY_SECONDS);
    found.await.map_err(|_| ApiError::unavailable())
}

/// A channel that speaks the vendor's protocol must serve the model.
pub(super) fn check_video_route(services: &Services, video: &PricedVideo) -> Result<(), ApiError> {
    let channels = services.channels.load_full();
    let mut serving = channels
        .channels()
        .filter(|channel| channel.row.models.contains_key(&video.call.model));
    let speaks = serving.any(|channel| channel.speaks(&video.plan.outbound.protocol));
    if speaks && channels.knows(&video.call.model) {
        return model_alias::check_demands(services, &video.call.caller, &video.call.model);
    }
    let text = format!(
        "no channel is available for model {:?}; nothing was charged",
        video.call.model
    );
    Err(ApiError::new(ErrorCode::NoRoute, text))
}

/// Whether a refusal could still undo it.
const fn is_open(task: &Task) -> bool {
    matches!(task.state, TaskState::Accepted | TaskState::Submitting)
}

fn wait_of(query: Option<&str>, most: Duration) -> Result<Duration, ApiError> {
    let pairs = query.unwrap_or_default().split('&');
    let mut waits = pairs.filter_map(|pair| pair.strip_prefix("wait="));
    let Some(text) = waits.next() else {
        return Ok(Duration::ZERO);
    };
    let seconds: u64 = text
        .parse()
        .map_err(|_| invalid("wait", "`wait` must be whole seconds"))?;
    Ok(Duration::from_secs(seconds).min(most))
}

fn invalid(param: &str, text: &str) -> ApiError {
    ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(param)
}

pub(super) fn no_task(name: &str) -> ApiError {
    let name: String = name.chars().take(64).collect();
    ApiError::new(
        ErrorCode::TaskNotFound,
        format!("this account has no task {name:?}"),
    )
    .at("task_id")
}
