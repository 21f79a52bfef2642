//! The answer of a request: its head, and the memory that it takes.

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Body as _;

use super::RequestContext;
use crate::in_flight::BufferPermit;
use crate::response::{LedgerLatency, Response};

impl RequestContext {
    /// The head of the answer is ready, and a whole answer altogether.
    pub(crate) fn answered(&self, answer: &Response) {
        let elapsed = self.elapsed();
        let mut facts = self.facts();
        facts.status = Some(answer.status().as_u16());
        facts.first_byte = Some(elapsed);
        facts.in_ledger = answer
            .extensions()
            .get::<LedgerLatency>()
            .map(|time| time.0);
        drop(facts);
        self.sent(answer.body().size_hint().exact().unwrap_or(0));
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
