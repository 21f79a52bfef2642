//! The faults stop: sleepers wake, the dead return, every message arrives, time passes the deadlines,
//! the sweeper comes. After that nothing may be left.

use trunkline_ledger::Outcome;

use super::{Mode, World};
use crate::model::calls::{Actor, Phase};
use crate::model::leases::{LEASE_TTL, LONGEST_CALL};
use crate::model::tables::{Batch, CALLS, CallOperation, HoldState, LIFETIME, NODES, Owner, Word};

/// More rounds than any world needs; a world that needs more is stuck, and that is a violation.
const ROUNDS: usize = 60;

impl World {
    pub(super) fn heal(&mut self) {
        self.calm = true;
        self.note(|_| "the faults stop".to_owned());
        self.settle_down();
        let longest = LIFETIME.max(LEASE_TTL + LONGEST_CALL);
        self.pass(longest + 1);
        for node in 0..NODES {
            self.heartbeat(node);
        }
        self.settle_down();
        for node in 0..NODES {
            self.sweep(node);
        }
        self.end_tasks();
        self.settle_down();
    }

    pub(super) fn is_quiet(&self) -> bool {
        let lanes = self.processes.iter().all(|process| process.lane.is_quiet());
        let leases_quiet = self.processes.iter().all(|process| {
            let journal = process.leases.disk.journal.is_empty();
            journal && self.leases_are_quiet(process.author.node)
        });
        let actors = self.actors.iter().all(|actor| actor.phase == Phase::Over);
        let holds = self.store.holds.iter().flatten();
        let no_holds = holds.filter(|hold| hold.state == HoldState::Open).count() == 0;
        lanes && leases_quiet && actors && no_holds && self.wire.is_empty()
    }

    fn leases_are_quiet(&self, node: usize) -> bool {
        match self.mode {
            Mode::Direct | Mode::Packed => true,
            Mode::Leased => self.processes[node].leases.is_quiet(),
        }
    }

    /// Every actor does what it can until no actor can do anything.
    fn settle_down(&mut self) {
        for _ in 0..ROUNDS {
            for node in 0..NODES {
                self.wake(node);
                self.restart(node);
            }
            let mut busy = false;
            while !self.wire.is_empty() {
                busy |= self.deliver(0);
            }
            for node in 0..NODES {
                // What was lost on the wire is said again.
                self.lose_sight(node);
                busy |= self.send(node);
                busy |= self.wind_up(node);
            }
            for actor in 0..self.actors.len() {
                busy |= self.go(actor);
            }
            let down = self.processes.iter().any(|process| !process.up);
            if !busy && !down && self.wire.is_empty() {
                return;
            }
        }
    }

    /// A node ships its journal and gives its leases back; new ones are not taken any more.
    fn wind_up(&mut self, node: usize) -> bool {
        match self.mode {
            Mode::Direct | Mode::Packed => false,
            Mode::Leased if self.processes[node].leases.is_quiet() => false,
            Mode::Leased => {
                let leases = &self.processes[node].leases.memory.leases;
                let key = leases.first().map_or(0, |lease| lease.key);
                self.send_lease_request_of(node, key)
            }
        }
    }

    /// Tasks outlive everything: those that were accepted are polled to their end. Those that no worker
    /// was ever told of are let go by their own recovery, which knows that they were not submitted.
    fn end_tasks(&mut self) {
        for call in 0..CALLS {
            let Some(hold) = self.store.holds[call] else {
                continue;
            };
            if hold.state != HoldState::Open || hold.owner != Owner::Task {
                continue;
            }
            if self.calls[call].accepted {
                let actor = Actor::new(call, 0, Phase::Holding);
                self.actors.push(actor);
                continue;
            }
            let void = CallOperation {
                call,
                account: hold.account,
                owner: hold.owner,
                word: Word::Void(Outcome::Cancelled),
            };
            let batch = Batch::new(std::iter::once(void));
            let author = self.processes[0].author;
            if self.store.run(author, &batch).is_err() {
                self.store.alarm = Some("a healed node speaks under an old epoch");
            }
        }
    }
}
