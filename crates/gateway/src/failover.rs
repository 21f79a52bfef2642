//! Channels asked one after the other, by the failover table. There is one loop and one status ladder:
//! an operation says what it sends to a channel and what the answer means; what that does to the
//! channel, to its credential and to the call is decided here.

mod ladder;
mod trial;

use std::collections::VecDeque;
use std::sync::Arc;

use http::StatusCode;
use tokio::time::Instant;
use trunkline_ledger::Outcome;
use trunkline_types::AccountId;
use trunkline_upstream::SendError;

use crate::attempt::Attempt;
use crate::channel_permit::{ChannelPermit, Saturated, channel_permit};
use crate::channels::{Channel, ChannelCredential, ChannelQuery};
use crate::error::{ApiError, ErrorCode};
use crate::request_context::RequestContext;
use crate::services::Services;

pub(crate) use self::ladder::{Classified, refused_by, upstream_refusal};
use self::trial::{Trial, Turn};

/// Seconds of a cool-down where the upstream names none.
pub(crate) const DEFAULT_COOL_SECONDS: u64 = 5;
/// Refusals of credentials and models in one call that do not count as attempts: they cost nothing, and
/// the next credential may do.
const FREE_REFUSALS: usize = 8;

/// What one operation does at one channel.
pub(crate) trait Attempts: Send {
    /// What is sent to a channel.
    type Outbound: Send;
    /// What a channel that took the request answers with.
    type Accepted: Send;

    /// The channels to ask, in their order, and how often.
    fn candidates(&self, services: &Services) -> Candidates;

    /// The request as one channel gets it.
    fn build(
        &mut self,
        services: &Services,
        channel: &Arc<Channel>,
    ) -> impl Future<Output = Built<Self::Outbound>> + Send;

    /// Asks one channel once.
    fn attempt(
        &mut self,
        services: &Services,
        log: AttemptLog<'_>,
        to: To<'_>,
        outbound: Self::Outbound,
    ) -> impl Future<Output = Classified<Self::Accepted>> + Send;

    /// The channel that serves it already, by a connection that is open.
    fn connected(&mut self) -> Option<Served<Self::Accepted>> {
        None
    }

    /// No channel took it.
    fn exhausted(&self, tally: Tally) -> Exhausted;
}

/// The channels of one call, and what may be repeated.
pub(crate) struct Candidates {
    pub(crate) channels: Vec<Arc<Channel>>,
    /// The public name of the model.
    pub(crate) model: String,
    /// Whose call it is.
    pub(crate) account: AccountId,
    /// Which credential of a channel is drawn.
    pub(crate) seed: u64,
    /// The only credential that may be used.
    pub(crate) credential: Option<i64>,
    pub(crate) policy: RetryPolicy,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct RetryPolicy {
    /// Attempts at most.
    pub(crate) attempts: usize,
    pub(crate) after_sent: AfterSent,
}

/// What becomes of a request that left and was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterSent {
    /// Another channel is asked: asking twice makes nothing twice.
    AskNext,
    /// It may have been taken, and is not sent again.
    Stop,
}

/// A channel and the credential that it is asked with.
#[derive(Clone, Copy)]
pub(crate) struct To<'a> {
    pub(crate) channel: &'a Arc<Channel>,
    pub(crate) credential: &'a ChannelCredential,
    pub(crate) query: ChannelQuery<'a>,
}

/// A request for one channel.
pub(crate) enum Built<T> {
    Ready(T),
    /// The channel cannot be told what was asked. Another one may.
    Unsendable(ApiError),
    /// The channel is of no use for it.
    Skip,
    /// The channel takes nothing for so many seconds.
    Saturated(u64),
    /// The call cannot go on anywhere.
    Stop(Exhausted),
}

impl<T> Built<T> {
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Built<U> {
        match self {
            Self::Ready(outbound) => Built::Ready(change(outbound)),
            Self::Unsendable(error) => Built::Unsendable(error),
            Self::Skip => Built::Skip,
            Self::Saturated(seconds) => Built::Saturated(seconds),
            Self::Stop(exhausted) => Built::Stop(exhausted),
        }
    }
}

/// A channel that took the request.
pub(crate) struct Served<T> {
    pub(crate) channel: Arc<Channel>,
    /// The number of the credential that was used.
    pub(crate) credential: i64,
    pub(crate) answer: T,
}

/// Why no channel took it.
#[derive(Debug)]
pub(crate) struct Exhausted {
    pub(crate) error: ApiError,
    pub(crate) outcome: Outcome,
}

/// Why another channel was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkipReason {
    RateLimited(u64),
    Silent,
    Failed,
    /// The upstream does not have the model.
    ModelAbsent,
}

/// What the channels came to.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The last reason to ask another channel.
    pub(crate) reason: Option<SkipReason>,
    /// The first refusal to send.
    pub(crate) unsendable: Option<ApiError>,
    /// The request left, and what became of it is not known.
    pub(crate) may_be_taken: bool,
    /// A channel had no capacity for it.
    pub(crate) saturated: bool,
}

/// Where attempts are noted: a worker that goes on with a task has no request.
#[derive(Clone, Copy)]
pub(crate) struct AttemptLog<'a>(pub(crate) Option<&'a RequestContext>);

/// What is left of a call, and what it came to so far.
struct Progress {
    attempts: usize,
    refusals: usize,
    tally: Tally,
}

/// What asking one channel came to.
enum AttemptResult<T> {
    Served(Served<T>),
    Next,
    /// No other channel is asked.
    End,
    Stop(Exhausted),
}

/// Asks channel after channel until one takes the request.
pub(crate) async fn run<A: Attempts>(
    services: &Services,
    log: AttemptLog<'_>,
    attempts: &mut A,
) -> Result<Served<A::Accepted>, Exhausted> {
    if let Some(served) = attempts.connected() {
        log.restarted(&served.channel);
        log.answered(StatusCode::SWITCHING_PROTOCOLS);
        return Ok(served);
    }
    let candidates = attempts.candidates(services);
    let mut progress = Progress {
        attempts: candidates.policy.attempts,
        refusals: FREE_REFUSALS,
        tally: Tally::default(),
    };
    let mut waiting: VecDeque<Turn<'_>> = candidates.channels.iter().map(Turn::First).collect();
    while let Some(turn) = waiting.pop_front() {
        let (channel, trial) = match turn {
            Turn::First(channel) => match Trial::of(services, channel) {
                // While another call tries it, the others are asked first.
                Trial::Taken => {
                    waiting.push_back(Turn::Last(channel));
                    continue;
                }
                trial @ (Trial::Own | Trial::NotNeeded) => (channel, trial),
            },
            Turn::Last(channel) => (channel, Trial::NotNeeded),
        };
        let result = ask(services, log, attempts, &candidates, channel, &mut progress);
        let result = result.await;
        trial.end(channel);
        match result {
            AttemptResult::Served(served) => return Ok(served),
            AttemptResult::Next => {}
            AttemptResult::End => break,
            AttemptResult::Stop(exhausted) => return Err(exhausted),
        }
    }
    Err(attempts.exhausted(progress.tally))
}

/// Asks one channel, with one credential after the other while it is the credential that is refused.
async fn ask<A: Attempts>(
    services: &Services,
    log: AttemptLog<'_>,
    attempts: &mut A,
    candidates: &Candidates,
    channel: &Arc<Channel>,
    progress: &mut Progress,
) -> AttemptResult<A::Accepted> {
    let mut tried = Vec::new();
    loop {
        let query = candidates.query(services);
        let Some(credential) = candidates.credential_of(channel, query, &tried) else {
            return AttemptResult::Next;
        };
        tried.push(credential.id.number());
        let outbound = match attempts.build(services, channel).await {
            Built::Ready(outbound) => outbound,
            Built::Unsendable(error) => {
                progress.tally.unsendable.get_or_insert(error);
                return AttemptResult::Next;
            }
            Built::Skip => return AttemptResult::Next,
            Built::Saturated(seconds) => return progress.saturated(seconds),
            Built::Stop(exhausted) => return AttemptResult::Stop(exhausted),
        };
        // A saturated channel is passed over like one that cools down.
        let permit = match channel_permit(services, channel).await {
            Ok(permit) => permit,
            Err(Saturated(seconds)) => return progress.saturated(seconds),
        };
        let Some(left) = progress.attempts.checked_sub(1) else {
            return AttemptResult::End;
        };
        let held = log.started(channel, permit);
        let to = To {
            channel,
            credential,
            query,
        };
        let began = Instant::now();
        let classified = attempts.attempt(services, log, to, outbound).await;
        drop(held);
        record_speed(services, to, began, &classified);
        let policy = candidates.policy;
        match ladder::apply(services, log, to, policy, classified, &mut progress.tally) {
            ladder::Verdict::Accepted(answer) => {
                return AttemptResult::Served(Served {
                    credential: credential.id.number(),
                    channel: Arc::clone(channel),
                    answer,
                });
            }
            ladder::Verdict::AskCredential => match progress.refusals.checked_sub(1) {
                Some(refusals) => progress.refusals = refusals,
                None => progress.attempts = left,
            },
            ladder::Verdict::AskNext => {
                progress.attempts = left;
                return AttemptResult::Next;
            }
            ladder::Verdict::Stop(exhausted) => return AttemptResult::Stop(exhausted),
            ladder::Verdict::MayBeTaken => {
                progress.tally.may_be_taken = true;
                return AttemptResult::End;
            }
        }
    }
}

/// How long an answer took to begin.
fn record_speed<T>(services: &Services, to: To<'_>, began: Instant, classified: &Classified<T>) {
    if let Classified::Accepted(_) = classified {
        let speeds = &to.channel.health.speeds;
        speeds.record(to.query.model, began.elapsed(), services.now());
    }
}

// === impl Progress ===

impl Progress {
    /// A channel takes nothing more for so many seconds.
    fn saturated<T>(&mut self, seconds: u64) -> AttemptResult<T> {
        self.tally.is_saturated(seconds);
        AttemptResult::Next
    }
}

// === impl Candidates ===

impl Candidates {
    fn query(&self, services: &Services) -> ChannelQuery<'_> {
        ChannelQuery {
            model: &self.model,
            account: self.account,
            now: services.now(),
        }
    }

    fn credential_of<'a>(
        &self,
        channel: &'a Channel,
        query: ChannelQuery<'_>,
        tried: &[i64],
    ) -> Option<&'a ChannelCredential> {
        match self.credential {
            Some(only) if tried.is_empty() => channel.credential_by(only, query),
            Some(_) => None,
            None => channel.credential(query, self.seed, tried),
        }
    }
}

// === impl AttemptLog ===

impl AttemptLog<'_> {
    /// An attempt begins; its permit lives as long as the request, or is given back for the length of
    /// the attempt where there is none.
    fn started(self, channel: &Arc<Channel>, permit: ChannelPermit) -> Option<ChannelPermit> {
        let Some(context) = self.0 else {
            return Some(permit);
        };
        context.hold_permit(permit.0);
        begin_attempt(context, channel);
        None
    }

    /// One more try at the same channel.
    pub(crate) fn restarted(self, channel: &Arc<Channel>) {
        if let Some(context) = self.0 {
            begin_attempt(context, channel);
        }
    }

    /// The head of the answer is there.
    pub(crate) fn answered(self, status: StatusCode) {
        if let Some(context) = self.0 {
            let now = context.elapsed();
            context.attempt_finished(|attempt| attempt.answered(Some(status.as_u16()), None, now));
        }
    }

    /// There is no answer.
    fn lost(self, error: &SendError) {
        if let Some(context) = self.0 {
            let now = context.elapsed();
            context.attempt_finished(|attempt| attempt.answered(None, Some(name(error)), now));
        }
    }

    /// What the answer was about, where the status does not say it.
    fn about(self, code: &'static str) {
        if let Some(context) = self.0 {
            context.attempt_finished(|attempt| attempt.error = Some(code));
        }
    }
}

fn begin_attempt(context: &RequestContext, channel: &Channel) {
    let model = context.traced_model();
    let model = model.map(|model| channel.upstream_model(&model).to_owned());
    let attempted = Arc::clone(&channel.attempted);
    context.attempt_started(Attempt::begin(attempted, model, context.elapsed()));
}

// === impl Tally ===

impl Tally {
    fn is_saturated(&mut self, seconds: u64) {
        self.saturated = true;
        self.reason.get_or_insert(SkipReason::RateLimited(seconds));
    }

    /// The usual end: the refusal to send if no channel was asked, otherwise what the last one did.
    pub(crate) fn exhausted(self, model: &str) -> Exhausted {
        match (self.reason, self.unsendable) {
            (None, Some(error)) => Exhausted {
                error,
                outcome: Outcome::Refused,
            },
            (reason, _) => {
                let mut exhausted = no_channel(model, reason);
                if self.may_be_taken {
                    let text = &exhausted.error.message;
                    exhausted.error.message = format!(
                        "{text}; the upstream may have accepted the request, so it was not sent to another channel"
                    );
                }
                exhausted
            }
        }
    }
}

// === impl Exhausted ===

/// The guardrail refused an answer; any other error says that the upstream failed.
impl From<ApiError> for Exhausted {
    fn from(error: ApiError) -> Self {
        let is_refused = matches!(
            error.kind,
            ErrorCode::GuardrailRefused | ErrorCode::GuardrailUnavailable
        );
        let outcome = if is_refused {
            Outcome::Refused
        } else {
            Outcome::UpstreamFailed
        };
        Self { error, outcome }
    }
}

fn no_channel(model: &str, reason: Option<SkipReason>) -> Exhausted {
    let (code, text, outcome) = match reason {
        None => (
            ErrorCode::NoRoute,
            format!("no channel is available for model {model:?}; nothing was charged"),
            Outcome::UpstreamFailed,
        ),
        Some(SkipReason::RateLimited(_)) => (
            ErrorCode::UpstreamRateLimited,
            format!("every upstream of {model:?} is at its rate limit; nothing was charged"),
            Outcome::UpstreamFailed,
        ),
        Some(SkipReason::Silent) => (
            ErrorCode::UpstreamTimeout,
            format!("the upstream of {model:?} did not answer in time; nothing was charged"),
            Outcome::UpstreamTimeout,
        ),
        Some(SkipReason::Failed) => (
            ErrorCode::UpstreamFailed,
            format!("the upstream of {model:?} failed; nothing was charged"),
            Outcome::UpstreamFailed,
        ),
        Some(SkipReason::ModelAbsent) => (
            ErrorCode::NoRoute,
            format!("no upstream has model {model:?} now; nothing was charged"),
            Outcome::UpstreamFailed,
        ),
    };
    let mut error = ApiError::new(code, text);
    if let Some(SkipReason::RateLimited(seconds)) = reason {
        error.retry_after = Some(seconds.max(1));
    }
    Exhausted { error, outcome }
}

const fn name(error: &SendError) -> &'static str {
    match error {
        SendError::NotSent(_) => "not_sent",
        SendError::Broken(_) => "broken",
        SendError::Silent => "silent",
    }
}
