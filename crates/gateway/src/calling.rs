//! One call, from money to answer. The order of the steps is this page. It runs in a task of its
//! own, because a client that leaves drops its handler, and what a call owns must outlive that.

mod follow;
mod relay;
mod streaming;
mod whole;

use std::borrow::Cow;
use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use tokio::sync::oneshot;
use trunkline_ledger::{Detail, Outcome};
use trunkline_terms::{Money, Side, Usage};
use trunkline_upstream::BodyError;
use trunkline_wire::canon::{Counted, Thread};
use trunkline_wire::openai_chat::Told;
use trunkline_wire::{Format, Rewrite, Shown};

use crate::channels::Channel;
use crate::error::{ApiError, ErrorCode};
use crate::failover::{Accepted_, Exhausted, ask};
use crate::idempotency::StoredResponse;
use crate::outbound::told;
use crate::quote::{Price, Quoted};
use crate::request_context::RequestContext;
use crate::reservation::Reservation;
use crate::response::Response;
use crate::response_id::{Kept, PREFIX};
use crate::scrub::without_secrets;
use crate::services::Services;

pub(crate) use self::relay::next_frame;

/// Where the head of the answer goes.
pub(crate) type Responder = oneshot::Sender<Result<Response, ApiError>>;

/// Admits, asks, relays, meters and settles one call.
pub(crate) async fn call(
    services: Services,
    mut quoted: Quoted,
    context: Arc<RequestContext>,
    mut head: Responder,
) {
    // Money first: nothing is sent to anybody without it.
    let reservation = match Reservation::hold(&services, &mut quoted).await {
        Ok(reservation) => reservation,
        Err(fault) => return tell(head, Err(fault)),
    };
    // Then an upstream. A caller who leaves meanwhile is not waited for; dropping the question closes
    // its connection, and with it the upstream's work. A call with a name outlives its caller.
    let outlives = quoted.named.is_some();
    let asked = tokio::select! {
        asked = ask(&services, &quoted, &context) => Some(asked),
        () = left(&context, &mut head), if !outlives => None,
    };
    let answering = match asked {
        Some(Ok(answering)) => answering,
        Some(Err(Exhausted { fault, outcome })) => {
            // Let go before the caller is told that nothing was charged.
            reservation.void(nothing(&context, outcome)).await;
            context.ended(outcome, None, (0, 0));
            return tell(head, Err(fault));
        }
        None => {
            reservation
                .void(nothing(&context, Outcome::Cancelled))
                .await;
            return context.ended(Outcome::Cancelled, None, (0, 0));
        }
    };
    // Then the answer; each way meters and settles before its last byte leaves.
    let Accepted_ {
        channel,
        credential,
        answer,
        early,
        to,
        thread,
        notes,
    } = answering;
    notes
        .all()
        .iter()
        .for_each(|note| quoted.report.say(told(note)));
    let call = Call {
        services,
        quoted,
        reservation,
        channel,
        credential,
        to,
        thread,
        context,
    };
    if call.quoted.request.facts.stream {
        // In a box: a stream needs more room than a whole answer, and lives long.
        Box::pin(call.stream(answer, early, head)).await;
    } else {
        call.whole(answer, head).await;
    }
}

/// A call that an upstream is answering.
struct Call {
    services: Services,
    quoted: Quoted,
    reservation: Reservation,
    channel: Arc<Channel>,
    /// The number of the credential that was used.
    credential: i64,
    /// What the upstream speaks.
    to: Format,
    /// What its answer needs to be understood.
    thread: Thread,
    context: Arc<RequestContext>,
}

/// Usage with its price and where it came from.
struct Metered {
    counted: Counted,
    price: Price,
    estimated: bool,
}

// === impl Call ===

impl Call {
    /// Prices what the upstream told, or what we counted where it told nothing.
    fn meter(&self, told: Option<Counted>, counted: Usage) -> Result<Metered, ApiError> {
        let estimated = told.is_none();
        let counted = told.unwrap_or(Counted {
            usage: counted,
            reasoning: None,
        });
        let price = self.quoted.exact(&counted.usage)?;
        Ok(Metered {
            counted,
            price,
            estimated,
        })
    }

    /// Makes sure of what will be charged, if the answer is kept: it says so before the charge.
    async fn make_certain(&mut self, metered: &mut Metered) {
        if self.quoted.named.is_some() {
            let used = metered.price.amount;
            metered.price.amount = self.reservation.certain(used).await;
        }
    }

    /// Where the answer is kept, if it is.
    fn record(&self, (status, headers): (StatusCode, &HeaderMap)) -> Option<StoredResponse> {
        self.quoted.named.as_ref()?;
        let account = self.quoted.caller.account.id;
        Some(StoredResponse::begin(
            &self.services,
            account,
            (status, headers),
        ))
    }

    /// Charges what was metered, once its answer is kept if it has a name. Returns what was charged.
    async fn settle(
        self,
        metered: Metered,
        outcome: Outcome,
        record: Option<StoredResponse>,
    ) -> Result<Money, ApiError> {
        let upstream_model = self.channel.upstream_model(self.quoted.request.model());
        let cost = self.channel.cost.as_ref();
        let cost = cost.and_then(|book| book.cost_usd(upstream_model, &metered.price.units));
        let detail = Detail {
            units: metered.price.units,
            measured: metered.counted.usage,
            estimated: metered.estimated,
            tier: Some(metered.price.tier),
            cost,
            attempts: self.context.attempts_json(),
            warnings: self
                .quoted
                .warnings()
                .into_iter()
                .map(Cow::into_owned)
                .collect(),
            outcome,
        };
        let side = |side| detail.units.total_of(side);
        let tokens = (side(Side::Input), side(Side::Output));
        let price = (metered.price.amount, detail);
        let kept = self.quoted.named.as_ref().zip(record.as_ref());
        let settled = self
            .services
            .settle_kept(self.reservation, price, kept)
            .await;
        let charged = settled.as_ref().ok().copied();
        // What was not charged in time is written off by the ledger.
        let outcome = charged.map_or(Outcome::DatabaseAway, |_| outcome);
        self.context.ended(outcome, charged, tokens);
        settled
    }

    /// Lets the money go.
    async fn void(self, outcome: Outcome) {
        self.reservation.void(nothing(&self.context, outcome)).await;
        self.context.ended(outcome, None, (0, 0));
    }

    /// The answer that had begun did not end as one.
    fn upstream_failed(&self) {
        self.channel.failed(self.services.inner.now());
        self.context
            .tried(|attempt| attempt.error = Some("broke_off"));
    }

    /// Notes what the answer says about itself, for the trace alone.
    fn note_told(&self, told: Told) {
        let secrets = self.services.inner.channels.get().secrets();
        let model = without_secrets(&told.model, &secrets);
        self.context.told(model, told.finishes);
    }

    /// Whether the upstream speaks the caller's format.
    fn is_same(&self) -> bool {
        self.to == self.quoted.format()
    }

    /// What is changed in an answer of the caller's own format. The id is known when the upstream's is.
    fn rewrite(&self) -> Rewrite {
        let request = &self.quoted.request;
        let shown = request.asked_model();
        let renamed = self.channel.upstream_model(request.model()) != shown;
        Rewrite {
            model: renamed.then(|| shown.to_owned()),
            id: None,
            previous: self.quoted.request.facts.previous.clone(),
            channel: Some(self.channel.mark.clone()),
        }
    }

    /// The id that the caller gets for an answer, in the format that can be continued by it.
    fn sealed_id(&self, upstream: &str, stored: bool) -> Option<String> {
        if self.quoted.format() != Format::OpenaiResponses {
            return None;
        }
        let kept = Kept {
            channel: self.channel.row.id.number(),
            credential: self.credential,
            upstream: upstream.to_owned(),
            minted: self.services.inner.now().seconds(),
            // What it was given and the longest answer to that.
            tokens: self
                .quoted
                .most_input()
                .saturating_add(self.quoted.most_output()),
            stored,
        };
        let account = self.quoted.caller.account.id;
        self.services.seal_response(account, &kept)
    }

    /// What an answer that is translated is written with.
    fn shown(&self) -> Shown {
        let request = self.quoted.id.to_string();
        let sealed = self.sealed_id(&request, false);
        let id = sealed.as_deref().and_then(|id| id.strip_prefix(PREFIX));
        let asked = match self.quoted.format() {
            Format::OpenaiResponses => serde_json::from_slice(self.quoted.request.body()).ok(),
            Format::OpenaiChat | Format::ClaudeMessages | Format::Gemini => None,
        };
        Shown {
            model: self.quoted.request.asked_model().to_owned(),
            id: id.unwrap_or(&request).to_owned(),
            created: self.services.inner.now().seconds(),
            wants_usage: self.quoted.request.facts.wants_usage,
            channel: Some(self.channel.mark.clone()),
            asked,
        }
    }
}

pub(crate) fn nothing(context: &RequestContext, outcome: Outcome) -> Detail {
    Detail {
        attempts: context.attempts_json(),
        ..Detail::nothing(outcome)
    }
}

/// What an upstream that broke off is called.
const FAILED: (ErrorCode, Outcome) = (ErrorCode::UpstreamFailed, Outcome::UpstreamFailed);

/// What the caller and the usage row call a body that did not end well.
const fn fault_of(error: &BodyError) -> (ErrorCode, Outcome) {
    match error {
        BodyError::Stalled => (ErrorCode::UpstreamTimeout, Outcome::UpstreamTimeout),
        BodyError::Broken(_) | BodyError::TooLarge(_) => FAILED,
    }
}

/// Waits until the caller has left: its handler is gone, or its connection was reset.
pub(crate) async fn left(context: &RequestContext, head: &mut Responder) {
    tokio::select! {
        () = head.closed() => {}
        () = context.watch.gone() => {}
    }
}

/// Whoever has left needs no answer; what they owned is let go elsewhere.
pub(crate) fn tell(head: Responder, answer: Result<Response, ApiError>) {
    drop(head.send(answer));
}
