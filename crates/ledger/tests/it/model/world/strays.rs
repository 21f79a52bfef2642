//! What only a world of packed holds meets: changes of budgets behind a lane's back, words about calls that are
//! another account's or were never held, and days that leave.

use trunkline_ledger::{Outcome, RefundKind, Wallets};

use super::{Observation, World};
use crate::model::store::Stale;
use crate::model::tables::{ACCOUNTS, Answer, Ask, Batch, CALLS, CallOperation, DAY, Owner, Word};

impl World {
    /// The keys of an account count in other budgets; no lane is told.
    pub(super) fn revise(&mut self) -> bool {
        let account = self.dice.below(ACCOUNTS);
        self.store.revise(account);
        self.note(|_| format!("the budgets of account {account} change"));
        true
    }

    /// Some days pass, and those that are no longer kept are dropped.
    pub(super) fn retire_days(&mut self) -> bool {
        self.pass(2 * DAY);
        let days = self.store.drop_days();
        if days > 0 {
            self.see(Observation::DayDropped);
        }
        self.note(|_| format!("{days} days are dropped"));
        true
    }

    /// A node speaks of a call of another account, or of one that was never held.
    pub(super) fn stray(&mut self, node: usize) -> bool {
        let call = self.dice.below(CALLS);
        let account = self.dice.below(ACCOUNTS);
        let choice = self.dice.below(5);
        let hold = self.store.holds[call];
        let may = hold.is_none_or(|hold| hold.account != account);
        // One that is under way may arrive yet.
        let unheard = hold.is_some() || !self.calls[call].begun;
        if !may || !unheard || !self.processes[node].runs() {
            return false;
        }
        let ask = Ask {
            payer: self.store.payers[account],
            ..self.calls[call].plan.ask(self.store.payers[account])
        };
        let word = match choice {
            0 if hold.is_some() => Word::Reserve(ask),
            0 | 1 => Word::Extend(20, Wallets::TrialFirst),
            2 => Word::Settle(1),
            3 => Word::Void(Outcome::UpstreamFailed),
            4.. => Word::Refund(RefundKind::Refund, None),
        };
        let submitted = CallOperation {
            call,
            account,
            owner: hold.map_or(Owner::Request, |hold| hold.owner),
            word,
        };
        let author = self.processes[node].author;
        let answers = self
            .store
            .run(author, &Batch::new(std::iter::once(submitted)));
        self.note(|_| format!("a stray word about {call} under {account}: {word:?} {answers:?}"));
        match answers.map(|answers| answers[0]) {
            Ok(Some(Answer::NoHold | Answer::NothingToGiveBack)) => {
                self.see(Observation::StrayRefused);
            }
            Err(Stale) => {}
            Ok(_) => {
                self.store.alarm = Some("a call was answered under an account that has no hold")
            }
        }
        true
    }
}
