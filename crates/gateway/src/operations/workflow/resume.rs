//! The same run again: it goes on with the task that there is, waits for the call that is under way, and stops where
//! it is not known yet whether money was charged.

use trunkline_store::workflow_runs::{self, NewRun, Run};

use super::runs::{RunState, run_name, state_of};
use crate::error::{ApiError, ErrorCode};
use crate::operations::video::{Shape, views};
use crate::response::Response;
use crate::services::Services;

/// Looks at one earlier run after the other, which ends where others begin the same one all the time.
const MOST_LOOKS: usize = 4;

/// Writes a run. If the same one is under way and has a task, that task is the answer. A caller that names its
/// calls says by the name which ones are the same; unknown charges stop those too.
pub(super) async fn begin_run(
    services: &Services,
    run: &NewRun,
    is_named: bool,
) -> Result<Option<(NewRun, Response)>, ApiError> {
    for _ in 0..MOST_LOOKS {
        let mut tx = services.data.begin().await?;
        let begun = workflow_runs::begin(&mut tx, run).await;
        let Some(earlier) = tx.finish(begun).await? else {
            return Ok(None);
        };
        match state_of(services, &earlier).await? {
            RunState::ChargeUnknown => return Err(charge_unknown(&earlier)),
            RunState::Running(_) if is_named => {
                let mut session = services.data.session().await?;
                workflow_runs::insert(&mut session, run).await?;
                return Ok(None);
            }
            RunState::Running(Some(task)) => {
                let response = views::task_response(services, &task, Shape::Openai).await?;
                return Ok(Some((earlier.facts, response)));
            }
            RunState::Running(None) => return Err(in_progress(&earlier)),
            RunState::Completed(..) | RunState::Failed(_) => {
                let facts = &earlier.facts;
                let mut session = services.data.session().await?;
                workflow_runs::end(&mut session, facts.account, facts.request, None).await?;
            }
        }
    }
    Err(ApiError::unavailable())
}

/// Notes that a run was refused. Where our own database did not answer, the ledger tells later.
pub(super) async fn end_run(services: &Services, run: &NewRun, error: &ApiError) {
    if matches!(error.kind, ErrorCode::Unavailable | ErrorCode::SameCall(_)) {
        return;
    }
    let noted = async {
        let mut session = services.data.session().await?;
        let code = Some(error.kind.code());
        workflow_runs::end(&mut session, run.account, run.request, code).await
    };
    if let Err(error) = noted.await {
        tracing::warn!(%error, request.id = %run.request, "workflow run: its end was not noted; the ledger tells");
    }
}

fn charge_unknown(run: &Run) -> ApiError {
    let text = "it is not known yet whether an earlier run of the same was charged, so this one was not begun; \
                see that run, and repeat the request once it is over; nothing was charged";
    at_run(ErrorCode::ChargeStateUnknown, text, run)
}

fn in_progress(run: &Run) -> ApiError {
    let text = "the same run is under way; wait for its answer, or name another call with an \
                `Idempotency-Key` of its own; nothing was charged";
    at_run(ErrorCode::RunInProgress, text, run)
}

fn at_run(kind: ErrorCode, text: &str, run: &Run) -> ApiError {
    ApiError::new(kind, text).with("run_id", run_name(run.facts.request))
}
