//! The wire between nodes and store: messages are delayed, come out of order, come twice, get lost,
//! and so do their answers. An answer that is lost after the commit is the case it is all about.

use super::{Observation, World};
use crate::model::leases::{LeaseReply, LeaseRequest};
use crate::model::store::{Answers, Stale};
use crate::model::tables::{BATCH, Batch, KEYS, LeaseState, NodeEpoch};

/// Messages on the wire at most; beyond that nothing comes twice.
const CROWDED: usize = 10;

/// A message and who sent it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    author: NodeEpoch,
    number: u32,
    load: Load,
    /// Another like it has arrived before.
    twin: bool,
}

#[derive(Debug, Clone, Copy)]
enum Load {
    Words(Batch),
    Answers(Result<Answers, Stale>),
    LeaseRequest(LeaseRequest),
    LeaseReply(Result<LeaseReply, Stale>),
}

impl World {
    /// A node sends its next batch.
    pub(super) fn send(&mut self, node: usize) -> bool {
        if !self.processes[node].runs() {
            return false;
        }
        let most = 1 + self.dice.below(BATCH);
        let process = &mut self.processes[node];
        let Some((number, batch)) = process.lane.send(most) else {
            return false;
        };
        let author = process.author;
        self.put(author, number, Load::Words(batch));
        self.note(|_| format!("{node} sends {:?}", batch.iter().collect::<Vec<_>>()));
        true
    }

    /// A node asks something for its leases.
    pub(super) fn send_lease_request(&mut self, node: usize) -> bool {
        // A lease that is at hand is mostly kept: another key is asked for, or nothing.
        let choice = self.dice.below(1 << 12);
        let at_hand = self.processes[node].leases.key_at_hand();
        if at_hand == Some(choice % KEYS.len()) && !self.dice.one_in(4) {
            return false;
        }
        self.send_lease_request_of(node, choice)
    }

    pub(super) fn send_lease_request_of(&mut self, node: usize, choice: usize) -> bool {
        let now = self.store.now;
        let process = &mut self.processes[node];
        if !process.runs() || process.lease_request_out.is_some() {
            return false;
        }
        let Some(lease_request) = process.leases.lease_request(choice, now) else {
            return false;
        };
        process.last_lease_request += 1;
        process.lease_request_out = Some(process.last_lease_request);
        let (author, number) = (process.author, process.last_lease_request);
        self.put(author, number, Load::LeaseRequest(lease_request));
        self.note(|_| format!("{node} asks {lease_request:?}"));
        true
    }

    fn put(&mut self, author: NodeEpoch, number: u32, load: Load) {
        self.wire.push(Message {
            author,
            number,
            load,
            twin: false,
        });
    }

    /// A message arrives, at the store or back at its node.
    pub(super) fn deliver(&mut self, place: usize) -> bool {
        let parcel = self.wire[place];
        let arrived = match parcel.load {
            Load::Words(batch) => {
                let answers = self.store.run(parcel.author, &batch);
                self.refused(answers.is_err());
                Load::Answers(answers)
            }
            Load::LeaseRequest(lease_request) => {
                let news = self.store.run_lease_request(parcel.author, &lease_request);
                self.refused(news.is_err());
                self.see_lease_request(&lease_request, news);
                Load::LeaseReply(news)
            }
            Load::Answers(answers) => return self.bring_answers(place, answers),
            Load::LeaseReply(news) => return self.bring_news(place, news),
        };
        self.note(|_| {
            format!(
                "the store hears {} of {:?}: {arrived:?}",
                parcel.number, parcel.author
            )
        });
        if !self.calm && self.wire.len() < CROWDED && self.dice.one_in(6) {
            self.see(Observation::SaidTwice);
            self.wire.push(Message {
                twin: true,
                ..parcel
            });
        }
        if parcel.twin {
            // No receiver is left on the way it came.
            self.wire.swap_remove(place);
        } else {
            self.wire[place].load = arrived;
        }
        true
    }

    fn bring_answers(&mut self, place: usize, answers: Result<Answers, Stale>) -> bool {
        let parcel = self.wire[place];
        let node = parcel.author.node;
        let process = &mut self.processes[node];
        if process.paused {
            return false;
        }
        self.wire.swap_remove(place);
        if !self.is_awaited(&parcel) || !self.processes[node].lane.expects(parcel.number) {
            return true;
        }
        let lane = &mut self.processes[node].lane;
        match answers {
            Ok(answers) => {
                for (waiter, answer) in lane.hear(&answers).into_iter().flatten() {
                    self.hear(waiter, answer);
                }
            }
            Err(Stale) => {
                lane.not_said();
                self.stop(node);
            }
        }
        true
    }

    fn bring_news(&mut self, place: usize, news: Result<LeaseReply, Stale>) -> bool {
        let parcel = self.wire[place];
        let node = parcel.author.node;
        if self.processes[node].paused {
            return false;
        }
        self.wire.swap_remove(place);
        let process = &mut self.processes[node];
        let known = process.lease_request_out == Some(parcel.number);
        if !known || process.author != parcel.author || !process.up {
            return true;
        }
        process.lease_request_out = None;
        match news {
            Ok(news) => process.leases.hear(news),
            Err(Stale) => self.stop(node),
        }
        true
    }

    fn is_awaited(&self, parcel: &Message) -> bool {
        let process = &self.processes[parcel.author.node];
        process.up && process.author == parcel.author
    }

    /// A message is lost; its node will lose sight of it.
    pub(super) fn lose(&mut self, place: usize) -> bool {
        let parcel = self.wire.swap_remove(place);
        self.note(|_| format!("lost: {} of {:?}", parcel.number, parcel.author));
        true
    }

    /// A node stops waiting for an answer and does not know what became of its batch. The message may
    /// still arrive.
    pub(super) fn lose_sight(&mut self, node: usize) -> bool {
        let process = &mut self.processes[node];
        if !process.runs() {
            return false;
        }
        let lease_request = process.lease_request_out.take().is_some();
        let words = process.lane.number_out().is_some();
        if words {
            process.lane.lose_sight();
            self.see(Observation::Repeated);
            self.note(|_| format!("{node} does not know whether its batch happened"));
        }
        words || lease_request
    }

    /// A node learns that its batch surely did not happen.
    pub(super) fn away(&mut self, node: usize) -> bool {
        let process = &self.processes[node];
        let Some(number) = process.lane.number_out().filter(|_| process.runs()) else {
            return false;
        };
        let author = process.author;
        let unheard = |parcel: &Message| {
            let words = matches!(parcel.load, Load::Words(_));
            words && !parcel.twin && parcel.number == number && parcel.author == author
        };
        let Some(place) = self.wire.iter().position(unheard) else {
            return false;
        };
        self.wire.swap_remove(place);
        self.processes[node].lane.not_said();
        self.note(|_| format!("{node} finds the database away"));
        true
    }

    fn refused(&mut self, refused: bool) {
        if refused {
            self.see(Observation::StaleRefused);
        }
    }

    fn see_lease_request(&mut self, lease_request: &LeaseRequest, news: Result<LeaseReply, Stale>) {
        match (lease_request, news) {
            (LeaseRequest::Grant { .. }, Ok(LeaseReply::Granted { .. })) => {
                self.see(Observation::LeaseGranted)
            }
            (LeaseRequest::Ship(records), Ok(_)) => {
                let late = records.iter().flatten().any(|record| {
                    let mut leases = self.store.leases.iter();
                    leases.any(|lease| {
                        lease.id == record.lease && lease.state == LeaseState::Reclaimed
                    })
                });
                self.see(if late {
                    Observation::ShippedLate
                } else {
                    Observation::Shipped
                });
            }
            (
                LeaseRequest::Grant { .. }
                | LeaseRequest::Ship(_)
                | LeaseRequest::Close(_)
                | LeaseRequest::CloseOld,
                _,
            ) => {}
        }
    }
}
