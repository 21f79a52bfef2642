//! Births and deaths of nodes, and the sweeper, as transactions.

use trunkline_ledger::{Outcome, WriteOffReason};

use super::{Stale, Store, Verdict, Whose};
use crate::model::mutations::Mutation;
use crate::model::tables::{
    Answer, CALLS, Hold, HoldPlace, HoldState, LIFETIME, LeaseState, Life, NodeEpoch, Owner,
};

impl Store {
    /// Begins a node's next life and, in the same step, voids what its last one left open.
    pub(crate) fn register(&mut self, node: usize) -> NodeEpoch {
        self.serial += 1;
        let epoch = self.nodes[node].epoch + 1;
        let author = NodeEpoch { node, epoch };
        self.nodes[node].epoch = epoch;
        self.nodes[node].heartbeat = self.now;
        self.lives.push(Life {
            author,
            serial: self.serial,
        });
        if !self.is(Mutation::SkipHoldVoidOnRegister) {
            let packed_only = self.is(Mutation::ForgetTheMoved);
            let left_behind = move |hold: &Hold| {
                let found = hold.place != HoldPlace::Moved || !packed_only;
                found && hold.author.node == node && hold.author.epoch < epoch
            };
            self.void_all(
                author,
                left_behind,
                Outcome::Interrupted,
                WriteOffReason::Crash,
            );
        }
        author
    }

    /// Says that a node lives; false means that it was replaced.
    pub(crate) fn heartbeat(&mut self, author: NodeEpoch) -> bool {
        let row = &mut self.nodes[author.node];
        let lives = row.epoch == author.epoch;
        if lives {
            row.heartbeat = self.now;
        }
        lives
    }

    /// A node that is silent for this long and still owns something.
    pub(crate) fn is_dead(&self, node: usize, dead_after: i64) -> bool {
        let of_node = |hold: &Hold| hold.author.node == node && hold.state == HoldState::Open;
        let holds = self.holds.iter().flatten();
        let owns = holds
            .filter(|hold| of_node(hold))
            .any(|hold| hold.owner != Owner::Task);
        let leases = self.leases.iter();
        let leased = leases
            .filter(|lease| lease.id.node == node)
            .any(|lease| lease.state == LeaseState::Active);
        self.nodes[node].heartbeat < self.now - dead_after && (owns || leased)
    }

    /// Ends the life of a silent node, and takes back its holds and its leases.
    pub(crate) fn bury(&mut self, node: usize) {
        self.register(node);
        self.reclaim(node);
    }

    /// Voids open holds past their deadline. The sweeper speaks in its own name, which must be good.
    pub(crate) fn expire(&mut self, sweeper: NodeEpoch) -> Result<usize, Stale> {
        if !self.is(Mutation::SweepInAnOldName) {
            self.check_author(sweeper)?;
        }
        self.serial += 1;
        self.move_long_holds(sweeper);
        let now = self.now;
        let overdue = move |hold: &Hold| hold.deadline < now;
        let expired = Outcome::Expired;
        Ok(self.void_all(sweeper, overdue, expired, WriteOffReason::Expired))
    }

    /// What the sweeper's own node holds for long gets rows of its own.
    fn move_long_holds(&mut self, sweeper: NodeEpoch) {
        let now = self.now;
        let without_extensions = self.is(Mutation::MoveWithoutExtensions);
        for hold in self.holds.iter_mut().flatten() {
            let long = now - hold.opened_at > LIFETIME / 3;
            let packed = hold.place == HoldPlace::Batch && hold.state == HoldState::Open;
            if packed && long && hold.author == sweeper {
                hold.place = HoldPlace::Moved;
                self.moves += 1;
                if without_extensions {
                    hold.legs.paid -= hold.raised.paid;
                    hold.legs.trial -= hold.raised.trial;
                }
            }
        }
    }

    fn void_all(
        &mut self,
        author: NodeEpoch,
        which: impl Fn(&Hold) -> bool,
        outcome: Outcome,
        reason: WriteOffReason,
    ) -> usize {
        let mut voided = 0;
        for call in 0..CALLS {
            let orphan = self.holds[call].is_some_and(|hold| {
                let swept = hold.owner != Owner::Task || self.is(Mutation::SweepTasks);
                hold.state == HoldState::Open && swept && which(&hold)
            });
            if !orphan {
                continue;
            }
            let answer = self.resolve(author, call, Verdict::Voided(outcome), Whose::Anybodys);
            if matches!(answer, Answer::Done(_)) {
                self.write_off(call, reason, None);
                voided += 1;
            }
        }
        voided
    }
}
