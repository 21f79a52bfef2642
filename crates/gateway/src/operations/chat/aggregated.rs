//! Whole answers that are assembled from a stream: where a small balance would cut an answer to what a tenth of
//! it pays for, money is held as the answer grows instead.

use std::sync::Arc;

use bytes::Bytes;
use trunkline_ledger::Outcome;
use trunkline_upstream::UpstreamResponse;
use trunkline_wire::{Ending, Frames};

use super::buffered::BROKE_OFF;
use super::execution::{AnswerUsage, Answering, ChatRelayed, failed};
use super::relay::{End, Relay};
use crate::error::ErrorCode;
use crate::failover::Exhausted;
use crate::operation::RelayEnd;
use crate::response::Responder;

impl Answering<'_> {
    pub(super) async fn aggregate(
        mut self,
        mut answer: UpstreamResponse,
        early: Vec<Bytes>,
        mut responder: Responder,
    ) -> RelayEnd<ChatRelayed> {
        let mut relay = self.open_relay(None, &answer);
        let outlives = self.quoted.call.idempotency.is_some();
        let context = Arc::clone(self.context);
        let read = tokio::select! {
            read = self.read_stream(&mut answer, early, &mut relay) => read,
            () = context.client_gone(&mut responder), if !outlives => Ok(End::ClientGone),
        };
        // Whatever the upstream would still do is not wanted any more.
        drop(answer);
        self.context.upstream_ended();
        let assembled = match read {
            // As with every whole answer: nothing of it was delivered.
            Ok(End::ClientGone) => return RelayEnd::ClientGone,
            Ok(end) => self.assembled(relay, end),
            Err(exhausted) => Err(Box::new(exhausted)),
        };
        match assembled {
            Ok((body, cut_usage)) => self.received(body, cut_usage, responder),
            Err(exhausted) => RelayEnd::Failed(ChatRelayed::Unsent(responder), *exhausted),
        }
    }

    /// Reads the stream to its end, or as far as there is money.
    async fn read_stream(
        &mut self,
        answer: &mut UpstreamResponse,
        early: Vec<Bytes>,
        relay: &mut Relay,
    ) -> Result<End, Exhausted> {
        let mut frames = Frames::default();
        early.iter().for_each(|piece| frames.push(piece));
        match self.first(answer, &mut frames, relay, None).await? {
            None => Ok(End::ClientGone),
            first @ Some(_) => Ok(self.relay(answer, &mut frames, first, relay).await),
        }
    }

    /// The whole answer, and its usage if the money ended before it did.
    fn assembled(
        &self,
        mut relay: Relay,
        end: End,
    ) -> Result<(Bytes, Option<AnswerUsage>), Box<Exhausted>> {
        self.note_end(&mut relay, &end);
        let outcome = self.outcome_of(end)?;
        let is_cut = outcome == Outcome::BalanceExhausted;
        let ending = if is_cut {
            Ending::Length
        } else {
            Ending::Upstream
        };
        let Some(body) = relay.follow.assembled(ending) else {
            self.upstream_failed();
            let (code, outcome) = (ErrorCode::UpstreamFailed, Outcome::UpstreamFailed);
            return Err(Box::new(failed(code, outcome, BROKE_OFF)));
        };
        let cut_usage = is_cut.then(|| self.quoted.stream_usage(&relay, outcome));
        Ok((body, cut_usage))
    }
}
