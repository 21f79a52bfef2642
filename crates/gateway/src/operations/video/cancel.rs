//! `DELETE /v1/videos/{id}`: stops a task where that is certain. Before it was sent it costs nothing;
//! after, only an upstream that confirms that it will not bill gives the money back.

use trunkline_ledger::Outcome;
use trunkline_store::tasks::{CANCELLED, Task, TaskState};
use trunkline_video::upstreams::{Cancelled, Handle};

use super::WORD;
use super::transitions::Ending;
use super::views::Shape;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::response::Response;
use crate::services::Services;

const ENDING: Ending<'static> = Ending {
    code: CANCELLED,
    message: "the task was cancelled; nothing was charged",
    outcome: Outcome::Cancelled,
    write_off: None,
};

impl Services {
    /// Stops a task, or says that it goes on.
    pub(crate) async fn cancel_video(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<Response, ApiError> {
        caller.check_endpoint(WORD)?;
        let task = self.task_of_caller(caller, name).await?;
        if !self.stop_task(&task).await? {
            let text = "this task cannot be cancelled any more; it goes on and stays as it is";
            return Err(ApiError::new(ErrorCode::NotCancellable, text).at("task_id"));
        }
        let task = self.task_of_caller(caller, name).await?;
        self.shown(&task, Shape::Openai).await
    }

    /// Stops a task where that is certain; false if it goes on and stays as it is.
    pub async fn stop_task(&self, task: &Task) -> Result<bool, ApiError> {
        match task.state {
            TaskState::Accepted => self.stop_waiting(task).await,
            TaskState::Submitted | TaskState::Running => self.stop_running(task).await,
            TaskState::Submitting
            | TaskState::Unknown
            | TaskState::Completed
            | TaskState::Failed => Ok(false),
        }
    }

    /// Whether it is worth trying: it waits here, or its upstream can be asked to stop.
    #[must_use]
    pub fn can_stop(&self, task: &Task) -> bool {
        match task.state {
            TaskState::Accepted => true,
            TaskState::Submitted | TaskState::Running => self
                .keeper_of(task)
                .is_some_and(|(protocol, _)| protocol.cancel.is_some()),
            TaskState::Submitting
            | TaskState::Unknown
            | TaskState::Completed
            | TaskState::Failed => false,
        }
    }

    /// It waits: whoever locks its row first decides, so it is either stopped or sent.
    async fn stop_waiting(&self, task: &Task) -> Result<bool, ApiError> {
        let failed = self.fail_if_still(task, ENDING).await;
        failed.map_err(|_| ApiError::unavailable())
    }

    async fn stop_running(&self, task: &Task) -> Result<bool, ApiError> {
        let (Some((protocol, channel)), Some(upstream)) = (self.keeper_of(task), &task.upstream)
        else {
            return Ok(false);
        };
        let (Some(cancel), Some(credential)) =
            (protocol.cancel, self.credential_for(task, &channel))
        else {
            return Ok(false);
        };
        let handle = Handle {
            id: upstream.clone(),
            door: task.door.clone(),
        };
        let heard = self
            .ask_vendor(&channel, credential, &cancel(&handle))
            .await;
        let said = match &heard {
            Ok(heard) => (protocol.read_cancel)(&handle, &heard.said()),
            Err(_) => Cancelled::Unknown,
        };
        match said {
            Cancelled::Confirmed => {
                let failed = self.fail_task(task, ENDING).await;
                if failed.map_err(|_| ApiError::unavailable())? {
                    return Ok(true);
                }
                // A question about it may have heard of the end first. Stopped is stopped.
                let now = self.written(task.id).await;
                let now = now.map_err(|_| ApiError::unavailable())?;
                Ok(now.is_some_and(|now| now.state == TaskState::Failed))
            }
            // If it was stopped after all, the next question about it says so.
            Cancelled::GoesOn | Cancelled::Unknown => Ok(false),
        }
    }
}
