//! The answer of a request: its head, what it was for its client, and the memory that it takes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Body as _;

use super::{RequestContext, RequestFacts};
use crate::attempt::Attempt;
use crate::in_flight::BufferPermit;
use crate::response::Response;

impl RequestContext {
    /// The head of the answer is ready, and a whole answer altogether.
    pub(crate) fn answered(&self, answer: &Response) {
        let elapsed = self.elapsed();
        let mut facts = self.facts();
        facts.status = Some(answer.status().as_u16());
        facts.first_byte = Some(elapsed);
        drop(facts);
        self.sent(answer.body().size_hint().exact().unwrap_or(0));
    }

    /// How long a whole answer waited for the ledger.
    pub fn waited_for_ledger(&self, time: Duration) {
        self.facts().in_ledger = Some(time);
    }

    /// The bytes of an answer, counted as memory of its account until the connection has taken them.
    pub fn counted(&self, bytes: Bytes) -> Bytes {
        let account = self.facts().caller.as_ref().map(|caller| caller.account.id);
        let in_flight = Arc::clone(&self.edge.in_flight);
        match account {
            Some(account) => BufferPermit::counted(in_flight, account, bytes),
            None => bytes,
        }
    }
}

impl RequestFacts {
    /// What its client got, for availability. A stream that broke off had a good status at first.
    pub(super) fn response_class(&self) -> &'static str {
        match self.error_status.or(self.status) {
            None => "client_gone",
            Some(429) => "rate_limited",
            Some(400..=499) => "client_error",
            Some(500..=599) => "server_error",
            Some(_) => "success",
        }
    }

    /// How long it waited for upstreams before its answer began: a stream for the head, a whole answer for
    /// the last byte.
    pub(super) fn at_upstreams(&self) -> Duration {
        let waited = |attempt: &Attempt| {
            let ended = attempt.ended.unwrap_or(attempt.began);
            let whole = ended.saturating_sub(attempt.began);
            let head = attempt.head_took().filter(|_| self.stream);
            head.unwrap_or(whole)
        };
        let waits = self.attempts.iter().map(waited);
        waits.fold(Duration::ZERO, Duration::saturating_add)
    }
}
