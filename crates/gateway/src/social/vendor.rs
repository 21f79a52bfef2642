//! Asking the data source. What did not leave is tried once more; what left is not repeated, whatever
//! becomes of it.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Method, StatusCode, Uri};
use trunkline_ledger::Outcome;
use trunkline_social::{Cell, Errand, Found, Method as Verb, Verdict, read};
use trunkline_store::social;
use trunkline_upstream::{Answer, Outgoing, Protocol, SendError};
use trunkline_wire::Format;

use super::FORMAT;
use super::request::Wanted;
use crate::channels::{Channel, ChannelCredential, seed_of_id};
use crate::error::{ApiError, ErrorCode};
use crate::failover::{Attempt, Exhausted, remember_pause, word};
use crate::rate_limit::Saturated;
use crate::request_context::RequestContext;
use crate::sending::headers;
use crate::services::Services;

/// Attempts at most: one, and one more if the first did not leave.
const ATTEMPTS: usize = 2;
/// Seconds to wait for a busy platform that does not say.
const BUSY_SECONDS: u64 = 3;
/// The longest wait that is passed on for one.
const MAX_BUSY_SECONDS: u64 = 60;

/// Data, and whose they are.
pub(super) struct Sourced {
    pub(super) found: Found,
    pub(super) channel: Arc<Channel>,
}

impl Services {
    /// Asks the source, and says what its answer means.
    pub(super) async fn ask_source(
        &self,
        wanted: &Wanted,
        context: &RequestContext,
    ) -> Result<Sourced, Exhausted> {
        let cell = &wanted.asked.cell;
        let errand = wanted.asked.errand();
        let (now, group) = (self.inner.now(), &wanted.sale.group);
        let seed = seed_of_id(wanted.id);
        let mut order = self
            .inner
            .channels
            .get()
            .order(&cell.model, group, now, seed);
        order.retain(|channel| channel.speaks(FORMAT));
        order.retain(|channel| {
            wanted
                .caller
                .may_be_served_in(channel.row.region.as_deref())
        });
        // With one channel, it is the one that is tried again.
        let again = order.first().map(Arc::clone);
        let mut last = SendError::NotSent("no channel".to_owned());
        let mut full = None;
        for channel in order.into_iter().chain(again).take(ATTEMPTS) {
            let Some(credential) = channel.credential(now, seed) else {
                continue;
            };
            match self.seat(&channel).await {
                Ok(seat) => context.sits(seat),
                Err(Saturated(seconds)) => {
                    full = Some(seconds);
                    continue;
                }
            }
            context.tries(Attempt::begin(Arc::clone(&channel), context.elapsed()));
            let sent = self.send_errand(&channel, credential, &errand).await;
            let status = sent.as_ref().ok().map(|answer| answer.status.as_u16());
            let error = sent.as_ref().err().map(word);
            let at = context.elapsed();
            context.tried(|attempt| attempt.answered(status, error, at));
            match sent {
                Err(error @ SendError::NotSent(_)) => {
                    channel.failed(self.inner.now());
                    last = error;
                }
                Err(error) => return Err(unanswered(&error)),
                Ok(answer) => {
                    channel.went_well();
                    return self
                        .judge_source(cell, (&channel, credential), answer)
                        .await;
                }
            }
        }
        match full {
            Some(seconds) => Err(no_place(&cell.platform.name, seconds)),
            None => Err(unanswered(&last)),
        }
    }

    async fn send_errand(
        &self,
        channel: &Channel,
        credential: &ChannelCredential,
        errand: &Errand,
    ) -> Result<Answer, SendError> {
        let unsent = || SendError::NotSent("the address cannot be written".to_owned());
        let address = format!("{}{}", channel.base, errand.target);
        let uri: Uri = address.parse().map_err(|_| unsent())?;
        let mut sent = headers(channel, Format::OpenaiChat, false);
        if errand.body.is_none() {
            sent.remove(CONTENT_TYPE);
        }
        let wait = self.inner.settings.social.wait;
        let outgoing = Outgoing {
            method: match errand.method {
                Verb::Get => Method::GET,
                Verb::Post => Method::POST,
            },
            uri,
            headers: sent,
            body: errand
                .body
                .clone()
                .map_or_else(Bytes::new, Bytes::from)
                .into(),
            deadlines: channel.deadlines(wait, wait),
            proxy: channel.proxy.as_ref(),
            protocol: Protocol::Http1,
        };
        self.send_as(outgoing, credential).await
    }

    async fn judge_source(
        &self,
        cell: &Cell,
        (channel, credential): (&Arc<Channel>, &ChannelCredential),
        mut answer: Answer,
    ) -> Result<Sourced, Exhausted> {
        let most = self.inner.settings.social.max_answer_bytes;
        let status = answer.status;
        let pause = busy_seconds(&answer.headers);
        let Ok(body) = answer.whole(most).await else {
            return Err(failed("broke off"));
        };
        match read(cell, status.as_u16(), &body) {
            Verdict::Data(found) => Ok(Sourced {
                found,
                channel: Arc::clone(channel),
            }),
            Verdict::Nothing => Err(Exhausted {
                fault: ApiError::new(
                    ErrorCode::SocialNoResult,
                    "the platform found nothing for these parameters; nothing was charged",
                ),
                outcome: Outcome::NoResult,
            }),
            Verdict::Busy => {
                let text = format!(
                    "{} is busy; try again in {pause} s; nothing was charged",
                    cell.platform.name
                );
                Err(Exhausted {
                    fault: busy(text, pause),
                    outcome: Outcome::UpstreamFailed,
                })
            }
            Verdict::Account(_) => {
                self.account_refused(channel, credential, status);
                Err(failed("refused its operator"))
            }
            Verdict::Gone => {
                self.pause_gone(cell);
                Err(failed("path gone"))
            }
            Verdict::Failed(why) => Err(failed(why)),
        }
    }

    /// The source minds our account there: nobody asks with this credential until somebody has looked.
    fn account_refused(
        &self,
        channel: &Channel,
        credential: &ChannelCredential,
        status: StatusCode,
    ) {
        if credential.pause() {
            tracing::error!(
                channel.name = channel.row.name,
                status = status.as_u16(),
                "a data source refuses a credential"
            );
            remember_pause(self, credential, status);
        }
    }

    /// The source has retired the path: the cell is taken off the counter until somebody has looked.
    fn pause_gone(&self, cell: &Cell) {
        let (services, reason) = (
            self.clone(),
            "the data source does not have this path any more",
        );
        let platform = cell.platform.key.clone();
        let capability = cell.capability.word();
        tracing::error!(social.model = cell.model, reason, "a cell is paused");
        self.inner.tasks.spawn(async move {
            let written = async {
                let mut tx = services.inner.data.begin().await?;
                let by = social::By::Gateway;
                let done = social::pause(&mut tx, &platform, capability, reason, by).await;
                // This node takes it over as every other does, when it next compares.
                tx.finish(done).await
            };
            if let Err(error) = written.await {
                tracing::warn!(%error, "a paused cell could not be written down");
            }
        });
    }
}

fn busy_seconds(headers: &HeaderMap) -> u64 {
    let told = headers.get(RETRY_AFTER);
    let told: Option<u64> = told.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    told.unwrap_or(BUSY_SECONDS).clamp(1, MAX_BUSY_SECONDS)
}

pub(super) fn busy(text: String, seconds: u64) -> ApiError {
    let mut fault = ApiError::new(ErrorCode::SocialCapacity, text).with("reason", "busy");
    fault.retry_after = Some(seconds);
    fault
}

fn unanswered(error: &SendError) -> Exhausted {
    let outcome = match error {
        SendError::Silent => Outcome::UpstreamTimeout,
        SendError::NotSent(_) | SendError::Broken(_) => Outcome::UpstreamFailed,
    };
    Exhausted {
        fault: ApiError::new(
            ErrorCode::UpstreamFailed,
            "the data source did not answer; nothing was charged",
        ),
        outcome,
    }
}

/// Every channel has as many calls as it takes.
fn no_place(platform: &str, seconds: u64) -> Exhausted {
    let text =
        format!("{platform} is asked too much; try again in {seconds} s; nothing was charged");
    Exhausted {
        fault: busy(text, seconds),
        outcome: Outcome::UpstreamFailed,
    }
}

/// The word is for the log alone: nothing of the source is told.
fn failed(why: &'static str) -> Exhausted {
    tracing::warn!(why, "a data source answered without data");
    Exhausted {
        fault: ApiError::new(
            ErrorCode::UpstreamFailed,
            "the data source answered without data; nothing was charged",
        ),
        outcome: Outcome::UpstreamFailed,
    }
}
