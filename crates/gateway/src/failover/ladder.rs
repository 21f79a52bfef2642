//! What an upstream's answer does: to its channel, to its credential, and to the call. One ladder for
//! every operation.

use http::{HeaderMap, StatusCode};
use trunkline_ledger::Outcome;
use trunkline_upstream::{AnswerClass, Refusal, SendError};
use trunkline_wire::UpstreamError;

use super::{
    AfterSent, AttemptLog, DEFAULT_COOL_SECONDS, Exhausted, RetryPolicy, SkipReason, Tally, To,
};
use crate::channel_probe::store_pause;
use crate::channels::ChannelQuery;
use crate::error::{ApiError, ErrorCode};
use crate::scrub::without_secrets;
use crate::services::Services;

/// Seconds for which an exhausted quota is not asked again where the upstream names none.
const QUOTA_SECONDS: u64 = 60;

/// What one attempt came to.
pub(crate) enum Classified<T> {
    Accepted(T),
    /// The upstream refused the request as invalid. The caller gets its message.
    RequestRejected(ApiError),
    /// This credential is at its limit for so many seconds.
    RateLimited(u64),
    CredentialRejected(StatusCode),
    /// The credential's account has nothing left for so many seconds.
    OutOfQuota(u64),
    /// The upstream does not have the model.
    ModelAbsent,
    /// The upstream is down, and surely did not take it.
    Unavailable,
    /// The upstream failed, and may have taken it.
    Failed,
    /// There is no answer.
    Lost(SendError),
    /// The channel takes nothing more now, and surely did not take this.
    Saturated(u64),
    Stop(Exhausted),
    /// The call ends here, and the credential is bad.
    StopCredentialRejected(StatusCode, Exhausted),
}

/// How the loop goes on.
pub(super) enum Verdict<T> {
    Accepted(T),
    /// Another credential of the channel, then another channel.
    AskCredential,
    /// Another channel.
    AskNext,
    /// No other channel may be asked.
    MayBeTaken,
    Stop(Exhausted),
}

/// Applies what an attempt came to.
pub(super) fn apply<T>(
    services: &Services,
    log: AttemptLog<'_>,
    to: To<'_>,
    policy: RetryPolicy,
    classified: Classified<T>,
    tally: &mut Tally,
) -> Verdict<T> {
    let now = services.now();
    // The attempt may have taken minutes.
    let query = ChannelQuery { now, ..to.query };
    let to = To { query, ..to };
    match classified {
        Classified::Accepted(answer) => {
            to.credential.served(query.model, now);
            Verdict::Accepted(answer)
        }
        Classified::RequestRejected(error) => Verdict::Stop(Exhausted {
            error,
            outcome: Outcome::Refused,
        }),
        Classified::RateLimited(seconds) => {
            limited(to, seconds, "rate limit");
            tally.reason = Some(SkipReason::RateLimited(seconds));
            Verdict::AskCredential
        }
        Classified::OutOfQuota(seconds) => {
            log.about("out_of_quota");
            limited(to, seconds, "quota exhausted");
            tally.reason = Some(SkipReason::Failed);
            Verdict::AskCredential
        }
        Classified::CredentialRejected(status) => {
            rejected(services, log, to, status);
            tally.reason = Some(SkipReason::Failed);
            Verdict::AskCredential
        }
        Classified::ModelAbsent => {
            log.about("model_absent");
            lacks_model(to);
            tally.reason.get_or_insert(SkipReason::ModelAbsent);
            Verdict::AskCredential
        }
        Classified::Saturated(seconds) => {
            tally.saturated = true;
            tally.reason = Some(SkipReason::RateLimited(seconds));
            Verdict::AskNext
        }
        Classified::Unavailable => {
            failed(to, "the upstream says that it is unavailable");
            tally.reason = Some(SkipReason::Failed);
            Verdict::AskNext
        }
        Classified::Failed => {
            failed(to, "the upstream failed");
            tally.reason = Some(SkipReason::Failed);
            after_sent(policy)
        }
        Classified::Lost(error) => {
            log.lost(&error);
            lost(to, policy, &error, tally)
        }
        Classified::Stop(exhausted) => Verdict::Stop(exhausted),
        Classified::StopCredentialRejected(status, exhausted) => {
            rejected(services, log, to, status);
            Verdict::Stop(exhausted)
        }
    }
}

fn lost<T>(to: To<'_>, policy: RetryPolicy, error: &SendError, tally: &mut Tally) -> Verdict<T> {
    match error {
        SendError::NotSent(_) => {
            if to.channel.health.unreached(to.query.now) {
                paused(to, "the upstream cannot be reached");
            }
            tally.reason = Some(SkipReason::Failed);
            Verdict::AskNext
        }
        SendError::Broken(_) => {
            failed(to, "the connection broke");
            tally.reason = Some(SkipReason::Failed);
            after_sent(policy)
        }
        SendError::Silent => {
            failed(to, "the upstream did not answer in time");
            tally.reason = Some(SkipReason::Silent);
            after_sent(policy)
        }
    }
}

const fn after_sent<T>(policy: RetryPolicy) -> Verdict<T> {
    match policy.after_sent {
        AfterSent::AskNext => Verdict::AskNext,
        AfterSent::Stop => Verdict::MayBeTaken,
    }
}

/// The upstream failed at a call.
fn failed(to: To<'_>, how: &'static str) {
    if to.channel.health.failed(to.query.account, to.query.now) {
        paused(to, how);
    }
}

/// A channel is skipped for all accounts until a trial succeeds.
fn paused(to: To<'_>, how: &'static str) {
    tracing::warn!(
        channel.name = to.channel.row.name,
        credential.label = to.credential.label,
        model = to.query.model,
        evidence = how,
        failures_count = to.channel.health.failures(),
        "channel paused: calls fail; one call at a time tries it again"
    );
}

/// The upstream wants no call with a credential for a while.
fn limited(to: To<'_>, seconds: u64, what: &'static str) {
    if to.credential.limited(to.query, seconds) {
        tracing::info!(
            channel.name = to.channel.row.name,
            credential.label = to.credential.label,
            evidence = what,
            seconds,
            "credential cools down: calls of several accounts were refused"
        );
    }
}

/// The upstream refused a credential. It is paused only if calls of several accounts have seen that;
/// otherwise a probe decides.
fn rejected(services: &Services, log: AttemptLog<'_>, to: To<'_>, status: StatusCode) {
    log.about("credential_refused");
    tracing::warn!(
        channel.name = to.channel.row.name,
        credential.label = to.credential.label,
        status = status.as_u16(),
        "credential refused at a call; a probe tells whether it is bad"
    );
    if to.credential.refused(to.query) {
        let evidence = "calls of several accounts were refused";
        store_pause(
            services,
            to.channel,
            to.credential,
            status.as_u16(),
            evidence,
        );
    }
}

/// The upstream does not have a model that the channel is said to serve.
fn lacks_model(to: To<'_>) {
    if to.credential.lacks(to.query) {
        tracing::warn!(
            channel.name = to.channel.row.name,
            credential.label = to.credential.label,
            model = to.query.model,
            "model absent at an upstream: calls of several accounts were refused"
        );
    }
}

/// What follows from a refusal, by the rows of the channel's provider. None: it is about the request, and
/// the caller gets the upstream's message.
pub(crate) fn refused_by<T>(
    to: To<'_>,
    headers: &HeaderMap,
    status: u16,
    codes: [Option<&str>; 2],
    retry_after: Option<u64>,
) -> Option<Classified<T>> {
    let refusal = Refusal {
        status,
        codes,
        headers,
    };
    let status_code = StatusCode::from_u16(status).unwrap_or(StatusCode::FORBIDDEN);
    match to.channel.provider.answer_class(refusal) {
        AnswerClass::Request => None,
        AnswerClass::Credential => Some(Classified::CredentialRejected(status_code)),
        AnswerClass::Quota => {
            let seconds = retry_after.unwrap_or(QUOTA_SECONDS);
            Some(Classified::OutOfQuota(seconds))
        }
        AnswerClass::ModelAbsent => Some(Classified::ModelAbsent),
        AnswerClass::RateLimited => {
            let seconds = retry_after.unwrap_or(DEFAULT_COOL_SECONDS);
            Some(Classified::RateLimited(seconds))
        }
        AnswerClass::Overloaded => Some(Classified::Unavailable),
        AnswerClass::Failed => Some(Classified::Failed),
    }
}

/// The upstream's error message, without secrets: those of every channel, since an upstream may sit
/// behind several and repeat what another one was sent.
pub(crate) fn upstream_refusal(
    services: &Services,
    status: StatusCode,
    refusal: &UpstreamError,
) -> ApiError {
    let secrets = services.channels.load_full().secrets();
    let clean = |text: &str| without_secrets(text, &secrets);
    let status = if refusal.blames_the_request() {
        StatusCode::BAD_REQUEST
    } else {
        status
    };
    let message = match refusal.message.as_str() {
        "" => format!(
            "the upstream refused the request with status {}",
            status.as_u16()
        ),
        text => clean(text),
    };
    let code = refusal.code.as_deref().map(clean);
    let mut error = ApiError::new(ErrorCode::UpstreamRefused(status, code), message);
    error.param = refusal.param.as_deref().map(clean);
    error
}
