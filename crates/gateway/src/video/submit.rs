//! The one call that may start a job. `submitting` is committed before it leaves; what cannot have
//! arrived may be sent again, also elsewhere, and what may have arrived never is.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;
use trunkline_db::DbError;
use trunkline_ledger::Outcome;
use trunkline_store::tasks::{self, Task};
use trunkline_upstream::SendError;
use trunkline_video::Sent;
use trunkline_video::upstreams::{Complaint, Naming, Protocol, Submitted, protocol_of};

use super::accept::Accepted;
use super::task_name;
use super::transitions::{Ending, StepError};
use crate::caller::allows_region;
use crate::channels::{Channel, ChannelCredential};
use crate::error::{ApiError, ErrorCode};
use crate::services::Services;

/// How long a charge is tried to be written for a job that an upstream took.
const CHARGE_PATIENCE: Duration = Duration::from_secs(600);
const CHARGE_PAUSE: Duration = Duration::from_millis(200);
const CHARGE_PAUSE_MAX: Duration = Duration::from_secs(5);
/// How long a channel without room is left alone, and how long it may ask for.
const FULL_SECONDS: u64 = 2;
const MAX_FULL_SECONDS: u64 = 60;

/// What became of a submission.
#[derive(Debug)]
pub(super) enum Sending {
    /// An upstream has it.
    Taken,
    /// It waits for an upstream with room.
    Waits,
    /// It left, and nobody knows more.
    Unknown,
    /// The upstream refused it for what it says; it surely has no job.
    Refused(ApiError),
    /// Nobody could be reached; it surely has no job.
    NotSent(ApiError),
    /// Somebody else looks after it.
    NotOurs,
}

/// What one channel came to.
enum Tried {
    Ended(Sending),
    /// It was surely not taken.
    Next {
        full: bool,
        timed_out: bool,
    },
}

impl Services {
    /// Offers a task to its channels in their order, until one takes it or one may have.
    pub(super) async fn submit(&self, accepted: &Accepted) -> Result<Sending, StepError> {
        let task = &accepted.task;
        let (Some(protocol), Some(sent)) = (protocol_of(&task.protocol), self.sent_of(task)) else {
            let text = "what was asked for cannot be read any more";
            return Ok(Sending::NotSent(ApiError::new(
                ErrorCode::UpstreamFailed,
                text,
            )));
        };
        let sent = self.handed(sent, protocol.media).await;
        let inner = &self.inner;
        let channels = inner.channels.get();
        let seed = u64::try_from(task.id.as_u128() & u128::from(u64::MAX)).unwrap_or(0);
        let policy = self.policy_of(task.key).await;
        let mut order = channels.order(&task.model, &task.group, inner.now(), seed);
        order.retain(|channel| {
            let region = channel.row.region.as_deref();
            policy
                .as_ref()
                .is_some_and(|policy| allows_region(policy, region))
        });
        let speaks = |channel: &Arc<Channel>| channel.speaks(protocol.format);
        let (mut full, mut timed_out) = (false, false);
        for channel in order
            .into_iter()
            .filter(speaks)
            .take(inner.settings.max_attempts)
        {
            let Some(credential) = channel.credential(inner.now(), seed) else {
                continue;
            };
            if inner.pace.is_full(channel.row.id.number(), Instant::now()) {
                full = true;
                continue;
            }
            // Held until the vendor has answered.
            let Ok(seat) = self.seat(&channel).await else {
                full = true;
                continue;
            };
            let tried = self
                .offer(accepted, (protocol, &sent), (&channel, credential))
                .await;
            drop(seat);
            match tried? {
                Tried::Ended(sending) => return Ok(sending),
                Tried::Next {
                    full: no_room,
                    timed_out: silent,
                } => {
                    full |= no_room;
                    timed_out |= silent;
                }
            }
        }
        // Everybody rests because of us or others: that is want of room too.
        if full || channels.knows(&task.model) && !timed_out && self.all_rest(&task.model) {
            return Ok(Sending::Waits);
        }
        let model = &task.model;
        Ok(Sending::NotSent(if timed_out {
            let text =
                format!("no upstream of {model:?} could be reached in time; nothing was charged");
            ApiError::new(ErrorCode::UpstreamTimeout, text)
        } else {
            let text = format!("no upstream of {model:?} could be reached; nothing was charged");
            ApiError::new(ErrorCode::UpstreamFailed, text)
        }))
    }

    /// Whether every credential that could serve a model is resting.
    fn all_rest(&self, model: &str) -> bool {
        let channels = self.inner.channels.get();
        let now = self.inner.now();
        let mut channels = channels
            .channels()
            .filter(|channel| channel.row.models.contains_key(model));
        channels.any(|channel| channel.credential_states(now).resting > 0)
    }

    /// What is sent for a task.
    pub(super) fn sent_of(&self, task: &Task) -> Option<Sent> {
        self.open_for_task((task.account, task.id), task.sent.as_deref()?)
    }

    /// One channel, asked once.
    async fn offer(
        &self,
        accepted: &Accepted,
        (protocol, sent): (&'static Protocol, &Sent),
        (channel, credential): (&Arc<Channel>, &ChannelCredential),
    ) -> Result<Tried, StepError> {
        let task = &accepted.task;
        let settings = &self.inner.settings.video;
        let place = (channel.row.id.number(), credential.id.number());
        // Before the commit: who sleeps while that is answered may be taken for dead too.
        let began = Instant::now();
        let mut tx = self.inner.data.begin().await?;
        if let Some(most) = channel.row.concurrent_calls
            && !tasks::has_room(&mut tx, place.0, most).await?
        {
            return Ok(Tried::Next {
                full: true,
                timed_out: false,
            });
        }
        let ours = tasks::submitting(&mut tx, task.id, place, settings.lease).await?;
        match tx.commit().await {
            Ok(()) => {}
            // If it was written, nothing was sent all the same; without this it would wait for its
            // deadline as one of which nobody knows.
            Err(error @ DbError::UnknownCommit(_)) => {
                self.not_taken(task, false, false).await?;
                return Err(error.into());
            }
            Err(error) => return Err(error.into()),
        }
        if !ours {
            return Ok(Tried::Ended(Sending::NotOurs));
        }
        let name = task_name(task.id);
        let naming = Naming {
            model: channel.upstream_model(&task.model),
            reference: &name,
        };
        let call = (protocol.submit)(sent, &naming);
        // Who was asleep for half its lease may have been taken for dead: then nothing is sent.
        if settings
            .lease
            .checked_div(2)
            .is_some_and(|half| began.elapsed() > half)
        {
            return self.not_taken(task, false, false).await;
        }
        match self.ask_vendor(channel, credential, &call).await {
            Err(SendError::NotSent(_)) => {
                channel.failed(self.inner.now());
                let timed_out = began.elapsed() >= settings.call_wait;
                self.not_taken(task, false, timed_out).await
            }
            Err(SendError::Broken(why)) => {
                channel.failed(self.inner.now());
                self.lost(task, &why).await
            }
            Err(SendError::Silent) => {
                channel.failed(self.inner.now());
                self.lost(task, "no answer came in time").await
            }
            Ok(heard) => {
                let submitted = (protocol.read_submit)(sent, &heard.said());
                self.answered(accepted, (channel, credential), submitted)
                    .await
            }
        }
    }

    /// What the answer of an upstream means for a task.
    async fn answered(
        &self,
        accepted: &Accepted,
        (channel, credential): (&Arc<Channel>, &ChannelCredential),
        submitted: Submitted,
    ) -> Result<Tried, StepError> {
        let task = &accepted.task;
        match submitted {
            Submitted::Accepted { id } => {
                channel.went_well();
                self.taken(task, channel, &id).await
            }
            Submitted::Refused(complaint) => {
                let fault = self.complained(&complaint);
                if accepted.fresh {
                    self.forget_refused(task).await;
                } else {
                    let ending = Ending {
                        code: fault.kind.code(),
                        message: &fault.message,
                        outcome: Outcome::Refused,
                        write_off: None,
                    };
                    self.fail_task(task, ending).await?;
                }
                Ok(Tried::Ended(Sending::Refused(fault)))
            }
            Submitted::Full { retry_after } => {
                let seconds = retry_after.unwrap_or(FULL_SECONDS).min(MAX_FULL_SECONDS);
                let until = Instant::now().checked_add(Duration::from_secs(seconds));
                let channel = channel.row.id.number();
                until
                    .into_iter()
                    .for_each(|until| self.inner.pace.is_full_until(channel, until));
                self.not_taken(task, true, false).await
            }
            Submitted::Credential(complaint) => {
                self.rest(channel, credential, &complaint);
                self.not_taken(task, false, false).await
            }
            Submitted::Unknown(complaint) => {
                channel.failed(self.inner.now());
                self.lost(task, &complaint.message).await
            }
        }
    }

    /// An upstream took it. The charge is tried until it is written: the job runs, and is ours.
    async fn taken(
        &self,
        task: &Task,
        channel: &Channel,
        upstream: &str,
    ) -> Result<Tried, StepError> {
        let began = Instant::now();
        let mut pause = CHARGE_PAUSE;
        loop {
            let charged = match self.charge(task, channel, upstream).await {
                // It ended while we waited for the upstream, or our own commit was heard after all.
                Ok(false) => self.note_late(task, upstream).await.map(|()| false),
                other @ (Ok(true) | Err(_)) => other,
            };
            match charged {
                Ok(true) => return Ok(Tried::Ended(Sending::Taken)),
                Ok(false) => return Ok(Tried::Ended(Sending::NotOurs)),
                Err(StepError::Replaced) => {
                    self.remember_upstream(task, upstream).await;
                    return Err(StepError::Replaced);
                }
                Err(error) if began.elapsed() > CHARGE_PATIENCE => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, task.id = task_name(task.id), "a charge is tried again");
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2).min(CHARGE_PAUSE_MAX);
                }
            }
        }
    }

    /// A process that was replaced may not move money, but it may say what it knows.
    async fn remember_upstream(&self, task: &Task, upstream: &str) {
        let Ok(mut session) = self.inner.data.session().await else {
            return;
        };
        if let Err(error) = tasks::heard(&mut session, task.id, upstream).await {
            tracing::error!(%error, task.id = task_name(task.id), "an upstream's name of a task is lost");
        }
    }

    async fn not_taken(
        &self,
        task: &Task,
        full: bool,
        timed_out: bool,
    ) -> Result<Tried, StepError> {
        let ends = self.half_a_lease();
        loop {
            match self.wait_again(task).await {
                Ok(true) => return Ok(Tried::Next { full, timed_out }),
                Ok(false) => return Ok(Tried::Ended(Sending::NotOurs)),
                Err(error) if ends.is_none_or(|ends| Instant::now() > ends) => return Err(error),
                Err(_) => tokio::time::sleep(CHARGE_PAUSE).await,
            }
        }
    }

    async fn wait_again(&self, task: &Task) -> Result<bool, StepError> {
        let pause = self.inner.settings.video.queue_pause;
        let mut tx = self.inner.data.begin().await?;
        let ours = tasks::accepted_again(&mut tx, task.id, pause).await?;
        tx.commit().await?;
        Ok(ours)
    }

    /// Undoes a task that was refused before anybody was told of it. If the books stay away it ends as
    /// one that was lost: there is no job.
    async fn forget_refused(&self, task: &Task) {
        let ends = self.half_a_lease();
        while let Err(error) = self.undo_refused(task.id, task.account).await {
            if ends.is_none_or(|ends| Instant::now() > ends) {
                let name = task_name(task.id);
                tracing::warn!(%error, task.id = name, "a refused task is left to a worker");
                return;
            }
            tokio::time::sleep(CHARGE_PAUSE).await;
        }
    }

    /// Until when nobody else takes a task over that was just written.
    fn half_a_lease(&self) -> Option<Instant> {
        let half = self.inner.settings.video.lease.checked_div(2)?;
        Instant::now().checked_add(half)
    }

    async fn lost(&self, task: &Task, why: &str) -> Result<Tried, StepError> {
        tracing::warn!(
            task.id = task_name(task.id),
            why,
            "nobody knows whether an upstream took a task"
        );
        let pause = self.inner.settings.video.queue_pause;
        let mut tx = self.inner.data.begin().await?;
        tasks::unknown(&mut tx, task.id, pause).await?;
        tx.commit().await?;
        Ok(Tried::Ended(Sending::Unknown))
    }

    fn rest(&self, channel: &Channel, credential: &ChannelCredential, complaint: &Complaint) {
        if credential.pause() {
            tracing::error!(
                channel.name = channel.row.name,
                code = complaint.code,
                "a video vendor refuses a credential"
            );
            let status = StatusCode::from_u16(complaint.status).unwrap_or(StatusCode::FORBIDDEN);
            crate::failover::remember_pause(self, credential, status);
        }
    }
}
