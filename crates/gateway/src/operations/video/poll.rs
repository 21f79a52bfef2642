//! How far a job is: asked of its upstream until there is a verdict or the deadline passes. A question
//! that fails is no verdict, and neither is an unknown status.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;
use trunkline_account_api::events::payloads;
use trunkline_generation::video::upstreams::{
    File, JobRef, LookupResult, Polled, Protocol, ReportedUsage, UrlPath, VendorError,
    VendorRequest, protocol_of,
};
use trunkline_ledger::{Outcome, WriteOffReason};
use trunkline_store::tasks::{self, Task, TaskState};
use trunkline_types::{Defect, RequestId};

use super::WORD;
use super::encryption;
use super::submit;
use super::transitions::{self, Ending, StepError};
use crate::channels::{Channel, ChannelCredential};
use crate::error::ApiError;
use crate::guardrail::{Guardrail, Stage, Subject};
use crate::scrub::without_secrets;
use crate::services::Services;
use crate::task_id::task_name;
use crate::vendors;

/// Every so many milliseconds of age the pause between two questions grows by one.
const PAUSE_GROWS_BY: u64 = 10;
/// Until a job is asked for again of a channel that was asked enough.
const PACED: Duration = Duration::from_millis(250);

/// Where an upstream has a file, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum UpstreamFileRef {
    Link(String),
    Behind { at_host: bool, path: String },
}

impl UpstreamFileRef {
    pub(super) fn of(file: &File) -> Self {
        match file {
            File::Link(link) => Self::Link(link.clone()),
            File::Behind(call) => match &call.path {
                UrlPath::Base(path) => Self::Behind {
                    at_host: false,
                    path: path.clone(),
                },
                UrlPath::Host(path) => Self::Behind {
                    at_host: true,
                    path: path.clone(),
                },
            },
        }
    }

    /// The call that fetches it from the vendor's endpoint.
    pub(super) fn call(at_host: bool, path: &str) -> VendorRequest {
        let at = if at_host {
            UrlPath::Host(path.to_owned())
        } else {
            UrlPath::Base(path.to_owned())
        };
        VendorRequest {
            path: at,
            ..VendorRequest::get(String::new())
        }
    }
}

/// Asks for one job and writes what it says.
pub(super) async fn poll(services: &Services, task: &Task) -> Result<(), StepError> {
    if task.state.is_over() {
        return Ok(());
    }
    let Some((protocol, channel)) = serving_channel(services, task) else {
        return poll_later(services, task, None).await;
    };
    let most = services.settings.video.polls_per_second;
    if !services
        .poll_budget
        .allows(channel.row.id.number(), most, Instant::now())
    {
        return reschedule(services, task, PACED).await;
    }
    let Some(upstream) = &task.upstream else {
        return poll_later(services, task, None).await;
    };
    let handle = JobRef {
        id: upstream.clone(),
        endpoint: task.endpoint.clone(),
    };
    let Some(credential) = credential_for(task, &channel) else {
        return poll_later(services, task, None).await;
    };
    let polled = query_status(services, protocol, &channel, credential, &handle).await;
    match polled {
        Polled::Running { queued, progress } => {
            let progress = progress.map(i16::from);
            // Most questions bring no news, and then there is nothing to write.
            let begins = !queued && task.state != TaskState::Running;
            if begins || progress.is_some_and(|progress| progress > task.progress) {
                let mut session = services.data.session().await?;
                tasks::record_progress(&mut session, task.id, !queued, progress).await?;
                drop(session);
                payloads::publish_progress(
                    &services.account_api,
                    task,
                    progress.unwrap_or(0).max(task.progress),
                );
            }
            poll_later(services, task, None).await
        }
        Polled::Done {
            file,
            usage: counted,
        } => on_success(services, task, &file, &counted).await,
        Polled::Failed(vendor_error) => on_failure(services, task, &vendor_error).await,
        Polled::Unclear { why, retry_after } => {
            tracing::info!(
                task.id = task_name(task.id),
                why,
                "video poll: no final status"
            );
            poll_later(services, task, retry_after).await
        }
        Polled::FileAt(_) => poll_later(services, task, None).await,
    }
}

/// One question, and the second one that some vendors need.
pub(super) async fn query_status(
    services: &Services,
    protocol: &'static Protocol,
    channel: &Channel,
    credential: &ChannelCredential,
    handle: &JobRef,
) -> Polled {
    let unclear = |why: String| Polled::Unclear {
        why,
        retry_after: None,
    };
    let call = (protocol.poll)(handle);
    let polled = match vendors::call_json(services, channel, credential, &call).await {
        Err(error) => return unclear(error.to_string()),
        Ok(response) => (protocol.read_poll)(handle, &response.as_vendor_response()),
    };
    let Polled::FileAt(call) = polled else {
        return polled;
    };
    match vendors::call_json(services, channel, credential, &call).await {
        Err(error) => unclear(error.to_string()),
        Ok(response) => (protocol.read_file)(&response.as_vendor_response()),
    }
}

async fn on_success(
    services: &Services,
    task: &Task,
    file: &File,
    counted: &ReportedUsage,
) -> Result<(), StepError> {
    let file_ref = UpstreamFileRef::of(file);
    let Some(sealed) = encryption::seal_for_task(services, task.account, task.id, &file_ref) else {
        return poll_later(services, task, None).await;
    };
    if let Some(guardrail) = &services.guardrail
        && let Err(error) = check_video(services, guardrail, task, file).await
    {
        return refused(services, task, &error).await;
    }
    transitions::finish_task(services, task, &sealed, counted).await?;
    Ok(())
}

async fn on_failure(
    services: &Services,
    task: &Task,
    vendor_error: &VendorError,
) -> Result<(), StepError> {
    let secrets = services.channels.load_full().secrets();
    let clean = |text: &str| without_secrets(text, &secrets);
    let (code, message) = (clean(&vendor_error.code), clean(&vendor_error.message));
    let ending = Ending {
        code: if code.is_empty() {
            "task_failed"
        } else {
            &code
        },
        message: &message,
        outcome: Outcome::UpstreamFailed,
        write_off: None,
    };
    transitions::fail_task(services, task, ending).await?;
    Ok(())
}

/// Asks the guardrail about a video that is done.
async fn check_video(
    services: &Services,
    guardrail: &Guardrail,
    task: &Task,
    file: &File,
) -> Result<(), ApiError> {
    let link = match file {
        File::Link(link) => Some(link.as_str()),
        File::Behind(_) => None,
    };
    let answer = json!({ "task_id": task_name(task.id), "seconds": task.seconds, "url": link });
    let subject = Subject {
        id: RequestId::from_uuid(task.id).unwrap_or_else(|_| services.request_id()),
        account: task.account,
        key: task.key,
        endpoint: WORD,
        model: &task.model,
    };
    let excerpt = guardrail.cut(answer.to_string().as_bytes());
    let checked = guardrail.check(subject, Stage::Response, &excerpt);
    checked.await
}

/// The guardrail refuses a video, and the customer gets the money back; without a verdict it is asked again.
async fn refused(services: &Services, task: &Task, error: &ApiError) -> Result<(), StepError> {
    if error.kind.is_retryable() {
        return poll_later(services, task, None).await;
    }
    let ending = Ending {
        code: error.kind.as_str(),
        message: &error.message,
        outcome: Outcome::Refused,
        write_off: None,
    };
    transitions::fail_task(services, task, ending).await?;
    Ok(())
}

/// Asks again after a while that grows with the task's age; or ends it, if its time is over.
pub(super) async fn poll_later(
    services: &Services,
    task: &Task,
    retry_after: Option<u64>,
) -> Result<(), StepError> {
    if task.read_at >= task.deadline_at {
        return overdue(services, task).await;
    }
    let settings = &services.settings.video;
    let since = task.submitted_at.unwrap_or(task.created_at);
    let age = task.read_at.millis().saturating_sub(since.millis());
    let age = u64::try_from(age).unwrap_or(0);
    let grown = Duration::from_millis(age.checked_div(PAUSE_GROWS_BY).unwrap_or(0));
    let mut pause = grown.clamp(settings.poll_first, settings.poll_most);
    if Defect::FrozenPoll.is_on() {
        pause = settings.deadline;
    }
    let retry_after = retry_after.map(Duration::from_secs).unwrap_or_default();
    reschedule(
        services,
        task,
        pause.max(retry_after.min(settings.deadline)),
    )
    .await
}

pub(super) async fn reschedule(
    services: &Services,
    task: &Task,
    pause: Duration,
) -> Result<(), StepError> {
    let mut session = services.data.session().await?;
    tasks::reschedule(&mut session, task.id, pause).await?;
    Ok(())
}

/// Its time is over. The customer gets the money back; the operator may have to pay the upstream.
pub(super) async fn overdue(services: &Services, task: &Task) -> Result<(), StepError> {
    let sent = !matches!(task.state, TaskState::Accepted);
    let ending = Ending {
        code: "deadline_exceeded",
        message: "the video was not finished in time; the charge was refunded",
        outcome: Outcome::Expired,
        write_off: sent.then_some(WriteOffReason::UnknownOutcome),
    };
    transitions::fail_task(services, task, ending).await?;
    Ok(())
}

/// What became of a submission whose outcome is unknown: looked up where the vendor stores our id,
/// otherwise waited for until the deadline. Never sent again.
pub(super) async fn find_upstream_id(services: &Services, task: &Task) -> Result<(), StepError> {
    if task.read_at >= task.deadline_at {
        return overdue(services, task).await;
    }
    let Some((protocol, channel)) = serving_channel(services, task) else {
        return poll_later(services, task, None).await;
    };
    if let Some(upstream) = &task.upstream {
        transitions::charge(services, task, &channel, upstream).await?;
        return Ok(());
    }
    let sent = submit::sent_of(services, task);
    let (Some(lookup), Some(sent)) = (protocol.lookup, sent) else {
        return poll_later(services, task, None).await;
    };
    let Some(credential) = credential_for(task, &channel) else {
        return poll_later(services, task, None).await;
    };
    let call = lookup(&sent, &task_name(task.id));
    let found = match vendors::call_json(services, &channel, credential, &call).await {
        Err(_) => LookupResult::Unknown,
        Ok(response) => (protocol.read_lookup)(&response.as_vendor_response()),
    };
    let age = task
        .read_at
        .millis()
        .saturating_sub(task.created_at.millis());
    match found {
        LookupResult::Found { id } => {
            transitions::charge(services, task, &channel, &id).await?;
            Ok(())
        }
        LookupResult::NotFound if age > lookup_grace(services) => {
            let ending = Ending {
                code: "submission_lost",
                message: "the upstream never received this video; nothing was charged",
                outcome: Outcome::UpstreamFailed,
                write_off: None,
            };
            transitions::fail_if_still(services, task, ending).await?;
            Ok(())
        }
        LookupResult::NotFound | LookupResult::Unknown => poll_later(services, task, None).await,
    }
}

/// A call that was under way when its sender died must have had its time.
fn lookup_grace(services: &Services) -> i64 {
    let settings = &services.settings.video;
    let calls = settings
        .call_wait
        .saturating_mul(2)
        .saturating_add(settings.lease);
    i64::try_from(calls.as_millis()).unwrap_or(i64::MAX)
}

/// The protocol and the channel that has a task, also one that takes no new ones.
pub(super) fn serving_channel(
    services: &Services,
    task: &Task,
) -> Option<(&'static Protocol, Arc<Channel>)> {
    let protocol = protocol_of(&task.protocol)?;
    let channel = services
        .channels
        .load_full()
        .channel_in_any_state(task.channel?)?;
    Some((protocol, channel))
}

/// The credential that a task was sent with; only its account can see the job.
pub(super) fn credential_for<'a>(
    task: &Task,
    channel: &'a Channel,
) -> Option<&'a ChannelCredential> {
    let number = task.credential?;
    channel
        .credentials
        .iter()
        .find(|one| one.id.number() == number)
}
