//! One chat call, from money to answer. The order of the steps is this page. It runs in a task of its
//! own, because a client that leaves drops its handler, and what a call owns must outlive that.

mod relay;
mod streaming;
mod whole;

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use trunkline_ledger::{Detail, Outcome};
use trunkline_terms::{Money, Side, Usage};

use crate::admitted::Admitted;
use crate::asking::{Attempt, NoAnswer, ask};
use crate::fault::Fault;
use crate::gateway::{CallLine, Gateway};
use crate::quoted::{Price, Quoted};
use crate::reply::Answered;
use crate::roster::Live;

/// Where the head of the answer goes.
pub(crate) type Head = oneshot::Sender<Result<Answered, Fault>>;

/// Admits, asks, relays, meters and settles one call.
pub(crate) async fn call(gateway: Gateway, mut quoted: Quoted, mut head: Head) {
    // Money first: nothing is sent to anybody without it.
    let admitted = match Admitted::hold(&gateway, &mut quoted).await {
        Ok(admitted) => admitted,
        Err(fault) => return tell(head, Err(fault)),
    };
    // Then an upstream. A caller who leaves meanwhile is not waited for; dropping the question closes
    // its connection, and with it the upstream's work.
    let mut attempts = Vec::new();
    let asked = tokio::select! {
        asked = ask(&gateway, &quoted, &mut attempts) => Some(asked),
        () = head.closed() => None,
    };
    let (live, answer) = match asked {
        Some(Ok(answered)) => answered,
        Some(Err(NoAnswer { fault, outcome })) => {
            // Let go before the caller is told that nothing was charged.
            admitted.void(nothing(&attempts, outcome)).await;
            gateway.inner.tell(free(&quoted, outcome));
            return tell(head, Err(fault));
        }
        None => return admitted.void(nothing(&attempts, Outcome::Cancelled)).await,
    };
    // Then the answer; each way meters and settles before its last byte leaves.
    let call = Call {
        gateway,
        quoted,
        admitted,
        live,
        attempts,
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
    attempts: Vec<Attempt>,
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
        let upstream_model = self.upstream_model();
        let cost = self.live.cost.as_ref();
        let cost = cost.and_then(|book| book.cost_usd(&upstream_model, &metered.price.units));
        let detail = Detail {
            units: metered.price.units,
            measured: metered.usage,
            estimated: metered.estimated,
            tier: Some(metered.price.tier),
            cost,
            attempts: attempts_json(&self.attempts),
            warnings: self
                .quoted
                .warnings
                .iter()
                .map(|code| (*code).to_owned())
                .collect(),
            outcome,
        };
        let side = |side| detail.units.total_of(side);
        let tokens = (side(Side::Input), side(Side::Output));
        let line = CallLine {
            request: self.quoted.id,
            model: self.quoted.request.model.clone(),
            outcome,
            charged: None,
            tokens,
        };
        let settled = self.admitted.settle(metered.price.amount, detail).await;
        let charged = settled.as_ref().ok().copied();
        self.gateway.inner.tell(CallLine { charged, ..line });
        settled
    }

    /// Lets the money go.
    async fn void(self, outcome: Outcome) {
        let line = free(&self.quoted, outcome);
        self.admitted.void(nothing(&self.attempts, outcome)).await;
        self.gateway.inner.tell(line);
    }

    /// The upstream's name of the model.
    fn upstream_model(&self) -> String {
        let public = &self.quoted.request.model;
        let name = self.live.row.models.get(public);
        name.unwrap_or(public).clone()
    }

    /// The public name, where the upstream's is another.
    fn rename(&self) -> Option<String> {
        let public = &self.quoted.request.model;
        (self.upstream_model() != *public).then(|| public.clone())
    }
}

/// A call that cost nothing.
fn free(quoted: &Quoted, outcome: Outcome) -> CallLine {
    CallLine {
        request: quoted.id,
        model: quoted.request.model.clone(),
        outcome,
        charged: None,
        tokens: (0, 0),
    }
}

fn nothing(attempts: &[Attempt], outcome: Outcome) -> Detail {
    Detail {
        attempts: attempts_json(attempts),
        ..Detail::nothing(outcome)
    }
}

fn attempts_json(attempts: &[Attempt]) -> Value {
    serde_json::to_value(attempts).unwrap_or_else(|_| Value::Array(Vec::new()))
}

/// Whoever has left needs no answer; what they owned is let go elsewhere.
fn tell(head: Head, answer: Result<Answered, Fault>) {
    drop(head.send(answer));
}
