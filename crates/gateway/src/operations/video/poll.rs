//! How far a job is: asked of its upstream until there is a verdict or the deadline passes. A question
//! that fails is no verdict, and neither is a word that nobody knows.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use trunkline_ledger::{Outcome, WriteOffReason};
use trunkline_store::tasks::{self, Task, TaskState};
use trunkline_types::Defect;
use trunkline_video::upstreams::{
    At, Call, Complaint, Counted, File, Found, Handle, Method, Polled, Protocol, protocol_of,
};

use super::task_name;
use super::transitions::{Ending, StepError};
use crate::channels::{Channel, ChannelCredential};
use crate::scrub::without_secrets;
use crate::services::Services;

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
            File::Behind(call) => match &call.at {
                At::Base(path) => Self::Behind {
                    at_host: false,
                    path: path.clone(),
                },
                At::Host(path) => Self::Behind {
                    at_host: true,
                    path: path.clone(),
                },
            },
        }
    }

    /// The call that fetches it from behind the vendor's door.
    pub(super) fn call(at_host: bool, path: &str) -> Call {
        let at = if at_host {
            At::Host(path.to_owned())
        } else {
            At::Base(path.to_owned())
        };
        Call {
            method: Method::Get,
            at,
            headers: Vec::new(),
            body: None,
        }
    }
}

impl Services {
    /// Asks for one job and writes what it says.
    pub(super) async fn poll(&self, task: &Task) -> Result<(), StepError> {
        if task.state.is_over() {
            return Ok(());
        }
        let Some((protocol, channel)) = self.keeper_of(task) else {
            return self.ask_later(task, None).await;
        };
        let most = self.inner.settings.video.polls_per_second;
        if !self
            .inner
            .pace
            .allows(channel.row.id.number(), most, Instant::now())
        {
            return self.later(task, PACED).await;
        }
        let Some(upstream) = &task.upstream else {
            return self.ask_later(task, None).await;
        };
        let handle = Handle {
            id: upstream.clone(),
            door: task.door.clone(),
        };
        let Some(credential) = self.credential_for(task, &channel) else {
            return self.ask_later(task, None).await;
        };
        let polled = self
            .ask_how_far(protocol, (&channel, credential), &handle)
            .await;
        match polled {
            Polled::Running { queued, progress } => {
                let progress = progress.map(i16::from);
                // Most questions bring no news, and then there is nothing to write.
                let begins = !queued && task.state != TaskState::Running;
                if begins || progress.is_some_and(|progress| progress > task.progress) {
                    let mut session = self.inner.data.session().await?;
                    tasks::told(&mut session, task.id, !queued, progress).await?;
                    drop(session);
                    self.tell_progress(task, progress.unwrap_or(0).max(task.progress));
                }
                self.ask_later(task, None).await
            }
            Polled::Done { file, counted } => self.done(task, &file, &counted).await,
            Polled::Failed(complaint) => self.failed(task, &complaint).await,
            Polled::Unclear { why, retry_after } => {
                tracing::info!(
                    task.id = task_name(task.id),
                    why,
                    "a question about a task gave no verdict"
                );
                self.ask_later(task, retry_after).await
            }
            Polled::FileAt(_) => self.ask_later(task, None).await,
        }
    }

    /// One question, and the second one that some vendors need.
    pub(super) async fn ask_how_far(
        &self,
        protocol: &'static Protocol,
        (channel, credential): (&Channel, &ChannelCredential),
        handle: &Handle,
    ) -> Polled {
        let unclear = |why: String| Polled::Unclear {
            why,
            retry_after: None,
        };
        let call = (protocol.poll)(handle);
        let polled = match self.ask_vendor(channel, credential, &call).await {
            Err(error) => return unclear(error.to_string()),
            Ok(heard) => (protocol.read_poll)(handle, &heard.said()),
        };
        let Polled::FileAt(call) = polled else {
            return polled;
        };
        match self.ask_vendor(channel, credential, &call).await {
            Err(error) => unclear(error.to_string()),
            Ok(heard) => (protocol.read_file)(&heard.said()),
        }
    }

    async fn done(&self, task: &Task, file: &File, counted: &Counted) -> Result<(), StepError> {
        let kept = UpstreamFileRef::of(file);
        let Some(sealed) = self.seal_for_task((task.account, task.id), &kept) else {
            return self.ask_later(task, None).await;
        };
        self.finish_task(task, &sealed, counted).await?;
        Ok(())
    }

    async fn failed(&self, task: &Task, complaint: &Complaint) -> Result<(), StepError> {
        let secrets = self.inner.channels.get().secrets();
        let clean = |text: &str| without_secrets(text, &secrets);
        let (code, message) = (clean(&complaint.code), clean(&complaint.message));
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
        self.fail_task(task, ending).await?;
        Ok(())
    }

    /// Asks again after a while that grows with the task's age; or ends it, if its time is over.
    pub(super) async fn ask_later(&self, task: &Task, wish: Option<u64>) -> Result<(), StepError> {
        if task.read_at >= task.deadline_at {
            return self.overdue(task).await;
        }
        let settings = &self.inner.settings.video;
        let since = task.submitted_at.unwrap_or(task.created_at);
        let age = task.read_at.millis().saturating_sub(since.millis());
        let age = u64::try_from(age).unwrap_or(0);
        let grown = Duration::from_millis(age.checked_div(PAUSE_GROWS_BY).unwrap_or(0));
        let mut pause = grown.clamp(settings.poll_first, settings.poll_most);
        if Defect::FrozenPoll.is_on() {
            pause = settings.deadline;
        }
        let wish = wish.map(Duration::from_secs).unwrap_or_default();
        self.later(task, pause.max(wish.min(settings.deadline)))
            .await
    }

    pub(super) async fn later(&self, task: &Task, pause: Duration) -> Result<(), StepError> {
        let mut session = self.inner.data.session().await?;
        tasks::reschedule(&mut session, task.id, pause).await?;
        Ok(())
    }

    /// Its time is over. The customer gets the money back; the operator may have to pay the upstream.
    pub(super) async fn overdue(&self, task: &Task) -> Result<(), StepError> {
        let sent = !matches!(task.state, TaskState::Accepted);
        let ending = Ending {
            code: "deadline_exceeded",
            message: "the video was not finished in time; the charge was refunded",
            outcome: Outcome::Expired,
            write_off: sent.then_some(WriteOffReason::UnknownOutcome),
        };
        self.fail_task(task, ending).await?;
        Ok(())
    }

    /// What became of a submission of which nobody knows: looked up where the vendor keeps our name,
    /// otherwise waited for until the deadline. Never sent again.
    pub(super) async fn find_out(&self, task: &Task) -> Result<(), StepError> {
        if task.read_at >= task.deadline_at {
            return self.overdue(task).await;
        }
        let Some((protocol, channel)) = self.keeper_of(task) else {
            return self.ask_later(task, None).await;
        };
        if let Some(upstream) = &task.upstream {
            self.charge(task, &channel, upstream).await?;
            return Ok(());
        }
        let sent = self.sent_of(task);
        let (Some(lookup), Some(sent)) = (protocol.lookup, sent) else {
            return self.ask_later(task, None).await;
        };
        let Some(credential) = self.credential_for(task, &channel) else {
            return self.ask_later(task, None).await;
        };
        let call = lookup(&sent, &task_name(task.id));
        let found = match self.ask_vendor(&channel, credential, &call).await {
            Err(_) => Found::Unknown,
            Ok(heard) => (protocol.read_lookup)(&heard.said()),
        };
        let age = task
            .read_at
            .millis()
            .saturating_sub(task.created_at.millis());
        match found {
            Found::There { id } => {
                self.charge(task, &channel, &id).await?;
                Ok(())
            }
            Found::NotThere if age > self.lookup_grace() => {
                let ending = Ending {
                    code: "submission_lost",
                    message: "the upstream never received this video; nothing was charged",
                    outcome: Outcome::UpstreamFailed,
                    write_off: None,
                };
                self.fail_if_still(task, ending).await?;
                Ok(())
            }
            Found::NotThere | Found::Unknown => self.ask_later(task, None).await,
        }
    }

    /// A call that was under way when its sender died must have had its time.
    fn lookup_grace(&self) -> i64 {
        let settings = &self.inner.settings.video;
        let calls = settings
            .call_wait
            .saturating_mul(2)
            .saturating_add(settings.lease);
        i64::try_from(calls.as_millis()).unwrap_or(i64::MAX)
    }

    /// The protocol and the channel that has a task, also one that takes no new ones.
    pub(super) fn keeper_of(&self, task: &Task) -> Option<(&'static Protocol, Arc<Channel>)> {
        let protocol = protocol_of(&task.protocol)?;
        let channel = self.inner.channels.get().kept(task.channel?)?;
        Some((protocol, channel))
    }

    /// The credential that a task was sent with; only its account can see the job.
    pub(super) fn credential_for<'a>(
        &self,
        task: &Task,
        channel: &'a Channel,
    ) -> Option<&'a ChannelCredential> {
        let number = task.credential?;
        channel
            .credentials
            .iter()
            .find(|one| one.id.number() == number)
    }
}
