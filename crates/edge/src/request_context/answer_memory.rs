//! The memory of an answer.

use std::sync::Arc;

use bytes::Bytes;

use super::RequestContext;
use crate::in_flight::BufferPermit;

impl RequestContext {
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
