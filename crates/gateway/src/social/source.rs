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
use super::wanted::Wanted;
use crate::asking::{Attempt, NoAnswer, remember_pause, word};
use crate::fault::{Fault, Kind};
use crate::gateway::Gateway;
use crate::limiting::Full;
use crate::roster::{Live, LiveCredential, seed_of_id};
use crate::sending::headers;
use crate::story::Story;

/// Attempts at most: one, and one more if the first did not leave.
const ATTEMPTS: usize = 2;
/// Seconds to wait for a busy platform that does not say.
const BUSY_SECONDS: u64 = 3;
/// The longest wait that is passed on for one.
const MAX_BUSY_SECONDS: u64 = 60;

/// Data, and whose they are.
pub(super) struct Answered {
    pub(super) found: Found,
    pub(super) live: Arc<Live>,
}

impl Gateway {
    /// Asks the source, and says what its answer means.
    pub(super) async fn ask_source(
        &self,
        wanted: &Wanted,
        story: &Story,
    ) -> Result<Answered, NoAnswer> {
        let cell = &wanted.asked.cell;
        let errand = wanted.asked.errand();
        let (now, group) = (self.inner.now(), &wanted.sale.group);
        let seed = seed_of_id(wanted.id);
        let mut order = self.inner.roster.get().order(&cell.model, group, now, seed);
        order.retain(|live| live.speaks(FORMAT));
        order.retain(|live| wanted.caller.may_be_served_in(live.row.region.as_deref()));
        // With one channel, it is the one that is tried again.
        let again = order.first().map(Arc::clone);
        let mut last = SendError::NotSent("no channel".to_owned());
        let mut full = None;
        for live in order.into_iter().chain(again).take(ATTEMPTS) {
            let Some(credential) = live.credential(now, seed) else {
                continue;
            };
            match self.seat(&live).await {
                Ok(seat) => story.sits(seat),
                Err(Full(seconds)) => {
                    full = Some(seconds);
                    continue;
                }
            }
            story.tries(Attempt::begin(Arc::clone(&live), story.elapsed()));
            let sent = self.send_errand(&live, credential, &errand).await;
            let status = sent.as_ref().ok().map(|answer| answer.status.as_u16());
            let error = sent.as_ref().err().map(word);
            let at = story.elapsed();
            story.tried(|attempt| attempt.answered(status, error, at));
            match sent {
                Err(error @ SendError::NotSent(_)) => {
                    live.failed(self.inner.now());
                    last = error;
                }
                Err(error) => return Err(unanswered(&error)),
                Ok(answer) => {
                    live.went_well();
                    return self.judge_source(cell, (&live, credential), answer).await;
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
        live: &Live,
        credential: &LiveCredential,
        errand: &Errand,
    ) -> Result<Answer, SendError> {
        let unsent = || SendError::NotSent("the address cannot be written".to_owned());
        let address = format!("{}{}", live.base, errand.target);
        let uri: Uri = address.parse().map_err(|_| unsent())?;
        let mut sent = headers(live, Format::OpenaiChat, false);
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
            deadlines: live.deadlines(wait, wait),
            proxy: live.proxy.as_ref(),
            protocol: Protocol::Http1,
        };
        self.send_as(outgoing, credential).await
    }

    async fn judge_source(
        &self,
        cell: &Cell,
        (live, credential): (&Arc<Live>, &LiveCredential),
        mut answer: Answer,
    ) -> Result<Answered, NoAnswer> {
        let most = self.inner.settings.social.max_answer_bytes;
        let status = answer.status;
        let pause = busy_seconds(&answer.headers);
        let Ok(body) = answer.whole(most).await else {
            return Err(failed("broke off"));
        };
        match read(cell, status.as_u16(), &body) {
            Verdict::Data(found) => Ok(Answered {
                found,
                live: Arc::clone(live),
            }),
            Verdict::Nothing => Err(NoAnswer {
                fault: Fault::new(
                    Kind::SocialNoResult,
                    "the platform found nothing for these parameters; nothing was charged",
                ),
                outcome: Outcome::NoResult,
            }),
            Verdict::Busy => {
                let text = format!(
                    "{} is busy; try again in {pause} s; nothing was charged",
                    cell.platform.name
                );
                Err(NoAnswer {
                    fault: busy(text, pause),
                    outcome: Outcome::UpstreamFailed,
                })
            }
            Verdict::Account(_) => {
                self.account_refused(live, credential, status);
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
    fn account_refused(&self, live: &Live, credential: &LiveCredential, status: StatusCode) {
        if credential.pause() {
            tracing::error!(
                channel.name = live.row.name,
                status = status.as_u16(),
                "a data source refuses a credential"
            );
            remember_pause(self, credential, status);
        }
    }

    /// The source has retired the path: the cell is taken off the counter until somebody has looked.
    fn pause_gone(&self, cell: &Cell) {
        let (gateway, reason) = (
            self.clone(),
            "the data source does not have this path any more",
        );
        let platform = cell.platform.key.clone();
        let capability = cell.capability.word();
        tracing::error!(social.model = cell.model, reason, "a cell is paused");
        self.inner.tasks.spawn(async move {
            let written = async {
                let mut tx = gateway.inner.data.begin().await?;
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

pub(super) fn busy(text: String, seconds: u64) -> Fault {
    let mut fault = Fault::new(Kind::SocialCapacity, text).with("reason", "busy");
    fault.retry_after = Some(seconds);
    fault
}

fn unanswered(error: &SendError) -> NoAnswer {
    let outcome = match error {
        SendError::Silent => Outcome::UpstreamTimeout,
        SendError::NotSent(_) | SendError::Broken(_) => Outcome::UpstreamFailed,
    };
    NoAnswer {
        fault: Fault::new(
            Kind::UpstreamFailed,
            "the data source did not answer; nothing was charged",
        ),
        outcome,
    }
}

/// Every channel has as many calls as it takes.
fn no_place(platform: &str, seconds: u64) -> NoAnswer {
    let text =
        format!("{platform} is asked too much; try again in {seconds} s; nothing was charged");
    NoAnswer {
        fault: busy(text, seconds),
        outcome: Outcome::UpstreamFailed,
    }
}

/// The word is for the log alone: nothing of the source is told.
fn failed(why: &'static str) -> NoAnswer {
    tracing::warn!(why, "a data source answered without data");
    NoAnswer {
        fault: Fault::new(
            Kind::UpstreamFailed,
            "the data source answered without data; nothing was charged",
        ),
        outcome: Outcome::UpstreamFailed,
    }
}
