//! Asking the data source. What did not leave is tried once more; what left is not repeated, whatever
//! becomes of it.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Method, Uri};
use tokio::sync::OwnedSemaphorePermit;
use trunkline_ledger::Outcome;
use trunkline_social::{Cell, Data, Method as Verb, ResponseClass, VendorRequest, read};
use trunkline_store::cell_pauses;
use trunkline_upstream::{Outgoing, Protocol, SendError, UpstreamResponse};
use trunkline_wire::Format;

use super::request::SocialExecution;
use crate::channels::{Channel, ChannelQuery, SOCIAL_FORMAT, seed_of_id};
use crate::error::{ApiError, ErrorCode};
use crate::failover::{
    AfterSent, AttemptLog, Attempts, Built, Candidates, Classified, Exhausted, RetryPolicy,
    SkipReason, Tally, To,
};
use crate::sending::{self, headers};
use crate::services::Services;

/// Seconds to wait when this node has too many calls to a platform under way.
const CROWDED_SECONDS: u64 = 2;
/// Attempts at most: one, and one more if the first did not leave.
const ATTEMPTS: usize = 2;
/// Seconds to wait for a busy platform that does not say.
const BUSY_SECONDS: u64 = 3;
/// The longest wait that is passed on for one.
const MAX_BUSY_SECONDS: u64 = 60;

/// A request to the source, and its place among this node's requests to the platform.
pub(crate) struct SourceRequest {
    vendor_request: VendorRequest,
    _slot: OwnedSemaphorePermit,
}

impl Attempts for SocialExecution {
    type Outbound = SourceRequest;
    type Accepted = Data;

    fn candidates(&self, services: &Services) -> Candidates {
        let call = &self.call;
        let query = ChannelQuery {
            model: &call.model,
            account: call.caller.account.id,
            now: services.now(),
        };
        let seed = seed_of_id(call.id);
        let registry = services.channels.load_full();
        let mut channels = registry.order(query, call.route_rules(), seed);
        channels.retain(|channel| channel.speaks(SOCIAL_FORMAT));
        channels.truncate(ATTEMPTS);
        // With one channel, it is the one that is tried again.
        let retry = channels.first().map(Arc::clone);
        channels.extend(retry);
        channels.truncate(ATTEMPTS);
        Candidates {
            channels,
            model: call.model.clone(),
            account: call.caller.account.id,
            seed,
            credential: None,
            policy: RetryPolicy {
                attempts: ATTEMPTS,
                after_sent: AfterSent::Stop,
            },
        }
    }

    async fn build(
        &mut self,
        services: &Services,
        _channel: &Arc<Channel>,
    ) -> Built<SourceRequest> {
        let platform = &self.query.cell.platform;
        let most = services.settings.social.at_once_per_platform;
        match services.platform_concurrency.acquire(&platform.key, most) {
            Some(slot) => Built::Ready(SourceRequest {
                vendor_request: self.query.vendor_request(),
                _slot: slot,
            }),
            None => Built::Stop(crowded(&platform.name)),
        }
    }

    /// What left is not repeated, whatever becomes of it: the source may bill it.
    async fn attempt(
        &mut self,
        services: &Services,
        log: AttemptLog<'_>,
        to: To<'_>,
        outbound: SourceRequest,
    ) -> Classified<Data> {
        match send(services, to, &outbound.vendor_request).await {
            Ok(answer) => {
                log.answered(answer.status);
                to.channel.health.record_success();
                classify_source(services, &self.query.cell, answer).await
            }
            Err(error) => Classified::Lost(error),
        }
    }

    fn exhausted(&self, tally: Tally) -> Exhausted {
        match tally.reason {
            Some(SkipReason::RateLimited(seconds)) => {
                no_capacity(&self.query.cell.platform.name, seconds)
            }
            Some(SkipReason::Silent) => unanswered(Outcome::UpstreamTimeout),
            Some(SkipReason::Failed | SkipReason::ModelAbsent) | None => {
                unanswered(Outcome::UpstreamFailed)
            }
        }
    }
}

async fn send(
    services: &Services,
    to: To<'_>,
    vendor_request: &VendorRequest,
) -> Result<UpstreamResponse, SendError> {
    let To {
        channel,
        credential,
        query: _,
    } = to;
    let unsent = || SendError::NotSent("the address cannot be written".to_owned());
    let address = format!("{}{}", channel.base, vendor_request.target);
    let uri: Uri = address.parse().map_err(|_| unsent())?;
    let mut sent = headers(channel, Format::OpenaiChat, false);
    if vendor_request.body.is_none() {
        sent.remove(CONTENT_TYPE);
    }
    let wait = services.settings.social.wait;
    let outgoing = Outgoing {
        method: match vendor_request.method {
            Verb::Get => Method::GET,
            Verb::Post => Method::POST,
        },
        uri,
        headers: sent,
        body: vendor_request
            .body
            .clone()
            .map_or_else(Bytes::new, Bytes::from)
            .into(),
        deadlines: channel.deadlines(wait, wait),
        proxy: channel.proxy.as_ref(),
        protocol: Protocol::Http1,
    };
    sending::send_as(services, outgoing, credential).await
}

/// What the source's answer means. It is never asked for again: it may have been billed.
async fn classify_source(
    services: &Services,
    cell: &Cell,
    mut answer: UpstreamResponse,
) -> Classified<Data> {
    let most = services.settings.social.max_answer_bytes;
    let status = answer.status;
    let pause = busy_seconds(&answer.headers);
    let Ok(body) = answer.whole(most).await else {
        return Classified::Stop(failed("broke off"));
    };
    Classified::Stop(match read(cell, status.as_u16(), &body) {
        ResponseClass::Data(found) => return Classified::Accepted(found),
        ResponseClass::Nothing => Exhausted {
            error: ApiError::new(
                ErrorCode::SocialNoResult,
                "the platform found nothing for these parameters; nothing was charged",
            ),
            outcome: Outcome::NoResult,
        },
        ResponseClass::Busy => {
            let text = format!(
                "{} is busy; retry in {pause} s; nothing was charged",
                cell.platform.name
            );
            Exhausted::from(busy(text, pause))
        }
        // The source minds our account there.
        ResponseClass::Account(_) => {
            let exhausted = failed("refused its operator");
            return Classified::StopCredentialRejected(status, exhausted);
        }
        ResponseClass::Gone => {
            pause_gone(services, cell);
            failed("path gone")
        }
        ResponseClass::Failed(why) => failed(why),
    })
}

/// The source has retired the path: the cell is paused until an operator resumes it.
fn pause_gone(services: &Services, cell: &Cell) {
    let reason = "the data source no longer serves this path";
    let data = services.data.clone();
    let platform = cell.platform.key.clone();
    let capability = cell.capability.as_str();
    tracing::error!(social.model = cell.model, reason, "social endpoint paused");
    services.tasks.spawn(async move {
        let written = async {
            let mut tx = data.begin().await?;
            let by = cell_pauses::PausedBy::Gateway;
            let done = cell_pauses::pause(&mut tx, &platform, capability, reason, by).await;
            // This node takes it over as every other does, when it next compares.
            tx.finish(done).await
        };
        if let Err(error) = written.await {
            tracing::warn!(%error, "social endpoint pause could not be stored");
        }
    });
}

fn busy_seconds(headers: &HeaderMap) -> u64 {
    let retry_after = headers.get(RETRY_AFTER);
    let retry_after: Option<u64> =
        retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    retry_after
        .unwrap_or(BUSY_SECONDS)
        .clamp(1, MAX_BUSY_SECONDS)
}

fn busy(text: String, seconds: u64) -> ApiError {
    let mut error = ApiError::new(ErrorCode::SocialCapacity, text).with("reason", "busy");
    error.retry_after = Some(seconds);
    error
}

/// This node has too many calls to the platform under way.
fn crowded(platform: &str) -> Exhausted {
    let text = format!(
        "too many concurrent requests to {platform}; retry in {CROWDED_SECONDS} s; nothing was charged"
    );
    Exhausted {
        error: busy(text, CROWDED_SECONDS),
        outcome: Outcome::Refused,
    }
}

fn unanswered(outcome: Outcome) -> Exhausted {
    Exhausted {
        error: ApiError::new(
            ErrorCode::UpstreamFailed,
            "the data source did not answer; nothing was charged",
        ),
        outcome,
    }
}

/// Every channel has as many calls as it takes.
fn no_capacity(platform: &str, seconds: u64) -> Exhausted {
    let text =
        format!("{platform} is at its rate limit; retry in {seconds} s; nothing was charged");
    Exhausted {
        error: busy(text, seconds),
        outcome: Outcome::UpstreamFailed,
    }
}

/// The code is for the log alone: nothing of the source is returned.
fn failed(why: &'static str) -> Exhausted {
    tracing::warn!(why, "social vendor answered without data");
    Exhausted {
        error: ApiError::new(
            ErrorCode::UpstreamFailed,
            "the data source answered without data; nothing was charged",
        ),
        outcome: Outcome::UpstreamFailed,
    }
}
