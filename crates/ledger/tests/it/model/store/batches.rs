//! Batches that were applied, and what is answered when one comes a second time.

use super::{Answers, Store};
use crate::model::tables::{Batch, NodeEpoch};

impl Store {
    /// The answers of a batch that is repeated. A sequence names one batch for ever.
    pub(super) fn applied_before(&mut self, author: NodeEpoch, batch: &Batch) -> Option<Answers> {
        let seq = batch.seq?;
        let mut applied = self.batches.iter();
        let (_, before, answers) =
            applied.find(|(by, before, _)| *by == author && before.seq == Some(seq))?;
        if before != batch {
            self.alarm = Some("a sequence was used for two batches");
        }
        Some(*answers)
    }
}
