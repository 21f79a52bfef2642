//! Calls go their way: they speak, hear and give up.

use trunkline_ledger::admission::{WalletSplit, charge};
use trunkline_ledger::{Outcome, RefundKind};

use super::{Mode, Observation, World};
use crate::model::calls::{Actor, GiveBack, Phase};
use crate::model::mutations::Mutation;
use crate::model::tables::{Answer, CALLS, CallOperation, HoldState, Owner, Word};

impl World {
    /// The next call arrives at a node.
    pub(super) fn begin(&mut self, node: usize) -> bool {
        let next = self.calls.iter().position(|call| !call.begun);
        let Some(call) = next.filter(|_| self.processes[node].runs()) else {
            return false;
        };
        self.calls[call].begun = true;
        // Calls come to where their lease is, as a balancer that knows the account would have it.
        if let Some(key) = self.processes[node].leases.key_at_hand() {
            self.calls[call].plan.key = key;
        }
        self.actors.push(Actor::new(call, node, Phase::Reserving));
        self.note(|world| format!("call {call} begins on {node}: {:?}", world.calls[call].plan));
        self.speak(self.actors.len() - 1, self.reserve_word(node, call));
        true
    }

    /// A reservation by what the node remembers of the payer.
    fn reserve_word(&self, node: usize, call: usize) -> Word {
        let plan = self.calls[call].plan;
        Word::Reserve(plan.ask(self.processes[node].payers[plan.account()]))
    }

    /// A node polls a task that was accepted, and brings its result.
    pub(super) fn poll(&mut self, node: usize) -> bool {
        let call = self.dice.below(CALLS);
        let open = self.store.holds[call].is_some_and(|hold| hold.state == HoldState::Open);
        let polled =
            |actor: &Actor| actor.call == call && actor.node == node && actor.phase != Phase::Over;
        let may = self.calls[call].accepted && open && self.processes[node].runs();
        if !may || self.actors.iter().any(polled) {
            return false;
        }
        self.actors.push(Actor::new(call, node, Phase::Holding));
        self.see(Observation::TaskPolled);
        self.note(|_| format!("task {call} is polled on {node}"));
        true
    }

    /// An actor that waits for nothing does what comes next.
    pub(super) fn go(&mut self, actor: usize) -> bool {
        let Actor {
            call,
            node,
            phase,
            extended,
            refunds,
        } = self.actors[actor];
        if !self.processes[node].runs() {
            return false;
        }
        let plan = self.calls[call].plan;
        match phase {
            Phase::Holding => match (plan.extend_to, plan.price) {
                (Some(total), _) if !extended => {
                    self.actors[actor].extended = true;
                    self.turn(actor, Phase::Extending, Word::Extend(total, plan.wallets))
                }
                (_, Some(price)) => self.turn(actor, Phase::Settling, Word::Settle(price)),
                (_, None) => {
                    let outcome = Outcome::UpstreamFailed;
                    self.turn(actor, Phase::Voiding, Word::Void(outcome))
                }
            },
            Phase::Charged => {
                let word = match (plan.back, refunds) {
                    (GiveBack::All, 0) | (GiveBack::PartThenAll(_), 1) => {
                        Word::Refund(RefundKind::Refund, None)
                    }
                    (GiveBack::Part(part) | GiveBack::PartThenAll(part), 0) => {
                        Word::Refund(RefundKind::SettlementAdjustment, Some(part))
                    }
                    (
                        GiveBack::Nothing
                        | GiveBack::All
                        | GiveBack::Part(_)
                        | GiveBack::PartThenAll(_),
                        _,
                    ) => {
                        self.actors[actor].phase = Phase::Over;
                        return true;
                    }
                };
                if self.store.dropped[call] {
                    self.actors[actor].phase = Phase::Over;
                    return true;
                }
                // What is still in a journal cannot be given back yet.
                if self.store.usage_of(call).is_none() {
                    return false;
                }
                self.actors[actor].refunds += 1;
                self.calls[call].refund_asked = true;
                self.turn(actor, Phase::Refunding, word)
            }
            Phase::Reserving
            | Phase::Extending
            | Phase::Settling
            | Phase::Voiding
            | Phase::Refunding
            | Phase::Over => false,
        }
    }

    fn turn(&mut self, actor: usize, phase: Phase, word: Word) -> bool {
        self.actors[actor].phase = phase;
        self.speak(actor, word);
        true
    }

    /// Says a word to the lease where there is one, to the lane otherwise.
    fn speak(&mut self, actor: usize, word: Word) {
        let Actor { call, node, .. } = self.actors[actor];
        let plan = self.calls[call].plan;
        let submitted = CallOperation {
            call,
            account: plan.account(),
            owner: plan.owner,
            word,
        };
        self.note(|_| format!("call {call} on {node} says {word:?}"));
        if let Some(answer) = self.ask_lease(node, &submitted) {
            return self.hear(actor, answer);
        }
        let process = &mut self.processes[node];
        process.lane.push(submitted, actor);
        if let (Word::Settle(price), Some(Mutation::AnswerBeforeCommit)) = (word, self.wrong) {
            process.lane.let_go(actor);
            let held = self.store.holds[call].map_or(WalletSplit::default(), |hold| hold.legs);
            self.hear(actor, Answer::Done(charge(price, held).0));
        }
    }

    fn ask_lease(&mut self, node: usize, submitted: &CallOperation) -> Option<Answer> {
        if self.mode != Mode::Leased || submitted.owner == Owner::Task {
            return None;
        }
        let reserves = matches!(submitted.word, Word::Reserve(_));
        let gives_back = matches!(submitted.word, Word::Refund(..));
        if gives_back || !(reserves || self.calls[submitted.call].leased) {
            return None;
        }
        let answer = self.processes[node].leases.say(submitted, self.store.now);
        if reserves {
            self.calls[submitted.call].leased = answer.is_some();
            return answer;
        }
        if matches!(
            (submitted.word, answer),
            (Word::Settle(_), Some(Answer::Done(_)))
        ) {
            self.see(Observation::LeasedSettle);
        }
        Some(answer.unwrap_or(Answer::NoHold))
    }

    /// An actor gets its answer.
    pub(super) fn hear(&mut self, actor: usize, answer: Answer) {
        let Actor {
            call, node, phase, ..
        } = self.actors[actor];
        self.note(|_| format!("call {call} hears {answer:?}"));
        let next = match phase {
            Phase::Reserving if answer == Answer::StaleRevision => {
                self.see(Observation::StaleRevision);
                let account = self.calls[call].plan.account();
                self.processes[node].payers[account] = self.store.payers[account];
                self.speak(actor, self.reserve_word(node, call));
                phase
            }
            Phase::Reserving => self.after_reserve(call, answer),
            Phase::Extending => self.after_extend(answer),
            Phase::Settling => self.after_settle(call, answer),
            Phase::Voiding => {
                self.see(Observation::Voided);
                Phase::Over
            }
            Phase::Refunding => {
                if answer == Answer::GivenBack {
                    self.see(Observation::Refunded);
                }
                Phase::Charged
            }
            Phase::Holding | Phase::Charged | Phase::Over => phase,
        };
        self.actors[actor].phase = next;
    }

    fn after_reserve(&mut self, call: usize, answer: Answer) -> Phase {
        if !matches!(answer, Answer::Held(_)) {
            self.see(Observation::TooLittle);
            return Phase::Over;
        }
        if self.calls[call].plan.owner == Owner::Task {
            // From here on the task belongs to every worker. In the product this is the step that marks the
            // job as submitted; without it no poller may touch it.
            self.calls[call].accepted = true;
            return Phase::Over;
        }
        Phase::Holding
    }

    fn after_extend(&mut self, answer: Answer) -> Phase {
        match answer {
            Answer::Held(_) => {
                self.see(Observation::ExtendedHold);
                Phase::Holding
            }
            // The stream is stopped and what was produced is charged.
            Answer::TooLittle(_) | Answer::NeverToppedUp => Phase::Holding,
            Answer::NoHold
            | Answer::AlreadyResolved
            | Answer::StaleRevision
            | Answer::Done(_)
            | Answer::Before { .. }
            | Answer::GivenBack
            | Answer::NothingToGiveBack
            | Answer::Noted => Phase::Over,
        }
    }

    fn after_settle(&mut self, call: usize, answer: Answer) -> Phase {
        let legs = match answer {
            Answer::Done(legs) => {
                self.see(Observation::Settled);
                legs
            }
            Answer::Before {
                charged: true,
                legs,
            } => {
                self.see(Observation::SettledBefore);
                legs
            }
            Answer::Before { charged: false, .. }
            | Answer::NoHold
            | Answer::Held(_)
            | Answer::TooLittle(_)
            | Answer::NeverToppedUp
            | Answer::AlreadyResolved
            | Answer::StaleRevision
            | Answer::GivenBack
            | Answer::NothingToGiveBack
            | Answer::Noted => return Phase::Over,
        };
        if self.calls[call]
            .told_ok
            .is_some_and(|before| before != legs)
        {
            self.store.alarm = Some("two callers were told two amounts for one call");
        }
        self.calls[call].told_ok = Some(legs);
        Phase::Charged
    }

    /// An actor stops waiting. Its client is told that the call failed and costs nothing.
    pub(super) fn give_up(&mut self, actor: usize) -> bool {
        let Actor {
            call, node, phase, ..
        } = self.actors[actor];
        if !self.actors[actor].waits() || !self.processes[node].runs() {
            return false;
        }
        self.processes[node].lane.leave(actor);
        self.note(|_| format!("call {call} on {node} gives up {phase:?}"));
        let plan = self.calls[call].plan;
        match (phase, self.wrong) {
            (Phase::Settling, Some(Mutation::SettleAgainAfterGivingUp)) => {
                let price = plan.price.unwrap_or_default();
                return self.turn(actor, phase, Word::Settle(price));
            }
            (Phase::Reserving, Some(Mutation::ReserveAgainAfterGivingUp)) => {
                return self.turn(actor, phase, self.reserve_word(node, call));
            }
            (_, Some(_) | None) => {}
        }
        if phase == Phase::Extending {
            // It goes on with what it has; the longer hold, if there is one, ends with the call.
            self.actors[actor].phase = Phase::Holding;
            return true;
        }
        self.see(Observation::TakenBack);
        self.send_away(actor);
        true
    }

    /// An actor ends without an answer, and says so to its caller.
    pub(super) fn send_away(&mut self, actor: usize) {
        let Actor { call, phase, .. } = self.actors[actor];
        self.actors[actor].phase = Phase::Over;
        let of_task = self.calls[call].plan.owner == Owner::Task;
        self.calls[call].told_unavailable |= match phase {
            Phase::Reserving => true,
            // No caller waits for a poll; the next one will come.
            Phase::Holding | Phase::Extending | Phase::Settling | Phase::Voiding => !of_task,
            Phase::Charged | Phase::Refunding | Phase::Over => false,
        };
    }
}
