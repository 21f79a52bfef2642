//! Runs as their customers see them: what became of one, what happened to its money, its receipt, its end.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use trunkline_account_api::self_info;
use trunkline_ledger::Outcome;
use trunkline_ledger::call_money::{self, CallMoney, HoldState};
use trunkline_ledger::usage::{self, UsageRow};
use trunkline_store::tasks::{self, Task, TaskState};
use trunkline_store::workflow_runs::{self, Run};
use trunkline_types::{Money, RequestId};
use uuid::Uuid;

use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::operations::video::cancel_task;
use crate::response::{Response, json as answer};
use crate::services::Services;
use crate::task_id::task_name;

/// How the names of runs begin.
const PREFIX: &str = "run_";
/// Runs that a list shows.
const PER_PAGE: i64 = 20;
/// A process without a sign of life for so long may be dead, and its calls with it.
const DEAD_AFTER: Duration = Duration::from_secs(60);
/// A run that holds no money after so long never will.
const STARTING_SECONDS: i64 = 30;

/// How a run stands.
pub(super) enum RunState {
    /// Under way, as a task where it is one.
    Running(Option<Box<Task>>),
    Completed(Box<UsageRow>, Option<Box<Task>>),
    /// Over, and nothing was charged or all of it was refunded.
    Failed(RunFailure),
    /// It is not known yet whether it was or will be charged.
    ChargeUnknown,
}

/// Why a run failed.
pub(super) struct RunFailure {
    code: String,
    message: String,
    usage: Option<Box<UsageRow>>,
}

/// The name of a run: it is made of its call's.
pub(super) fn run_name(request: Uuid) -> String {
    format!("{PREFIX}{}", request.simple())
}

fn run_of(name: &str) -> Option<Uuid> {
    let id = Uuid::try_parse(name.strip_prefix(PREFIX)?).ok()?;
    (run_name(id) == name).then_some(id)
}

/// How a run stands, by the ledger and its task.
pub(super) async fn state_of(services: &Services, run: &Run) -> Result<RunState, ApiError> {
    let facts = &run.facts;
    let request = request_of(run)?;
    let usage = usage::find(&services.data, facts.account, request).await?;
    let mut session = services.data.session().await?;
    let task = tasks::of_account(&mut session, facts.account, facts.request).await;
    drop(session);
    let task = task?.map(Box::new);
    if let Some(usage) = usage {
        return Ok(state_of_charged(Box::new(usage), task));
    }
    if let Some(code) = &run.error_code {
        return Ok(RunState::Failed(RunFailure::of_code(code)));
    }
    if let Some(task) = task {
        return Ok(match task.state {
            TaskState::Unknown => RunState::ChargeUnknown,
            TaskState::Failed => RunState::Failed(RunFailure::of_task(&task, None)),
            TaskState::Accepted
            | TaskState::Submitting
            | TaskState::Submitted
            | TaskState::Running
            | TaskState::Completed => RunState::Running(Some(task)),
        });
    }
    let money = call_money::read(&services.data, facts.account, request, DEAD_AFTER).await?;
    match money.hold {
        Some(hold) if hold.state == HoldState::Open && hold.has_live_node => {
            Ok(RunState::Running(None))
        }
        Some(hold) if hold.state == HoldState::Open => Ok(RunState::ChargeUnknown),
        // Resolved between two looks: the usage row is there now.
        Some(_) => Ok(RunState::Running(None)),
        None => {
            let age = run
                .read_at
                .seconds()
                .saturating_sub(run.created_at.seconds());
            if run.ended_at.is_none() && age < STARTING_SECONDS {
                return Ok(RunState::Running(None));
            }
            Ok(RunState::Failed(RunFailure::of_code("not_begun")))
        }
    }
}

/// A call with a usage row is over, unless it is a task.
fn state_of_charged(usage: Box<UsageRow>, task: Option<Box<Task>>) -> RunState {
    let outcome = Outcome::of(&usage.outcome);
    if let Some(task) = task {
        return match task.state {
            TaskState::Completed => RunState::Completed(usage, Some(task)),
            TaskState::Failed => RunState::Failed(RunFailure::of_task(&task, Some(usage))),
            TaskState::Unknown => RunState::ChargeUnknown,
            TaskState::Accepted
            | TaskState::Submitting
            | TaskState::Submitted
            | TaskState::Running => RunState::Running(Some(task)),
        };
    }
    if outcome.is_none_or(Outcome::is_failed) {
        let mut failure = RunFailure::of_code(&usage.outcome);
        failure.usage = Some(usage);
        return RunState::Failed(failure);
    }
    RunState::Completed(usage, None)
}

/// `GET /v1/workflows/{id}/runs`.
pub(crate) async fn list_runs(
    services: &Services,
    caller: &Caller,
    workflow: &str,
) -> Result<Response, ApiError> {
    let mut session = services.data.session().await?;
    let account = caller.account.id;
    let found = workflow_runs::newest(&mut session, account, workflow, PER_PAGE).await;
    drop(session);
    let mut data = Vec::new();
    for run in found? {
        let state = state_of(services, &run).await?;
        data.push(view(&run, &state));
    }
    let body = json!({ "object": "list", "data": data });
    Ok(answer(StatusCode::OK, &body))
}

/// `GET /v1/workflows/{id}/runs/{run}`.
pub(crate) async fn show_run(
    services: &Services,
    caller: &Caller,
    workflow: &str,
    name: &str,
) -> Result<Response, ApiError> {
    let run = run_of_caller(services, caller, workflow, name).await?;
    let state = state_of(services, &run).await?;
    Ok(answer(StatusCode::OK, &view(&run, &state)))
}

/// `GET /v1/workflows/{id}/runs/{run}/events`: what happened, oldest first.
pub(crate) async fn run_events(
    services: &Services,
    caller: &Caller,
    workflow: &str,
    name: &str,
) -> Result<Response, ApiError> {
    let run = run_of_caller(services, caller, workflow, name).await?;
    let state = state_of(services, &run).await?;
    let request = request_of(&run)?;
    let account = run.facts.account;
    let money = call_money::read(&services.data, account, request, DEAD_AFTER).await?;
    let body = json!({ "object": "list", "data": events(&run, &state, &money) });
    Ok(answer(StatusCode::OK, &body))
}

/// `GET /v1/workflows/{id}/runs/{run}/receipt`: what was run, and what it cost.
pub(crate) async fn run_receipt(
    services: &Services,
    caller: &Caller,
    workflow: &str,
    name: &str,
) -> Result<Response, ApiError> {
    let run = run_of_caller(services, caller, workflow, name).await?;
    let request = request_of(&run)?;
    let usage = self_info::usage_view(&services.account_api, caller, request).await?;
    let usage = usage.ok_or_else(|| {
        let text = "this run has no receipt: it is under way, or nothing was held for it";
        ApiError::new(ErrorCode::NotFound, text).at("run_id")
    })?;
    let body = json!({
        "object": "workflow.receipt",
        "run_id": run_name(run.facts.request),
        "workflow_id": run.facts.workflow_id,
        "revision": run.facts.revision,
        "semantic_digest_sha256": hex(&run.facts.digest),
        "operation": run.facts.operation,
        "confirmations": run.facts.confirmations,
        "usage": usage,
    });
    Ok(answer(StatusCode::OK, &body))
}

/// `POST /v1/workflows/{id}/runs/{run}/cancel`: stops a task where that is certain.
pub(crate) async fn cancel_run(
    services: &Services,
    caller: &Caller,
    workflow: &str,
    name: &str,
) -> Result<Response, ApiError> {
    let run = run_of_caller(services, caller, workflow, name).await?;
    let state = state_of(services, &run).await?;
    let is_cancelled = match &state {
        RunState::Running(Some(task)) => cancel_task(services, task).await?,
        RunState::Running(None)
        | RunState::Completed(..)
        | RunState::Failed(_)
        | RunState::ChargeUnknown => false,
    };
    if !is_cancelled {
        let text = "this run can no longer be cancelled; one that is answered while you wait is stopped by \
                    closing the connection";
        return Err(ApiError::new(ErrorCode::NotCancellable, text).at("run_id"));
    }
    show_run(services, caller, workflow, name).await
}

async fn run_of_caller(
    services: &Services,
    caller: &Caller,
    workflow: &str,
    name: &str,
) -> Result<Run, ApiError> {
    let unknown = || {
        let text = "this account has no such run of this workflow";
        ApiError::new(ErrorCode::NotFound, text).at("run_id")
    };
    let id = run_of(name).ok_or_else(unknown)?;
    let mut session = services.data.session().await?;
    let found = workflow_runs::find(&mut session, caller.account.id, id).await?;
    found
        .filter(|run| run.facts.workflow_id == workflow)
        .ok_or_else(unknown)
}

fn request_of(run: &Run) -> Result<RequestId, ApiError> {
    RequestId::from_uuid(run.facts.request).map_err(|_| ApiError::unavailable())
}

/// A run as it is shown.
fn view(run: &Run, state: &RunState) -> Value {
    let facts = &run.facts;
    let (task, usage, error) = match state {
        RunState::Running(task) => (task.as_deref(), None, None),
        RunState::Completed(usage, task) => (task.as_deref(), Some(&**usage), None),
        RunState::Failed(failure) => {
            let error = json!({ "code": failure.code, "message": failure.message });
            (None, failure.usage.as_deref(), Some(error))
        }
        RunState::ChargeUnknown => (None, None, None),
    };
    let charged = usage.map(|usage| {
        let gross = usage.paid.checked_add(usage.trial);
        let net = gross.and_then(|gross| gross.checked_sub(usage.refunded));
        net.unwrap_or(Money::ZERO).to_string()
    });
    json!({
        "id": run_name(facts.request),
        "object": "workflow.run",
        "workflow_id": facts.workflow_id,
        "revision": facts.revision,
        "semantic_digest_sha256": hex(&facts.digest),
        "operation": facts.operation,
        "model": facts.model,
        "status": state.as_str(),
        "request_id": request_of(run).ok().map(|request| request.to_string()),
        "task_id": task.map(|task| task_name(task.id)),
        "confirmations": facts.confirmations,
        "created_at": run.created_at.seconds(),
        "cost_usd": charged,
        "refunded_usd": usage.map(|usage| usage.refunded.to_string()),
        "error": error,
    })
}

/// What happened to a run and its money.
fn events(run: &Run, state: &RunState, money: &CallMoney) -> Vec<Value> {
    let event = |kind: &str, at: i64, amount: Option<Money>| {
        json!({
            "object": "workflow.run.event",
            "type": kind,
            "at": at,
            "amount_usd": amount.map(|amount| amount.to_string()),
        })
    };
    let mut events = vec![event("run.created", run.created_at.seconds(), None)];
    let mut last = run.created_at.seconds();
    if let Some(hold) = &money.hold {
        let at = hold.opened_at.seconds();
        events.push(event("money.held", at, Some(hold.amount)));
        if let (HoldState::Voided, Some(at)) = (hold.state, hold.resolved_at) {
            events.push(event("money.released", at.seconds(), Some(hold.amount)));
            last = last.max(at.seconds());
        }
    }
    for moved in &money.moves {
        let kind = match moved.kind.as_str() {
            "charge" => "money.charged",
            _ => "money.refunded",
        };
        last = last.max(moved.at.seconds());
        events.push(event(kind, moved.at.seconds(), Some(moved.amount)));
    }
    let end = match state {
        RunState::Running(_) => None,
        RunState::Completed(_, task) => {
            let at = task.as_ref().and_then(|task| task.ended_at);
            Some(at.map_or(last, trunkline_types::Timestamp::seconds))
        }
        RunState::Failed(_) | RunState::ChargeUnknown => Some(last),
    };
    if let Some(at) = end {
        events.push(event(
            &format!("run.{}", state.as_str()),
            at.max(last),
            None,
        ));
    }
    events
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

// === impl RunState ===

impl RunState {
    const fn as_str(&self) -> &'static str {
        match self {
            Self::Running(_) => "running",
            Self::Completed(..) => "completed",
            Self::Failed(_) => "failed",
            Self::ChargeUnknown => "charge_unknown",
        }
    }
}

// === impl RunFailure ===

impl RunFailure {
    fn of_code(code: &str) -> Self {
        Self {
            code: code.to_owned(),
            message: "the call of this run failed; nothing was charged".to_owned(),
            usage: None,
        }
    }

    fn of_task(task: &Task, usage: Option<Box<UsageRow>>) -> Self {
        let (code, message) = task.error.clone().unwrap_or_default();
        Self {
            code,
            message,
            usage,
        }
    }
}
