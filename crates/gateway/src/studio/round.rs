//! Vendors asked one after the other, by the failover table: what was not sent or was refused for want of
//! room goes to another channel; what left and was not answered goes to another one only where asking
//! twice does not make twice.

use std::sync::Arc;
use std::vec;

use http::StatusCode;
use trunkline_catalog::Refusal;
use trunkline_ledger::Outcome;
use trunkline_studio::{Trouble, Written};
use trunkline_upstream::SendError;

use super::priced::Priced;
use crate::asking::{Attempt, DEFAULT_COOL_SECONDS, NoAnswer, Why, nobody, remember_pause, word};
use crate::fault::{Fault, refused};
use crate::gateway::Gateway;
use crate::limiting::{Full, Load};
use crate::roster::{Live, LiveCredential, seed_of_id};
use crate::story::Story;

impl Gateway {
    /// The limits of a call that makes something.
    pub(super) async fn limit_made(&self, story: &Story, priced: &Priced) -> Result<(), Fault> {
        let load = Load::Model(&priced.model, None);
        self.limit(story, &priced.caller, load).await
    }
}

/// One call's way through the channels.
pub(super) struct Round<'a> {
    gateway: &'a Gateway,
    story: &'a Story,
    model: &'a str,
    left: vec::IntoIter<Arc<Live>>,
    seed: u64,
    /// Whether what left may be asked of somebody else.
    repeats: bool,
    worst: Option<Why>,
    unsaid: Option<Fault>,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        gateway: &'a Gateway,
        priced: &'a Priced,
        story: &'a Story,
        repeats: bool,
    ) -> Self {
        let inner = &gateway.inner;
        let seed = seed_of_id(priced.id);
        let (now, group) = (inner.now(), &priced.sale.group);
        let mut order = inner.roster.get().order(&priced.model, group, now, seed);
        order.retain(|live| live.provider.serves(priced.endpoint));
        order.retain(|live| priced.caller.may_be_served_in(live.row.region.as_deref()));
        order.truncate(inner.settings.max_attempts);
        Self {
            gateway,
            story,
            model: &priced.model,
            left: order.into_iter(),
            seed,
            repeats,
            worst: None,
            unsaid: None,
        }
    }

    /// The next channel.
    pub(super) fn next(&mut self) -> Option<Arc<Live>> {
        self.left.next()
    }

    /// The credential to ask a channel with.
    pub(super) fn credential<'l>(&self, live: &'l Live) -> Option<&'l LiveCredential> {
        live.credential(self.gateway.inner.now(), self.seed)
    }

    /// What a channel is sent; none if it cannot be told what was asked, or in strict mode not all of
    /// it. Another one may.
    pub(super) fn sayable(
        &mut self,
        priced: &Priced,
        written: Result<Written, Refusal>,
    ) -> Option<Written> {
        let fault = match written {
            Ok(written) => match priced.unsaid(&written.notes) {
                None => return Some(written),
                Some(fault) => fault,
            },
            Err(refusal) => refused(refusal),
        };
        self.unsaid.get_or_insert(fault);
        None
    }

    /// Whether a channel has a place for one more call. One that has none is passed over, and asked about
    /// only by those who find nobody else.
    pub(super) async fn sits(&mut self, live: &Live) -> bool {
        match self.gateway.seat(live).await {
            Ok(seat) => {
                self.story.sits(seat);
                true
            }
            Err(Full(seconds)) => {
                self.worst.get_or_insert(Why::Limited(seconds));
                false
            }
        }
    }

    /// A channel is asked.
    pub(super) fn begins(&self, live: &Arc<Live>) {
        let attempt = Attempt::begin(Arc::clone(live), self.story.elapsed());
        self.story.tries(attempt);
    }

    /// The head of its answer is there, or none will be.
    pub(super) fn heard(&self, status: Option<u16>, error: Option<&'static str>) {
        let now = self.story.elapsed();
        self.story
            .tried(|attempt| attempt.answered(status, error, now));
    }

    /// There is no answer. Some if nobody else may be asked.
    pub(super) fn lost(&mut self, live: &Live, error: &SendError) -> Option<NoAnswer> {
        self.heard(None, Some(word(error)));
        live.failed(self.gateway.inner.now());
        self.worst = Some(match error {
            SendError::NotSent(_) | SendError::Broken(_) => Why::Failed,
            SendError::Silent => Why::Silent,
        });
        let left = !matches!(error, SendError::NotSent(_));
        (left && !self.repeats).then(|| self.unknown())
    }

    /// The answer brought nothing. Some if nobody else may be asked.
    pub(super) fn troubled(
        &mut self,
        (live, credential): (&Live, &LiveCredential),
        trouble: Trouble,
    ) -> Option<NoAnswer> {
        let now = self.gateway.inner.now();
        match trouble {
            Trouble::Refused(complaint) => Some(NoAnswer {
                fault: self.gateway.complained(&complaint),
                outcome: Outcome::Refused,
            }),
            Trouble::Limited { retry_after } => {
                let seconds = retry_after.unwrap_or(DEFAULT_COOL_SECONDS);
                credential.cool(now, seconds);
                self.worst = Some(Why::Limited(seconds));
                None
            }
            Trouble::Credential(complaint) => {
                if credential.pause() {
                    let name = &live.row.name;
                    tracing::error!(
                        channel.name = name,
                        status = complaint.status,
                        "an upstream refuses a credential"
                    );
                    let status = StatusCode::from_u16(complaint.status);
                    let status = status.unwrap_or(StatusCode::FORBIDDEN);
                    remember_pause(self.gateway, credential, status);
                }
                self.worst = Some(Why::Failed);
                None
            }
            Trouble::Busy(_) => {
                live.failed(now);
                self.worst = Some(Why::Failed);
                None
            }
            Trouble::Failed(_) => {
                live.failed(now);
                self.worst = Some(Why::Failed);
                (!self.repeats).then(|| self.unknown())
            }
        }
    }

    /// Nobody is left.
    pub(super) fn nobody(self) -> NoAnswer {
        match (self.worst, self.unsaid) {
            (None, Some(fault)) => NoAnswer {
                fault,
                outcome: Outcome::Refused,
            },
            (worst, _) => nobody(self.model, worst),
        }
    }

    /// It left, and what became of it is not known: it is not sent again.
    fn unknown(&self) -> NoAnswer {
        let mut unknown = nobody(self.model, self.worst);
        let text = &unknown.fault.message;
        unknown.fault.message =
            format!("{text}; the upstream may have taken it, so it was not sent to another one");
        unknown
    }
}
