//! History joined with the tables: what a client was told is what happened, once.

use std::collections::{BTreeMap, BTreeSet};

use trunkline_types::RequestId;

use crate::chaos::history::{Answered, CallOperation, Event, History};
use crate::chaos::tables::{Fact, Facts};

/// Everything all processes know of one call.
#[derive(Default)]
struct Trail {
    charges_asked: BTreeSet<i64>,
    holds_told: u32,
    holds_refused: u32,
    ends_done: u32,
    charges_told: BTreeSet<i64>,
    frees_told: u32,
    refunds: Backs,
    adjustments: Backs,
    /// A reservation without a responsible node.
    unknown_reserve: bool,
    /// A charge without a responsible node: unanswered, or answered by a process that was replaced or
    /// died before it could keep its word.
    unknown_settle: bool,
    /// Told "not done, or taken back" by a process that lived on.
    unavailable_reserve: bool,
    unavailable_settle: bool,
}

/// Money given back under one kind.
#[derive(Default)]
struct Backs {
    done: Vec<i64>,
    unknown: bool,
}

/// Every sentence that is not true. Processes that are dead may leave questions open, others may not.
pub(crate) fn judge(histories: &[&History], facts: &Facts) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut trails: BTreeMap<RequestId, Trail> = BTreeMap::new();
    for history in histories {
        read(history, &mut trails, &mut wrong);
    }
    for (request, trail) in &trails {
        let found = trail.judge(facts.get(request));
        wrong.extend(found.into_iter().map(|text| format!("{request}: {text}")));
    }
    let strangers = facts.keys().filter(|request| !trails.contains_key(request));
    wrong.extend(strangers.map(|request| format!("{request}: no client requested it")));
    wrong
}

/// Every payment that a client was told of is in the books once, and no other.
pub(crate) fn judge_payments(
    histories: &[&History],
    booked: &BTreeMap<RequestId, i64>,
) -> Vec<String> {
    let mut done: BTreeMap<RequestId, u32> = BTreeMap::new();
    let mut wrong = Vec::new();
    for event in histories.iter().flat_map(|history| &history.events) {
        if let Event::Answered {
            word: CallOperation::TopUp,
            request,
            answered,
            ..
        } = event
        {
            match answered {
                Answered::Done => *done.entry(*request).or_default() += 1,
                Answered::Before { .. } => {
                    done.entry(*request).or_default();
                }
                Answered::Refused
                | Answered::Unavailable
                | Answered::Stale
                | Answered::Rejected(_) => {}
            }
        }
    }
    for (request, times) in done {
        let in_books = booked.get(&request).copied().unwrap_or(0);
        if times > 1 || in_books != 1 {
            wrong.push(format!("{request}: paid {times} times, booked {in_books}"));
        }
    }
    wrong
}

fn read(history: &History, trails: &mut BTreeMap<RequestId, Trail>, wrong: &mut Vec<String>) {
    let mut open: BTreeMap<(RequestId, CallOperation), i64> = BTreeMap::new();
    for event in &history.events {
        match event {
            Event::Did { .. }
            | Event::Requested {
                word: CallOperation::TopUp,
                ..
            }
            | Event::Answered {
                word: CallOperation::TopUp,
                answered:
                    Answered::Done
                    | Answered::Before { .. }
                    | Answered::Unavailable
                    | Answered::Stale
                    | Answered::Refused,
                ..
            } => {}
            Event::Requested {
                word,
                request,
                amount,
            } => {
                *open.entry((*request, *word)).or_default() += 1;
                let trail = trails.entry(*request).or_default();
                if *word == CallOperation::Settle {
                    trail.charges_asked.insert(*amount);
                }
            }
            Event::Answered {
                answered: Answered::Rejected(text),
                request,
                word,
                ..
            } => wrong.push(format!("{request}: {word:?} was rejected: {text}")),
            Event::Answered {
                word,
                request,
                answered,
                amount,
            } => {
                *open.entry((*request, *word)).or_default() -= 1;
                let trail = trails.entry(*request).or_default();
                trail.add(*word, answered, *amount, history.died);
            }
        }
    }
    for ((request, word), _) in open.into_iter().filter(|(_, count)| *count != 0) {
        if history.died {
            trails.entry(request).or_default().unknown(word);
        } else {
            wrong.push(format!("{request}: {word:?} was never answered"));
        }
    }
}

// === impl Trail ===

impl Trail {
    fn unknown(&mut self, word: CallOperation) {
        match word {
            CallOperation::Reserve => self.unknown_reserve = true,
            CallOperation::Settle => self.unknown_settle = true,
            CallOperation::Refund => self.refunds.unknown = true,
            CallOperation::Adjust => self.adjustments.unknown = true,
            CallOperation::Extend | CallOperation::Void | CallOperation::TopUp => {}
        }
    }

    fn add(&mut self, word: CallOperation, answered: &Answered, amount: i64, died: bool) {
        match (word, answered) {
            (_, Answered::Stale) => self.unknown(word),
            (CallOperation::Reserve | CallOperation::Settle, Answered::Unavailable) if died => {
                self.unknown(word)
            }
            (CallOperation::Reserve, Answered::Unavailable) => self.unavailable_reserve = true,
            (CallOperation::Settle, Answered::Unavailable) => self.unavailable_settle = true,
            (_, Answered::Unavailable) => self.unknown(word),
            (CallOperation::Reserve, Answered::Done) => self.holds_told += 1,
            (CallOperation::Reserve, Answered::Refused) => self.holds_refused += 1,
            (CallOperation::Settle, Answered::Done) => {
                self.ends_done += 1;
                self.charges_told.insert(amount);
            }
            (CallOperation::Void, Answered::Done) => {
                self.ends_done += 1;
                self.frees_told += 1;
            }
            (CallOperation::Settle | CallOperation::Void, Answered::Before { charged: true }) => {
                self.charges_told.insert(amount);
            }
            (CallOperation::Settle | CallOperation::Void, Answered::Before { charged: false }) => {
                self.frees_told += 1
            }
            (CallOperation::Refund, Answered::Done) => self.refunds.done.push(amount),
            (CallOperation::Adjust, Answered::Done) => self.adjustments.done.push(amount),
            // Another node did it, or it did it itself and was cut off before it heard.
            (CallOperation::Refund | CallOperation::Adjust, Answered::Before { .. }) => {
                self.unknown(word)
            }
            (
                CallOperation::Extend | CallOperation::TopUp,
                Answered::Done
                | Answered::Before { .. }
                | Answered::Refused
                | Answered::Rejected(_),
            )
            | (CallOperation::Reserve, Answered::Before { .. } | Answered::Rejected(_))
            | (
                CallOperation::Refund | CallOperation::Adjust,
                Answered::Refused | Answered::Rejected(_),
            )
            | (
                CallOperation::Settle | CallOperation::Void,
                Answered::Refused | Answered::Rejected(_),
            ) => {}
        }
    }

    fn judge(&self, fact: Option<&Fact>) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut say = |holds: bool, text: &str| {
            if !holds {
                wrong.push(format!("{text}: {fact:?}"));
            }
        };
        let Some(fact) = fact else {
            say(self.holds_told == 0, "told held, and there is no hold");
            say(
                self.charges_told.is_empty(),
                "told charged, and there is nothing",
            );
            return wrong;
        };
        say(
            self.holds_told > 0 || self.unknown_reserve || self.unavailable_reserve,
            "held, though every client was refused",
        );
        say(self.ends_done <= 1, "ended more than once");
        say(fact.charged <= fact.held, "charged more than held");
        for amount in &self.charges_told {
            say(
                fact.state == "settled" && fact.charged == *amount,
                &format!("told charged {amount}, and it is not so"),
            );
        }
        if self.frees_told > 0 {
            say(
                fact.state == "voided" && fact.charged == 0,
                "told let go, and it is not so",
            );
        }
        say(
            fact.charged == 0 || self.charges_asked.contains(&fact.charged),
            "charged an amount that no client requested",
        );
        let back = fact.refunded + fact.adjusted;
        say(back <= fact.charged, "given back more than charged");
        // The lane takes a charge back, which counts as a refund, and only for those it left alone.
        let undone = self.unavailable_settle || self.unknown_settle;
        say(
            self.refunds.hold(fact.refunded, undone),
            "refunded otherwise than told",
        );
        say(
            self.adjustments.hold(fact.adjusted, false),
            "adjusted otherwise than told",
        );
        if self.unavailable_settle && self.charges_told.is_empty() && !self.unknown_settle {
            say(
                fact.charged == back,
                "told unavailable, and charged all the same",
            );
        }
        if self.charges_told.is_empty() && !undone {
            say(fact.charged == 0, "charged, and no client got the answer");
        }
        wrong
    }
}

// === impl Backs ===

impl Backs {
    /// At most one of them did it, and what it was told is what is booked.
    fn hold(&self, booked: i64, undone: bool) -> bool {
        match self.done.as_slice() {
            [] => booked == 0 || self.unknown || undone,
            [amount] => booked == *amount,
            _ => false,
        }
    }
}
