//! `DELETE /v1/videos/{id}`: stops a task where that is certain. Before it was sent it costs nothing;
//! after, only an upstream that confirms that it will not bill gives the money back.

use trunkline_generation::video::upstreams::{Cancelled, JobRef};
use trunkline_ledger::Outcome;
use trunkline_store::tasks::{CANCELLED, Task, TaskState};

use super::WORD;
use super::accept;
use super::poll;
use super::transitions::{self, Ending};
use super::views::{self, Shape};
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::response::Response;
use crate::services::Services;
use crate::vendors;

const ENDING: Ending<'static> = Ending {
    code: CANCELLED,
    message: "the task was cancelled; nothing was charged",
    outcome: Outcome::Cancelled,
    write_off: None,
};

/// Stops a task, or says that it goes on.
pub(crate) async fn cancel_video(
    services: &Services,
    caller: &Caller,
    name: &str,
) -> Result<Response, ApiError> {
    caller.check_endpoint(WORD)?;
    let task = views::task_of_caller(services, caller, name).await?;
    if !cancel_task(services, &task).await? {
        let text = "this task can no longer be cancelled";
        return Err(ApiError::new(ErrorCode::NotCancellable, text).at("task_id"));
    }
    let task = views::task_of_caller(services, caller, name).await?;
    views::task_response(services, &task, Shape::Openai).await
}

/// Stops a task where that is certain; false if it goes on and stays as it is.
pub async fn cancel_task(services: &Services, task: &Task) -> Result<bool, ApiError> {
    match task.state {
        TaskState::Accepted => cancel_waiting(services, task).await,
        TaskState::Submitted | TaskState::Running => cancel_running(services, task).await,
        TaskState::Submitting | TaskState::Unknown | TaskState::Completed | TaskState::Failed => {
            Ok(false)
        }
    }
}

/// Whether it is worth trying: it waits here, or its upstream can be asked to stop.
#[must_use]
pub fn is_cancellable(services: &Services, task: &Task) -> bool {
    match task.state {
        TaskState::Accepted => true,
        TaskState::Submitted | TaskState::Running => poll::serving_channel(services, task)
            .is_some_and(|(protocol, _)| protocol.cancel.is_some()),
        TaskState::Submitting | TaskState::Unknown | TaskState::Completed | TaskState::Failed => {
            false
        }
    }
}

/// It waits: the transaction that locks its row first decides, so it is either stopped or sent.
async fn cancel_waiting(services: &Services, task: &Task) -> Result<bool, ApiError> {
    let failed = transitions::fail_if_still(services, task, ENDING).await;
    failed.map_err(|_| ApiError::unavailable())
}

async fn cancel_running(services: &Services, task: &Task) -> Result<bool, ApiError> {
    let (Some((protocol, channel)), Some(upstream)) =
        (poll::serving_channel(services, task), &task.upstream)
    else {
        return Ok(false);
    };
    let (Some(cancel), Some(credential)) = (protocol.cancel, poll::credential_for(task, &channel))
    else {
        return Ok(false);
    };
    let handle = JobRef {
        id: upstream.clone(),
        endpoint: task.endpoint.clone(),
    };
    let response = vendors::call_json(services, &channel, credential, &cancel(&handle)).await;
    let cancelled = match &response {
        Ok(response) => (protocol.read_cancel)(&handle, &response.as_vendor_response()),
        Err(_) => Cancelled::Unknown,
    };
    match cancelled {
        Cancelled::Confirmed => {
            let failed = transitions::fail_task(services, task, ENDING).await;
            if failed.map_err(|_| ApiError::unavailable())? {
                return Ok(true);
            }
            // A question about it may have heard of the end first. Stopped is stopped.
            let now = accept::find_written(services, task.id).await;
            let now = now.map_err(|_| ApiError::unavailable())?;
            Ok(now.is_some_and(|now| now.state == TaskState::Failed))
        }
        // If it was stopped after all, the next question about it says so.
        Cancelled::GoesOn | Cancelled::Unknown => Ok(false),
    }
}
