//! Batches: what each word does, and what is answered when a batch comes a second time.

use trunkline_ledger::admission::WalletSplit;

use super::{Answers, Stale, Store, Verdict, Whose};
use crate::model::mutations::Mutation;
use crate::model::tables::{Answer, BATCH, Batch, CallOperation, HoldPlace, NodeEpoch, Word};

impl Store {
    /// One transaction: all words or none, each kind in its turn.
    pub(crate) fn run(&mut self, author: NodeEpoch, batch: &Batch) -> Result<Answers, Stale> {
        self.check_author(author)?;
        let before = self.applied_before(author, batch);
        self.serial += 1;
        let mut answers = [None; BATCH];
        for turn in 0..Batch::TURNS {
            for (place, submitted) in batch.iter().enumerate() {
                if submitted.word.turn() != turn {
                    continue;
                }
                // Operations on rows are not of the numbered batch: they find what they did.
                let known = before.filter(|_| submitted.is_packed());
                let known = known.and_then(|before| before[place]);
                answers[place] = known.or_else(|| Some(self.say(author, batch, submitted)));
            }
        }
        if batch.seq.is_some() && before.is_none() {
            self.batches.push((author, *batch, answers));
        }
        Ok(answers)
    }

    fn say(&mut self, author: NodeEpoch, batch: &Batch, submitted: &CallOperation) -> Answer {
        match submitted.word {
            Word::Reserve(ask) => {
                let packs = batch.seq.is_some() && submitted.is_packed();
                let place = if packs {
                    HoldPlace::Batch
                } else {
                    HoldPlace::Row
                };
                self.reserve(author, submitted, ask, place)
            }
            Word::Extend(total, _) => self.extend(submitted, total),
            Word::Settle(_) | Word::Void(_)
                if self.is_strangers(submitted) && !self.is(Mutation::SettleAStrangersHold) =>
            {
                Answer::NoHold
            }
            Word::Settle(_)
                if self.holds[submitted.call].is_none()
                    && self.is(Mutation::SettleAnUnwrittenHold) =>
            {
                let legs = WalletSplit { paid: 1, trial: 0 };
                self.write_charge(author, submitted.call, submitted.account, legs);
                Answer::Done(legs)
            }
            Word::Settle(amount) => {
                self.resolve(author, submitted.call, Verdict::Settled(amount), Whose::Own)
            }
            Word::Void(_)
                if self.holds[submitted.call].is_none()
                    && self.is(Mutation::ReleaseAnUnwrittenHold) =>
            {
                self.release(submitted.account, WalletSplit { paid: 1, trial: 0 });
                Answer::Done(WalletSplit::default())
            }
            Word::Void(outcome) => {
                self.resolve(author, submitted.call, Verdict::Voided(outcome), Whose::Own)
            }
            Word::Refund(..)
                if self.is_strangers(submitted) && !self.is(Mutation::RefundAStranger) =>
            {
                Answer::NothingToGiveBack
            }
            Word::Refund(kind, amount) => self.refund(author, submitted, kind, amount),
            Word::WriteOff(reason, sale) => {
                self.write_off(submitted.call, reason, Some(sale));
                Answer::Noted
            }
        }
    }

    /// An id is one account's: what became of it is not told to another, and moves nothing of either.
    fn is_strangers(&self, submitted: &CallOperation) -> bool {
        self.holds[submitted.call].is_some_and(|hold| hold.account != submitted.account)
    }

    /// The answers of a batch that is repeated. A sequence names one batch for ever.
    fn applied_before(&mut self, author: NodeEpoch, batch: &Batch) -> Option<Answers> {
        let seq = batch
            .seq
            .filter(|_| !self.is(Mutation::ForgetTheAppliedBatch))?;
        let mut applied = self.batches.iter();
        let (_, before, answers) =
            applied.find(|(by, before, _)| *by == author && before.seq == Some(seq))?;
        if before != batch {
            self.alarm = Some("a sequence was used for two batches");
        }
        Some(*answers)
    }
}
