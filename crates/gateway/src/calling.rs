//! One chat call, from money to answer. The order of the steps is this page. It runs in a task of its
//! own, because a client that leaves drops its handler, and what a call owns must outlive that.

mod relay;
mod streaming;
mod whole;

use std::borrow::Cow;
use std::sync::Arc;

use tokio::sync::oneshot;
use trunkline_ledger::{Detail, Outcome};
use trunkline_terms::{Money, Side, Usage};
use trunkline_upstream::BodyError;
use trunkline_wire::openai_chat::Told;

use crate::admitted::Admitted;
use crate::asking::{NoAnswer, ask};
use crate::fault::{Fault, Kind};
use crate::gateway::Gateway;
use crate::quoted::{Price, Quoted};
use crate::reply::Answered;
use crate::roster::Live;
use crate::scrub::without_secrets;
use crate::story::Story;

/// Where the head of the answer goes.
pub(crate) type Head = oneshot::Sender<Result<Answered, Fault>>;

/// Admits, asks, relays, meters and settles one call.
pub(crate) async fn call(gateway: Gateway, mut quoted: Quoted, story: Arc<Story>, mut head: Head) {
    // Money first: nothing is sent to anybody without it.
    let admitted = match Admitted::hold(&gateway, &mut quoted).await {
        Ok(admitted) => admitted,
        Err(fault) => return tell(head, Err(fault)),
    };
    // Then an upstream. A caller who leaves meanwhile is not waited for; dropping the question closes
    // its connection, and with it the upstream's work.
    let asked = tokio::select! {
        asked = ask(&gateway, &quoted, &story) => Some(asked),
        () = head.closed() => None,
    };
    let (live, answer) = match asked {
        Some(Ok(answered)) => answered,
        Some(Err(NoAnswer { fault, outcome })) => {
            // Let go before the caller is told that nothing was charged.
            admitted.void(nothing(&story, outcome)).await;
            story.ended(outcome, None, (0, 0));
            return tell(head, Err(fault));
        }
        None => {
            admitted.void(nothing(&story, Outcome::Cancelled)).await;
            return story.ended(Outcome::Cancelled, None, (0, 0));
        }
    };
    // Then the answer; each way meters and settles before its last byte leaves.
    let call = Call {
        gateway,
        quoted,
        admitted,
        live,
        story,
    };
    if call.quoted.request.stream {
        // In a box: a stream needs more room than a whole answer, and lives long.
        Box::pin(call.stream(answer, head)).await;
    } else {
        call.whole(answer, head).await;
    }
}

/// A call that an upstream is answering.
struct Call {
    gateway: Gateway,
    quoted: Quoted,
    admitted: Admitted,
    live: Arc<Live>,
    story: Arc<Story>,
}

/// Usage with its price and where it came from.
struct Metered {
    usage: Usage,
    price: Price,
    estimated: bool,
}

// === impl Call ===

impl Call {
    /// Prices what the upstream told, or what we counted where it told nothing.
    fn meter(&self, told: Option<Usage>, counted: Usage) -> Result<Metered, Fault> {
        let estimated = told.is_none();
        let usage = told.unwrap_or(counted);
        let price = self.quoted.exact(&usage)?;
        Ok(Metered {
            usage,
            price,
            estimated,
        })
    }

    /// Charges what was metered. Returns what was charged.
    async fn settle(self, metered: Metered, outcome: Outcome) -> Result<Money, Fault> {
        let upstream_model = self.live.upstream_model(&self.quoted.request.model);
        let cost = self.live.cost.as_ref();
        let cost = cost.and_then(|book| book.cost_usd(upstream_model, &metered.price.units));
        let detail = Detail {
            units: metered.price.units,
            measured: metered.usage,
            estimated: metered.estimated,
            tier: Some(metered.price.tier),
            cost,
            attempts: self.story.attempts_json(),
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
        let settled = self.admitted.settle(metered.price.amount, detail).await;
        let charged = settled.as_ref().ok().copied();
        // What was not charged in time is written off by the ledger.
        let outcome = charged.map_or(Outcome::DatabaseAway, |_| outcome);
        self.story.ended(outcome, charged, tokens);
        settled
    }

    /// Lets the money go.
    async fn void(self, outcome: Outcome) {
        self.admitted.void(nothing(&self.story, outcome)).await;
        self.story.ended(outcome, None, (0, 0));
    }

    /// The answer that had begun did not end as one.
    fn upstream_failed(&self) {
        self.live.failed(self.gateway.inner.now());
        self.story
            .tried(|attempt| attempt.error = Some("broke_off"));
    }

    /// Notes what the answer says about itself, for the trace alone.
    fn note_told(&self, told: Told) {
        let roster = self.gateway.inner.roster.get();
        let model = without_secrets(&told.model, roster.secrets());
        self.story.told(model, told.finishes);
    }

    /// The public name, where the upstream's is another.
    fn rename(&self) -> Option<String> {
        let public = &self.quoted.request.model;
        (self.live.upstream_model(public) != public).then(|| public.clone())
    }
}

fn nothing(story: &Story, outcome: Outcome) -> Detail {
    Detail {
        attempts: story.attempts_json(),
        ..Detail::nothing(outcome)
    }
}

/// What an upstream that broke off is called.
const FAILED: (Kind, Outcome) = (Kind::UpstreamFailed, Outcome::UpstreamFailed);

/// What the caller and the usage row call a body that did not end well.
const fn fault_of(error: &BodyError) -> (Kind, Outcome) {
    match error {
        BodyError::Stalled => (Kind::UpstreamTimeout, Outcome::UpstreamTimeout),
        BodyError::Broken(_) | BodyError::TooLarge(_) => FAILED,
    }
}

/// Whoever has left needs no answer; what they owned is let go elsewhere.
fn tell(head: Head, answer: Result<Answered, Fault>) {
    drop(head.send(answer));
}
