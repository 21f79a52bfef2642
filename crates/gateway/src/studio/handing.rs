//! A whole answer that was made: charged, handed over, and given back if nobody was there.

use bytes::Bytes;
use http::StatusCode;
use trunkline_ledger::Outcome;
use trunkline_terms::Usage;

use super::priced::{Priced, Sum};
use crate::admitted::Admitted;
use crate::again::Record;
use crate::calling::{Head, tell};
use crate::gateway::Gateway;
use crate::reply::{self, Reply, set_cost, set_ending, set_warnings};
use crate::roster::Live;
use crate::story::Story;

/// What was made.
pub(super) struct Whole {
    pub(super) sum: Sum,
    pub(super) measured: Usage,
    /// Shown in the log: what went in and what came out.
    pub(super) tokens: (u64, u64),
    pub(super) content_type: &'static str,
    pub(super) body: Bytes,
}

impl Gateway {
    /// Charges, and hands over.
    pub(super) async fn hand_over(
        &self,
        (priced, admitted): (&Priced, Admitted),
        (live, story): (&Live, &Story),
        head: Head,
        whole: Whole,
    ) {
        let tokens = whole.tokens;
        let from = (live, story);
        let detail = priced.detail(from, &whole.sum, whole.measured, Outcome::Complete);
        let mut admitted = admitted;
        let amount = match &priced.named {
            Some(_) => admitted.certain(whole.sum.amount).await,
            None => whole.sum.amount,
        };
        let mut answer = reply::bytes_of(StatusCode::OK, Bytes::new(), whole.content_type);
        set_cost(answer.headers_mut(), amount);
        set_warnings(answer.headers_mut(), &priced.warnings());
        set_ending(answer.headers_mut(), priced.sale.model.entry());
        let account = priced.caller.account.id;
        let kept = priced.named.as_ref().map(|named| {
            let mut record = Record::begin(self, account, (StatusCode::OK, answer.headers()));
            record.add(&whole.body);
            (named, record)
        });
        let lent = kept.as_ref().map(|(named, record)| (*named, record));
        let charged = match self.settle_kept(admitted, (amount, detail), lent).await {
            Ok(charged) => charged,
            Err(fault) => {
                story.ended(Outcome::DatabaseAway, None, tokens);
                return tell(head, Err(fault));
            }
        };
        set_cost(answer.headers_mut(), charged);
        // What is kept is there for whoever comes back: nothing of it is given back.
        if kept.is_some_and(|(_, record)| record.is_whole()) {
            *answer.body_mut() = Reply::Whole(Some(whole.body));
            story.ended(Outcome::Complete, Some(charged), tokens);
            return tell(head, Ok(answer));
        }
        let to = (story, account);
        if self.deliver((head, answer), to, whole.body).await {
            story.ended(Outcome::Complete, Some(charged), tokens);
        } else {
            story.ended(Outcome::ClientGone, None, tokens);
        }
    }
}
