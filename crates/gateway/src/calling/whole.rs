//! Answers that come in one piece: read, metered, charged, then handed over.

use bytes::Bytes;
use http::StatusCode;
use tokio::time::Instant;
use trunkline_ledger::Outcome;
use trunkline_upstream::Answer;
use trunkline_wire::canon::{Answer as Canon, Counted, Meter};
use trunkline_wire::openai_chat::read_told;
use trunkline_wire::{
    AnswerError, Format, UpstreamError, read_answer, read_whole, rewrite_whole, write_answer,
};

use super::{Call, Responder, fault_of, tell};
use crate::error::{ApiError, ErrorCode};
use crate::failover::blamed;
use crate::response::{self, LedgerLatency, set_cost, set_ending, set_warnings};

impl Call {
    pub(super) async fn whole(self, mut answer: Answer, mut head: Responder) {
        let most = self.services.inner.settings.max_answer_bytes;
        let read = tokio::select! {
            read = answer.whole(most) => read,
            () = head.closed(), if self.quoted.named.is_none() => {
                drop(answer);
                return self.void(Outcome::Cancelled).await;
            }
        };
        self.context.upstream_ended();
        let body = match read {
            Ok(body) => body,
            Err(error) => {
                self.upstream_failed();
                let (kind, outcome) = fault_of(&error);
                self.void(outcome).await;
                return tell(head, Err(broke_off(kind)));
            }
        };
        let said = match self.read(&body) {
            Ok(said) => said,
            Err(AnswerError::Failed(said)) => return self.failed_inside(head, Some(&said)).await,
            Err(AnswerError::Garbage) => return self.failed_inside(head, None).await,
        };
        self.channel.went_well();
        if self.context.is_traced() && self.to == Format::OpenaiChat {
            self.note_told(read_told(&body));
        }
        let (told, written) = match &said {
            Said::Duplicate {
                counted, written, ..
            } => (counted.clone(), *written),
            Said::Canon(answer) => (answer.counted.clone(), Meter::of_answer(answer).written()),
        };
        let counted = self.quoted.estimate(None, written);
        let mut metered = match self.meter(told, counted) {
            Ok(metered) => metered,
            Err(fault) => {
                self.void(Outcome::UpstreamFailed).await;
                return tell(head, Err(fault));
            }
        };
        let body = self.shown_body(said, body, &metered.counted);
        let mut call = self;
        if metered.estimated {
            call.quoted.later.push("usage_estimated");
        }
        let reserving = call.reservation.waited;
        let began = Instant::now();
        call.make_certain(&mut metered).await;
        let mut answer = response::bytes_of(StatusCode::OK, body.clone(), "application/json");
        let headers = answer.headers_mut();
        set_cost(headers, metered.price.amount);
        set_warnings(headers, &call.quoted.warnings());
        set_ending(headers, call.quoted.sale.model.entry());
        let mut record = call.record((StatusCode::OK, headers));
        record.iter_mut().for_each(|record| record.add(&body));
        match call.settle(metered, Outcome::Complete, record).await {
            Ok(charged) => {
                let in_ledger = LedgerLatency(reserving.saturating_add(began.elapsed()));
                set_cost(answer.headers_mut(), charged);
                answer.extensions_mut().insert(in_ledger);
                tell(head, Ok(answer));
            }
            Err(fault) => tell(head, Err(fault)),
        }
    }
}

/// What an answer says.
enum Said {
    /// In the caller's own format: only what money needs.
    Duplicate {
        counted: Option<Counted>,
        written: u64,
        id: String,
    },
    /// In another one: all of it.
    Canon(Canon),
}

impl Call {
    fn read(&self, body: &Bytes) -> Result<Said, AnswerError> {
        if self.is_same() {
            let whole = match self.quoted.endpoint.small {
                Some(kind) => kind.read_whole(body)?,
                None => read_whole(self.to, body)?,
            };
            let written = match (&whole.counted, self.quoted.endpoint.small) {
                (Some(_), _) | (None, Some(_)) => whole.written,
                // Nobody told what it used: its words are counted, as a stream's would be.
                (None, None) => read_answer(self.to, body)
                    .map_or(whole.written, |answer| Meter::of_answer(&answer).written()),
            };
            return Ok(Said::Duplicate {
                counted: whole.counted,
                written,
                id: whole.id,
            });
        }
        let answer = read_answer(self.to, body)?;
        Ok(Said::Canon(self.thread.restore(answer)))
    }

    /// The answer as the caller gets it.
    fn shown_body(&self, said: Said, body: Bytes, counted: &Counted) -> Bytes {
        match said {
            Said::Duplicate { id, .. } => {
                let mut rewrite = self.rewrite();
                rewrite.id = self.sealed_id(&id, self.quoted.request.facts.stores);
                rewrite_whole(self.to, &body, &rewrite).unwrap_or(body)
            }
            Said::Canon(mut answer) => {
                // Where nobody told, the caller sees what it pays for.
                answer.counted.get_or_insert_with(|| counted.clone());
                Bytes::from(write_answer(self.quoted.format(), &answer, &self.shown()))
            }
        }
    }

    /// A good status, and no answer behind it.
    async fn failed_inside(self, head: Responder, said: Option<&UpstreamError>) {
        if let Some(fault) = said.and_then(|said| blamed(&self.services, said)) {
            self.void(Outcome::Refused).await;
            return tell(head, Err(fault));
        }
        self.upstream_failed();
        self.void(Outcome::UpstreamFailed).await;
        tell(head, Err(broke_off(ErrorCode::UpstreamFailed)));
    }
}

fn broke_off(kind: ErrorCode) -> ApiError {
    ApiError::new(
        kind,
        "the upstream broke off before its answer was whole; nothing was charged",
    )
}
