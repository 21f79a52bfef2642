//! A whole answer that was made: charged, handed over, and given back if nobody was there.

use bytes::Bytes;
use http::StatusCode;
use trunkline_ledger::Outcome;
use trunkline_terms::Usage;

use super::quote::{Priced, Sum};
use crate::calling::{Responder, tell};
use crate::channels::Channel;
use crate::idempotency::StoredResponse;
use crate::request_context::RequestContext;
use crate::reservation::Reservation;
use crate::response::{self, ResponseBody, set_cost, set_ending, set_warnings};
use crate::services::Services;

/// What was made.
pub(super) struct Whole {
    pub(super) sum: Sum,
    pub(super) measured: Usage,
    /// Shown in the log: what went in and what came out.
    pub(super) tokens: (u64, u64),
    pub(super) content_type: &'static str,
    pub(super) body: Bytes,
}

impl Services {
    /// Charges, and hands over.
    pub(super) async fn hand_over(
        &self,
        (priced, reservation): (&Priced, Reservation),
        (channel, context): (&Channel, &RequestContext),
        head: Responder,
        whole: Whole,
    ) {
        let tokens = whole.tokens;
        let from = (channel, context);
        let detail = priced.detail(from, &whole.sum, whole.measured, Outcome::Complete);
        let mut reservation = reservation;
        let amount = match &priced.named {
            Some(_) => reservation.certain(whole.sum.amount).await,
            None => whole.sum.amount,
        };
        let mut answer = response::bytes_of(StatusCode::OK, Bytes::new(), whole.content_type);
        set_cost(answer.headers_mut(), amount);
        set_warnings(answer.headers_mut(), &priced.warnings());
        set_ending(answer.headers_mut(), priced.sale.model.entry());
        let account = priced.caller.account.id;
        let kept = priced.named.as_ref().map(|named| {
            let mut record =
                StoredResponse::begin(self, account, (StatusCode::OK, answer.headers()));
            record.add(&whole.body);
            (named, record)
        });
        let lent = kept.as_ref().map(|(named, record)| (*named, record));
        let charged = match self.settle_kept(reservation, (amount, detail), lent).await {
            Ok(charged) => charged,
            Err(fault) => {
                context.ended(Outcome::DatabaseAway, None, tokens);
                return tell(head, Err(fault));
            }
        };
        set_cost(answer.headers_mut(), charged);
        // What is kept is there for whoever comes back: nothing of it is given back.
        if kept.is_some_and(|(_, record)| record.is_whole()) {
            *answer.body_mut() = ResponseBody::Whole(Some(whole.body));
            context.ended(Outcome::Complete, Some(charged), tokens);
            return tell(head, Ok(answer));
        }
        let to = (context, account);
        if self.deliver((head, answer), to, whole.body).await {
            context.ended(Outcome::Complete, Some(charged), tokens);
        } else {
            context.ended(Outcome::ClientGone, None, tokens);
        }
    }
}
