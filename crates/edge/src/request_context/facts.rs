//! What a request has of its limits.

use trunkline_limits::Grant;

use super::{RequestFacts, Tokens};

impl RequestFacts {
    pub(super) fn used(&mut self, tokens: Tokens) {
        if let Some(granted) = &mut self.granted {
            granted.used(tokens.total());
        }
    }

    pub(super) fn leave(&mut self) {
        self.seat = None;
        self.granted.iter_mut().for_each(Grant::release);
    }
}
