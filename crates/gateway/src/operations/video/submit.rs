//! The one call that may start a job. `submitting` is committed before it leaves; what cannot have
//! arrived may be sent again, also elsewhere, and what may have arrived never is.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use tokio::time::Instant;
use trunkline_db::DbError;
use trunkline_generation::vendor_http::VendorError;
use trunkline_generation::video::Outbound;
use trunkline_generation::video::upstreams::{JobContext, Protocol, Submitted, protocol_of};
use trunkline_ledger::Outcome;
use trunkline_store::Policy;
use trunkline_store::tasks::{self, Task};
use trunkline_upstream::SendError;

use super::accept::Accepted;
use super::encryption;
use super::inline_media;
use super::transitions::{self, Ending, StepError};
use crate::channels::{Channel, ChannelQuery, RouteRules};
use crate::error::{ApiError, ErrorCode};
use crate::failover::{
    self, AfterSent, AttemptLog, Attempts, Built, Candidates, Classified, Exhausted, RetryPolicy,
    Tally, To, refused_by,
};
use crate::model_alias;
use crate::services::Services;
use crate::task_id::task_name;
use crate::vendors;

/// How long a charge is tried to be written for a job that an upstream took.
const CHARGE_PATIENCE: Duration = Duration::from_secs(600);
const CHARGE_PAUSE: Duration = Duration::from_millis(200);
const CHARGE_PAUSE_MAX: Duration = Duration::from_secs(5);
/// How long a channel without capacity is skipped, and how long it may ask for.
const FULL_SECONDS: u64 = 2;
const MAX_FULL_SECONDS: u64 = 60;

/// What became of a submission.
#[derive(Debug)]
pub(super) enum Sending {
    Taken,
    /// It waits for an upstream with capacity.
    Waits,
    /// It was sent, and its outcome is unknown.
    Unknown,
    /// The upstream refused it for what it says; it surely has no job.
    Refused(ApiError),
    /// No upstream could be reached; it surely has no job.
    NotSent(ApiError),
    /// Another worker has it.
    NotOurs,
}

/// A task on its way to an upstream.
struct Submission<'a> {
    accepted: &'a Accepted,
    protocol: &'static Protocol,
    sent: Outbound,
    /// What the key of the task may be used for.
    policy: Option<Arc<Policy>>,
    /// An upstream could not be reached in time.
    timed_out: bool,
}

/// What one channel came to.
enum Tried {
    Ended(Sending),
    /// It was surely not taken.
    NotTaken,
}

impl Attempts for Submission<'_> {
    type Outbound = ();
    type Accepted = Result<Sending, StepError>;

    fn candidates(&self, services: &Services) -> Candidates {
        let task = &self.accepted.task;
        let seed = u64::try_from(task.id.as_u128() & u128::from(u64::MAX)).unwrap_or(0);
        let registry = services.channels.load_full();
        let query = ChannelQuery {
            model: &task.model,
            account: task.account,
            now: services.now(),
        };
        let mut channels = match self.policy.as_deref() {
            Some(policy) => {
                let group = &task.group;
                registry.order(query, RouteRules { group, policy }, seed)
            }
            // What its key demands is not known.
            None => Vec::new(),
        };
        channels.retain(|channel| channel.speaks(self.protocol.format));
        Candidates {
            channels,
            model: task.model.clone(),
            account: task.account,
            seed,
            credential: None,
            policy: RetryPolicy {
                attempts: services.settings.max_attempts,
                after_sent: AfterSent::Stop,
            },
        }
    }

    async fn build(&mut self, services: &Services, channel: &Arc<Channel>) -> Built<()> {
        let number = channel.row.id.number();
        if services.poll_budget.is_full(number, Instant::now()) {
            return Built::Saturated(FULL_SECONDS);
        }
        Built::Ready(())
    }

    async fn attempt(
        &mut self,
        services: &Services,
        log: AttemptLog<'_>,
        to: To<'_>,
        (): (),
    ) -> Classified<Self::Accepted> {
        match self.offer(services, log, to).await {
            Ok(classified) => classified,
            Err(error) => Classified::Accepted(Err(error)),
        }
    }

    fn exhausted(&self, tally: Tally) -> Exhausted {
        let model = &self.accepted.task.model;
        let (code, text) = if tally.saturated {
            let text =
                format!("every upstream of {model:?} is at its rate limit; nothing was charged");
            (ErrorCode::UpstreamRateLimited, text)
        } else if self.timed_out {
            let text =
                format!("no upstream of {model:?} could be reached in time; nothing was charged");
            (ErrorCode::UpstreamTimeout, text)
        } else {
            let text = format!("no upstream of {model:?} could be reached; nothing was charged");
            (ErrorCode::UpstreamFailed, text)
        };
        Exhausted::from(ApiError::new(code, text))
    }
}

impl Submission<'_> {
    /// One channel, asked once.
    async fn offer(
        &mut self,
        services: &Services,
        log: AttemptLog<'_>,
        to: To<'_>,
    ) -> Result<Classified<Result<Sending, StepError>>, StepError> {
        let (channel, credential) = (to.channel, to.credential);
        let task = &self.accepted.task;
        let settings = &services.settings.video;
        let (channel_id, credential_id) = (channel.row.id.number(), credential.id.number());
        // Before the commit: a node that sleeps while that is answered may be taken for dead too.
        let began = Instant::now();
        let mut tx = services.data.begin().await?;
        if let Some(most) = channel.row.concurrent_calls
            && !tasks::has_capacity(&mut tx, channel_id, task.account, most).await?
        {
            return Ok(Classified::Saturated(FULL_SECONDS));
        }
        let ours =
            tasks::submitting(&mut tx, task.id, channel_id, credential_id, settings.lease).await?;
        match tx.commit().await {
            Ok(()) => {}
            // If it was written, nothing was sent all the same; without this it would wait for its
            // deadline as one of which no node knows.
            Err(error @ DbError::UnknownCommit(_)) => {
                on_not_taken(services, task).await?;
                return Err(error.into());
            }
            Err(error) => return Err(error.into()),
        }
        if !ours {
            return Ok(Classified::Accepted(Ok(Sending::NotOurs)));
        }
        let name = task_name(task.id);
        let naming = JobContext {
            model: channel.upstream_model(&task.model),
            reference: &name,
        };
        let call = (self.protocol.submit)(&self.sent, &naming);
        // A node that slept for half its lease may have been taken for dead: then nothing is sent.
        let half = settings.lease.checked_div(2);
        if half.is_some_and(|half| began.elapsed() > half) {
            return not_taken(services, task, Classified::Unavailable).await;
        }
        match vendors::call_json(services, channel, credential, &call).await {
            Err(error @ SendError::NotSent(_)) => {
                self.timed_out |= began.elapsed() >= settings.call_wait;
                not_taken(services, task, Classified::Lost(error)).await
            }
            Err(SendError::Broken(why)) => {
                channel.health.failed(task.account, services.now());
                on_lost(services, task, &why).await
            }
            Err(SendError::Silent) => {
                channel.health.failed(task.account, services.now());
                on_lost(services, task, "no answer came in time").await
            }
            Ok(response) => {
                if let Ok(status) = StatusCode::from_u16(response.status) {
                    log.answered(status);
                }
                let submitted =
                    (self.protocol.read_submit)(&self.sent, &response.as_vendor_response());
                self.answered(services, to, submitted).await
            }
        }
    }

    /// What the answer of an upstream means for a task.
    async fn answered(
        &self,
        services: &Services,
        to: To<'_>,
        submitted: Submitted,
    ) -> Result<Classified<Result<Sending, StepError>>, StepError> {
        let task = &self.accepted.task;
        match submitted {
            Submitted::Accepted { id } => {
                to.channel.health.record_success();
                let sending = on_taken(services, task, to.channel, &id).await?;
                Ok(Classified::Accepted(Ok(sending)))
            }
            Submitted::Refused(vendor_error) | Submitted::Credential(vendor_error) => {
                if let Some(classified) = about_the_channel(to, &vendor_error) {
                    return not_taken(services, task, classified).await;
                }
                let error = vendors::vendor_error(services, &vendor_error);
                if self.accepted.fresh {
                    forget_refused(services, task).await;
                } else {
                    let ending = Ending {
                        code: error.kind.code(),
                        message: &error.message,
                        outcome: Outcome::Refused,
                        write_off: None,
                    };
                    transitions::fail_task(services, task, ending).await?;
                }
                Ok(Classified::Accepted(Ok(Sending::Refused(error))))
            }
            Submitted::Full { retry_after } => {
                let seconds = retry_after.unwrap_or(FULL_SECONDS).min(MAX_FULL_SECONDS);
                let until = Instant::now().checked_add(Duration::from_secs(seconds));
                let channel = to.channel.row.id.number();
                until
                    .into_iter()
                    .for_each(|until| services.poll_budget.is_full_until(channel, until));
                not_taken(services, task, Classified::Saturated(seconds)).await
            }
            Submitted::Unknown(vendor_error) => {
                to.channel.health.failed(task.account, services.now());
                on_lost(services, task, &vendor_error.message).await
            }
        }
    }
}

/// What a refusal says about the channel or its credential, by the rows of its provider; none if it is
/// about the task.
fn about_the_channel(
    to: To<'_>,
    vendor_error: &VendorError,
) -> Option<Classified<Result<Sending, StepError>>> {
    let codes = [Some(vendor_error.code.as_str()), None];
    let classified = refused_by(to, &HeaderMap::new(), vendor_error.status, codes, None);
    // The vendor says that there is no job.
    classified.filter(|classified| !matches!(classified, Classified::Failed))
}

/// The task waits for another channel, unless a worker has it.
async fn not_taken(
    services: &Services,
    task: &Task,
    classified: Classified<Result<Sending, StepError>>,
) -> Result<Classified<Result<Sending, StepError>>, StepError> {
    Ok(match on_not_taken(services, task).await? {
        Tried::NotTaken => classified,
        Tried::Ended(sending) => Classified::Accepted(Ok(sending)),
    })
}

/// Offers a task to its channels in their order, until one takes it or one may have.
pub(super) async fn submit_video(
    services: &Services,
    log: AttemptLog<'_>,
    accepted: &Accepted,
) -> Result<Sending, StepError> {
    let task = &accepted.task;
    let unstored = accepted.unstored.clone();
    let sent = unstored.or_else(|| sent_of(services, task));
    let (Some(protocol), Some(sent)) = (protocol_of(&task.protocol), sent) else {
        let text = "the stored request can no longer be read";
        let error = ApiError::new(ErrorCode::UpstreamFailed, text);
        return Ok(Sending::NotSent(error));
    };
    let mut submission = Submission {
        accepted,
        protocol,
        sent: inline_media::inline_media(services, sent, protocol).await,
        policy: model_alias::policy_of(services, task.key).await,
        timed_out: false,
    };
    let exhausted = match failover::run(services, log, &mut submission).await {
        Ok(served) => return served.answer,
        Err(exhausted) => exhausted,
    };
    // Every credential cools down because of us or others: that is a lack of capacity too.
    let saturated = exhausted.error.kind == ErrorCode::UpstreamRateLimited;
    let cooling = services.channels.load_full().knows(&task.model)
        && !submission.timed_out
        && all_cooling_down(services, &task.model);
    // What is stored nowhere cannot wait.
    if (saturated || cooling) && accepted.unstored.is_none() {
        return Ok(Sending::Waits);
    }
    Ok(Sending::NotSent(exhausted.error))
}

/// Whether every credential that could serve a model is cooling down.
fn all_cooling_down(services: &Services, model: &str) -> bool {
    let channels = services.channels.load_full();
    let now = services.now();
    let mut channels = channels
        .channels()
        .filter(|channel| channel.row.models.contains_key(model));
    channels.any(|channel| channel.credential_states(now).cooling_down > 0)
}

pub(super) fn sent_of(services: &Services, task: &Task) -> Option<Outbound> {
    encryption::open_for_task(services, task.account, task.id, task.sent.as_deref()?)
}

/// An upstream took it. The charge is tried until it is written: the job runs, and is ours.
async fn on_taken(
    services: &Services,
    task: &Task,
    channel: &Channel,
    upstream: &str,
) -> Result<Sending, StepError> {
    let began = Instant::now();
    let mut pause = CHARGE_PAUSE;
    loop {
        let charged = match transitions::charge(services, task, channel, upstream).await {
            // It ended while we waited for the upstream, or our own commit was heard after all.
            Ok(false) => transitions::write_off_late_result(services, task, upstream)
                .await
                .map(|()| false),
            other @ (Ok(true) | Err(_)) => other,
        };
        match charged {
            Ok(true) => return Ok(Sending::Taken),
            Ok(false) => return Ok(Sending::NotOurs),
            Err(StepError::Replaced) => {
                remember_upstream(services, task, upstream).await;
                return Err(StepError::Replaced);
            }
            Err(error) if began.elapsed() > CHARGE_PATIENCE => return Err(error),
            Err(error) => {
                tracing::warn!(%error, task.id = task_name(task.id), "video task: charge failed; retrying");
                tokio::time::sleep(pause).await;
                pause = pause.saturating_mul(2).min(CHARGE_PAUSE_MAX);
            }
        }
    }
}

/// A process that was replaced may not move money, but it may say what it knows.
async fn remember_upstream(services: &Services, task: &Task, upstream: &str) {
    let Ok(mut session) = services.data.session().await else {
        return;
    };
    if let Err(error) = tasks::record_upstream_id(&mut session, task.id, upstream).await {
        tracing::error!(%error, task.id = task_name(task.id), "video submission: the vendor's task id could not be stored");
    }
}

async fn on_not_taken(services: &Services, task: &Task) -> Result<Tried, StepError> {
    let ends = half_a_lease(services);
    loop {
        match return_to_queue(services, task).await {
            Ok(true) => return Ok(Tried::NotTaken),
            Ok(false) => return Ok(Tried::Ended(Sending::NotOurs)),
            Err(error) if ends.is_none_or(|ends| Instant::now() > ends) => return Err(error),
            Err(_) => tokio::time::sleep(CHARGE_PAUSE).await,
        }
    }
}

async fn return_to_queue(services: &Services, task: &Task) -> Result<bool, StepError> {
    let pause = services.settings.video.queue_pause;
    let mut tx = services.data.begin().await?;
    let ours = tasks::return_to_accepted(&mut tx, task.id, pause).await?;
    tx.commit().await?;
    Ok(ours)
}

/// Undoes a task that was refused before its caller knew of it. If the ledger stays unavailable it ends
/// as one that was lost: there is no job.
async fn forget_refused(services: &Services, task: &Task) {
    let ends = half_a_lease(services);
    while let Err(error) = transitions::undo_refused(services, task.id, task.account).await {
        if ends.is_none_or(|ends| Instant::now() > ends) {
            let name = task_name(task.id);
            tracing::warn!(%error, task.id = name, "video submission: refund of a refused task is left to a worker");
            return;
        }
        tokio::time::sleep(CHARGE_PAUSE).await;
    }
}

/// Until when no other worker takes over a task that was just written.
fn half_a_lease(services: &Services) -> Option<Instant> {
    let half = services.settings.video.lease.checked_div(2)?;
    Instant::now().checked_add(half)
}

async fn on_lost(
    services: &Services,
    task: &Task,
    why: &str,
) -> Result<Classified<Result<Sending, StepError>>, StepError> {
    tracing::warn!(
        task.id = task_name(task.id),
        why,
        "video submission: unknown whether the vendor accepted the task"
    );
    let pause = services.settings.video.queue_pause;
    let mut tx = services.data.begin().await?;
    tasks::mark_unknown(&mut tx, task.id, pause).await?;
    tx.commit().await?;
    Ok(Classified::Accepted(Ok(Sending::Unknown)))
}
