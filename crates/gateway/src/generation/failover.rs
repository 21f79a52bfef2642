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

use super::quote::Priced;
use crate::channels::{Channel, ChannelCredential, seed_of_id};
use crate::error::{ApiError, refused};
use crate::failover::{
    Attempt, DEFAULT_COOL_SECONDS, Exhausted, SkipReason, nobody, remember_pause, word,
};
use crate::rate_limit::{Load, Saturated};
use crate::request_context::RequestContext;
use crate::services::Services;

impl Services {
    /// The limits of a call that makes something.
    pub(super) async fn limit_made(
        &self,
        context: &RequestContext,
        priced: &Priced,
    ) -> Result<(), ApiError> {
        let load = Load::Model(&priced.model, None);
        self.limit(context, &priced.caller, load).await
    }
}

/// One call's way through the channels.
pub(super) struct Round<'a> {
    services: &'a Services,
    context: &'a RequestContext,
    model: &'a str,
    left: vec::IntoIter<Arc<Channel>>,
    seed: u64,
    /// Whether what left may be asked of somebody else.
    repeats: bool,
    worst: Option<SkipReason>,
    unsaid: Option<ApiError>,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        services: &'a Services,
        priced: &'a Priced,
        context: &'a RequestContext,
        repeats: bool,
    ) -> Self {
        let inner = &services.inner;
        let seed = seed_of_id(priced.id);
        let (now, group) = (inner.now(), &priced.sale.group);
        let mut order = inner.channels.get().order(&priced.model, group, now, seed);
        order.retain(|channel| channel.provider.serves(priced.endpoint));
        order.retain(|channel| {
            priced
                .caller
                .may_be_served_in(channel.row.region.as_deref())
        });
        order.truncate(inner.settings.max_attempts);
        Self {
            services,
            context,
            model: &priced.model,
            left: order.into_iter(),
            seed,
            repeats,
            worst: None,
            unsaid: None,
        }
    }

    /// The next channel.
    pub(super) fn next(&mut self) -> Option<Arc<Channel>> {
        self.left.next()
    }

    /// The credential to ask a channel with.
    pub(super) fn credential<'l>(&self, channel: &'l Channel) -> Option<&'l ChannelCredential> {
        channel.credential(self.services.inner.now(), self.seed)
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
    pub(super) async fn sits(&mut self, channel: &Channel) -> bool {
        match self.services.seat(channel).await {
            Ok(seat) => {
                self.context.sits(seat);
                true
            }
            Err(Saturated(seconds)) => {
                self.worst.get_or_insert(SkipReason::Limited(seconds));
                false
            }
        }
    }

    /// A channel is asked.
    pub(super) fn begins(&self, channel: &Arc<Channel>) {
        let attempt = Attempt::begin(Arc::clone(channel), self.context.elapsed());
        self.context.tries(attempt);
    }

    /// The head of its answer is there, or none will be.
    pub(super) fn heard(&self, status: Option<u16>, error: Option<&'static str>) {
        let now = self.context.elapsed();
        self.context
            .tried(|attempt| attempt.answered(status, error, now));
    }

    /// There is no answer. Some if nobody else may be asked.
    pub(super) fn lost(&mut self, channel: &Channel, error: &SendError) -> Option<Exhausted> {
        self.heard(None, Some(word(error)));
        channel.failed(self.services.inner.now());
        self.worst = Some(match error {
            SendError::NotSent(_) | SendError::Broken(_) => SkipReason::Failed,
            SendError::Silent => SkipReason::Silent,
        });
        let left = !matches!(error, SendError::NotSent(_));
        (left && !self.repeats).then(|| self.unknown())
    }

    /// The answer brought nothing. Some if nobody else may be asked.
    pub(super) fn troubled(
        &mut self,
        (channel, credential): (&Channel, &ChannelCredential),
        trouble: Trouble,
    ) -> Option<Exhausted> {
        let now = self.services.inner.now();
        match trouble {
            Trouble::Refused(complaint) => Some(Exhausted {
                fault: self.services.complained(&complaint),
                outcome: Outcome::Refused,
            }),
            Trouble::Limited { retry_after } => {
                let seconds = retry_after.unwrap_or(DEFAULT_COOL_SECONDS);
                credential.cool(now, seconds);
                self.worst = Some(SkipReason::Limited(seconds));
                None
            }
            Trouble::Credential(complaint) => {
                if credential.pause() {
                    let name = &channel.row.name;
                    tracing::error!(
                        channel.name = name,
                        status = complaint.status,
                        "an upstream refuses a credential"
                    );
                    let status = StatusCode::from_u16(complaint.status);
                    let status = status.unwrap_or(StatusCode::FORBIDDEN);
                    remember_pause(self.services, credential, status);
                }
                self.worst = Some(SkipReason::Failed);
                None
            }
            Trouble::Busy(_) => {
                channel.failed(now);
                self.worst = Some(SkipReason::Failed);
                None
            }
            Trouble::Failed(_) => {
                channel.failed(now);
                self.worst = Some(SkipReason::Failed);
                (!self.repeats).then(|| self.unknown())
            }
        }
    }

    /// Nobody is left.
    pub(super) fn nobody(self) -> Exhausted {
        match (self.worst, self.unsaid) {
            (None, Some(fault)) => Exhausted {
                fault,
                outcome: Outcome::Refused,
            },
            (worst, _) => nobody(self.model, worst),
        }
    }

    /// It left, and what became of it is not known: it is not sent again.
    fn unknown(&self) -> Exhausted {
        let mut unknown = nobody(self.model, self.worst);
        let text = &unknown.fault.message;
        unknown.fault.message =
            format!("{text}; the upstream may have taken it, so it was not sent to another one");
        unknown
    }
}
