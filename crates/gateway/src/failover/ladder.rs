//! What an upstream's answer does: to its channel, to its credential, and to the call. One ladder for
//! every operation.

use http::StatusCode;
use trunkline_ledger::Outcome;
use trunkline_upstream::SendError;
use trunkline_wire::UpstreamError;

use super::{AfterSent, AttemptLog, Exhausted, RetryPolicy, SkipReason, Tally, To, store_pause};
use crate::error::{ApiError, ErrorCode};
use crate::scrub::without_secrets;
use crate::services::Services;

/// What one attempt came to.
pub(crate) enum Classified<T> {
    Accepted(T),
    /// The upstream refused the request as invalid. The caller gets its message.
    RequestRejected(ApiError),
    /// This credential is at its limit for so many seconds.
    RateLimited(u64),
    CredentialRejected(StatusCode),
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
    let ask_next = |tally: &mut Tally, reason| {
        tally.reason = Some(reason);
        Verdict::AskNext
    };
    match classified {
        Classified::Accepted(answer) => Verdict::Accepted(answer),
        Classified::RequestRejected(error) => Verdict::Stop(Exhausted {
            error,
            outcome: Outcome::Refused,
        }),
        Classified::RateLimited(seconds) => {
            to.credential.cool(now, seconds);
            ask_next(tally, SkipReason::RateLimited(seconds))
        }
        Classified::CredentialRejected(status) => {
            pause(services, to, status);
            ask_next(tally, SkipReason::Failed)
        }
        Classified::Saturated(seconds) => {
            tally.saturated = true;
            ask_next(tally, SkipReason::RateLimited(seconds))
        }
        Classified::Unavailable => {
            to.channel.failed(now);
            ask_next(tally, SkipReason::Failed)
        }
        Classified::Failed => {
            to.channel.failed(now);
            tally.reason = Some(SkipReason::Failed);
            after_sent(policy)
        }
        Classified::Lost(error) => {
            log.lost(&error);
            to.channel.failed(now);
            let (reason, sent) = match error {
                SendError::NotSent(_) => (SkipReason::Failed, false),
                SendError::Broken(_) => (SkipReason::Failed, true),
                SendError::Silent => (SkipReason::Silent, true),
            };
            tally.reason = Some(reason);
            if sent {
                after_sent(policy)
            } else {
                Verdict::AskNext
            }
        }
        Classified::Stop(exhausted) => Verdict::Stop(exhausted),
        Classified::StopCredentialRejected(status, exhausted) => {
            pause(services, to, status);
            Verdict::Stop(exhausted)
        }
    }
}

const fn after_sent<T>(policy: RetryPolicy) -> Verdict<T> {
    match policy.after_sent {
        AfterSent::AskNext => Verdict::AskNext,
        AfterSent::Stop => Verdict::MayBeTaken,
    }
}

/// Uses a credential no more until an operator has looked at it.
fn pause(services: &Services, to: To<'_>, status: StatusCode) {
    if to.credential.pause() {
        tracing::error!(
            channel.name = to.channel.row.name,
            status = status.as_u16(),
            "credential paused: the upstream rejected it"
        );
        store_pause(services, to.credential, status);
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
