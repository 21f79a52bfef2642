//! Answers that come in one piece: read, metered, charged, then handed over.

use std::sync::Arc;

use http::StatusCode;
use tokio::time::Instant;
use trunkline_ledger::Outcome;
use trunkline_upstream::Answer;
use trunkline_wire::openai_chat::{
    AnswerError, UpstreamError, read_answer, read_told, rename_model,
};

use super::{Call, Head, fault_of, tell};
use crate::asking::blamed;
use crate::fault::{Fault, Kind};
use crate::reply::{self, InLedger, set_cost, set_ending, set_warnings};

impl Call {
    pub(super) async fn whole(self, mut answer: Answer, mut head: Head) {
        let most = self.gateway.inner.settings.max_answer_bytes;
        let read = tokio::select! {
            read = answer.whole(most) => read,
            () = head.closed() => {
                drop(answer);
                return self.void(Outcome::Cancelled).await;
            }
        };
        self.story.upstream_ended();
        let body = match read {
            Ok(body) => body,
            Err(error) => {
                self.upstream_failed();
                let (kind, outcome) = fault_of(&error);
                self.void(outcome).await;
                return tell(head, Err(broke_off(kind)));
            }
        };
        let read = match read_answer(&body) {
            Ok(read) => read,
            Err(AnswerError::Failed(said)) => return self.failed_inside(head, Some(&said)).await,
            Err(AnswerError::Garbage) => return self.failed_inside(head, None).await,
        };
        self.live.went_well();
        if self.story.is_traced() {
            self.note_told(read_told(&body));
        }
        let counted = self.quoted.estimate(None, read.written);
        let metered = match self.meter(read.usage, counted) {
            Ok(metered) => metered,
            Err(fault) => {
                self.void(Outcome::UpstreamFailed).await;
                return tell(head, Err(fault));
            }
        };
        let public = self.rename();
        let body = public
            .and_then(|name| rename_model(&body, &name))
            .unwrap_or(body);
        let mut call = self;
        if metered.estimated {
            call.quoted.later.push("usage_estimated");
        }
        let warnings = call.quoted.warnings();
        let model = Arc::clone(&call.quoted.sale.model);
        let reserving = call.admitted.waited;
        let began = Instant::now();
        match call.settle(metered, Outcome::Complete).await {
            Ok(charged) => {
                let in_ledger = InLedger(reserving.saturating_add(began.elapsed()));
                let mut answer = reply::bytes_of(StatusCode::OK, body, "application/json");
                set_cost(answer.headers_mut(), charged);
                set_warnings(answer.headers_mut(), &warnings);
                set_ending(answer.headers_mut(), model.entry());
                answer.extensions_mut().insert(in_ledger);
                tell(head, Ok(answer));
            }
            Err(fault) => tell(head, Err(fault)),
        }
    }
}

impl Call {
    /// A good status, and no answer behind it.
    async fn failed_inside(self, head: Head, said: Option<&UpstreamError>) {
        if let Some(fault) = said.and_then(|said| blamed(&self.gateway, said)) {
            self.void(Outcome::Refused).await;
            return tell(head, Err(fault));
        }
        self.upstream_failed();
        self.void(Outcome::UpstreamFailed).await;
        tell(head, Err(broke_off(Kind::UpstreamFailed)));
    }
}

fn broke_off(kind: Kind) -> Fault {
    Fault::new(
        kind,
        "the upstream broke off before its answer was whole; nothing was charged",
    )
}
