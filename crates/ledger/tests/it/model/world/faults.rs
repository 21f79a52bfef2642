//! What befalls nodes: death, sleep, replacement, the sweeper, and time.

use super::{Mode, Observation, World};
use crate::model::calls::Phase;
use crate::model::leases::LONGEST_CALL;
use crate::model::store::Stale;
use crate::model::tables::{ACCOUNTS, LeaseState, NODES};

impl World {
    pub(super) fn crash(&mut self, node: usize) -> bool {
        if !self.processes[node].up {
            return false;
        }
        self.note(|_| format!("{node} dies"));
        for place in 0..self.actors.len() {
            if self.actors[place].node == node {
                // Its client sees a cut connection and knows nothing.
                self.actors[place].phase = Phase::Over;
            }
        }
        self.end_process(node);
        true
    }

    /// A process has learned that it was replaced: it tells its callers and ends.
    pub(super) fn stop(&mut self, node: usize) {
        self.note(|_| format!("{node} learns that it was replaced and stops"));
        for place in 0..self.actors.len() {
            if self.actors[place].node == node {
                self.send_away(place);
            }
        }
        self.end_process(node);
    }

    fn end_process(&mut self, node: usize) {
        let process = &mut self.processes[node];
        let mut doubtful = false;
        for call in process.lane.doubtful() {
            self.calls[call].doubtful = true;
            doubtful = true;
        }
        process.lane.clear();
        process.leases.crash();
        process.lease_request_out = None;
        process.up = false;
        process.paused = false;
        if doubtful {
            self.see(Observation::DoubtfulEnd);
        }
    }

    pub(super) fn restart(&mut self, node: usize) -> bool {
        if self.processes[node].up {
            return false;
        }
        let author = self.store.register(node);
        let now = self.store.now;
        let process = &mut self.processes[node];
        process.author = author;
        process.up = true;
        process.payers = self.store.payers;
        process.leases.lives(now);
        self.note(|_| format!("{node} begins its life {}", author.epoch));
        true
    }

    pub(super) fn pause(&mut self, node: usize) -> bool {
        let may = self.processes[node].runs();
        self.processes[node].paused |= may;
        if may {
            self.note(|_| format!("{node} sleeps"));
        }
        may
    }

    pub(super) fn wake(&mut self, node: usize) -> bool {
        let slept = self.processes[node].paused;
        self.processes[node].paused = false;
        if slept {
            self.note(|_| format!("{node} wakes"));
        }
        slept
    }

    /// Another process takes the node's name and dies at once; ours does not know.
    pub(super) fn replace(&mut self, node: usize) -> bool {
        self.store.register(node);
        self.note(|_| format!("{node} is replaced behind its back"));
        true
    }

    pub(super) fn heartbeat(&mut self, node: usize) -> bool {
        if !self.processes[node].runs() {
            return false;
        }
        if self.store.heartbeat(self.processes[node].author) {
            let now = self.store.now;
            self.processes[node].leases.lives(now);
        } else {
            self.stop(node);
        }
        true
    }

    /// A node looks for orphans: holds and leases of the dead, holds past their deadline.
    pub(super) fn sweep(&mut self, sweeper: usize) -> bool {
        if !self.processes[sweeper].runs() {
            return false;
        }
        let dead_after = self.dead_after();
        for node in 0..NODES {
            if self.store.is_dead(node, dead_after) {
                self.bury(node);
            }
        }
        let moves = self.store.moves;
        let expired = self.store.expire(self.processes[sweeper].author);
        if self.store.moves > moves {
            self.see(Observation::HoldMoved);
        }
        self.note(|_| format!("{sweeper} sweeps: {expired:?} expired"));
        match expired {
            Ok(0) => {}
            Ok(_) => self.see(Observation::Expired),
            Err(Stale) => self.stop(sweeper),
        }
        true
    }

    fn bury(&mut self, node: usize) {
        self.see(Observation::Buried);
        let leases = self.store.leases.iter();
        let leased = leases
            .filter(|lease| lease.id.node == node)
            .any(|lease| lease.state == LeaseState::Active);
        if leased {
            self.see(Observation::Reclaimed);
        }
        let process = &self.processes[node];
        let in_office = process.up && process.author.epoch == self.store.nodes[node].epoch;
        let may_draw = self.store.now <= process.leases.alive_until + LONGEST_CALL;
        if self.mode == Mode::Leased && leased && in_office && may_draw {
            self.store.alarm = Some("a lease was reclaimed from a node that may still use it");
        }
        self.store.bury(node);
        self.note(|_| format!("{node} is buried"));
    }

    pub(super) fn pass(&mut self, ticks: i64) -> bool {
        self.store.now += ticks;
        true
    }

    pub(super) fn top_up(&mut self) -> bool {
        let account = self.dice.below(ACCOUNTS);
        let leg = self.dice.below(2);
        let amount = self.dice.between(1, 10);
        self.store.top_up(account, leg, amount);
        self.note(|_| format!("account {account} tops up {amount} on leg {leg}"));
        true
    }
}
