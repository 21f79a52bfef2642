//! Sliding window of requests or tokens: what this node has drawn, and what it has spent. Pure.
//!
//! The window is cut into short parts. What was taken in a part counts until the last of it was taken one
//! window ago, so that no more than the limit is taken in any window, wherever it begins, and no caller waits
//! longer than a window. A slice that was drawn from Redis can be spent only in the part that Redis counts
//! it in; the rest of it is returned.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::decision::{CounterState, Decision, Source};
use crate::redis::{RedisReply, RedisRequest, Returned};
use crate::settings::{IDLE, PARTS, RECHECK};

/// A slice smaller than this is not prefetched: the window is nearly empty.
const AHEAD_FROM: u64 = 8;

/// One counter.
#[derive(Debug)]
pub(crate) struct Window {
    length: Duration,
    /// The parts that still count, oldest first.
    parts: VecDeque<Part>,
    /// Number of the newest part, so that a late correction is counted in its own.
    turn: u64,
    /// Drawn in the newest part and not spent.
    left: u64,
    /// Drawn in older parts and not spent.
    returned: Vec<Returned>,
    /// Spent, and not known to Redis.
    owed: u64,
    /// The generation of the counter in Redis; 0 if none is known.
    generation: u64,
    /// What was left in Redis at its last reply, and when more of it becomes free.
    shared: u64,
    frees: Option<Instant>,
    /// The last slice.
    slice: u64,
    refused_until: Option<Instant>,
    used: Instant,
    pub(crate) ahead: bool,
}

/// When what was taken in a part counts no more.
fn frees_at(part: &Part, length: Duration) -> Instant {
    part.last.checked_add(length).unwrap_or(part.last)
}

/// The length of a part.
fn part_of(length: Duration) -> Duration {
    length.checked_div(PARTS).unwrap_or(length)
}

/// A part of the window.
#[derive(Debug, Clone, Copy)]
struct Part {
    turn: u64,
    /// Redis' number of it; 0 if nothing was drawn in it.
    mark: u64,
    spent: u64,
    /// When the last of it was taken; before that, when the part began.
    last: Instant,
    ends: Instant,
}

// === impl Window ===

impl Window {
    pub(crate) fn new(length: Duration, now: Instant) -> Self {
        Self {
            length,
            parts: VecDeque::new(),
            turn: 0,
            left: 0,
            returned: Vec::new(),
            owed: 0,
            generation: 0,
            shared: 0,
            frees: None,
            slice: 0,
            refused_until: None,
            used: now,
            ahead: false,
        }
    }

    /// Ends a part that is over, and forgets those that count no more.
    pub(crate) fn roll(&mut self, now: Instant) {
        if self.current(now).is_none() {
            self.return_slice();
        }
        let length = self.length;
        let is_over = |part: &Part| frees_at(part, length) <= now;
        while self.parts.front().is_some_and(is_over) {
            self.parts.pop_front();
        }
    }

    /// Whether so much can be taken now.
    pub(crate) fn has(&self, limit: u64, amount: u64, source: Source, now: Instant) -> Decision {
        let spent = self.spent();
        let fits = |most: u64| spent == 0 || spent.saturating_add(amount) <= most;
        if !fits(limit) {
            return Decision::No(self.wait(limit, amount, now));
        }
        if self.left >= amount && self.current(now).is_some() {
            return Decision::Yes;
        }
        let share = source.share(limit);
        match source {
            Source::Shared if self.is_known_empty(amount, now) => {
                Decision::No(self.frees_in(now).unwrap_or(RECHECK))
            }
            Source::Shared => Decision::AskRedis,
            Source::Share(_) if fits(share) => Decision::Yes,
            Source::Share(_) => Decision::No(self.wait(share, amount, now)),
        }
    }

    /// Takes what was found to be there.
    pub(crate) fn take(&mut self, amount: u64, now: Instant) {
        let ends = now.checked_add(part_of(self.length)).unwrap_or(now);
        self.open(now, ends);
        if let Some(part) = self.parts.back_mut() {
            part.spent = part.spent.saturating_add(amount);
            part.last = part.last.max(now);
        }
        match self.left.checked_sub(amount) {
            Some(left) => self.left = left,
            None => self.owed = self.owed.saturating_add(amount),
        }
        self.used = now;
    }

    /// Corrects a taken amount. True if Redis must be informed.
    pub(crate) fn correct(&mut self, turn: u64, taken: u64, used: u64) -> bool {
        // What counts no more is not corrected.
        let newest = self.turn;
        let Some(part) = self.parts.iter_mut().find(|part| part.turn == turn) else {
            return false;
        };
        if let Some(more) = used.checked_sub(taken) {
            part.spent = part.spent.saturating_add(more);
            let ready = if turn == newest { self.left } else { 0 };
            let debt = more.saturating_sub(ready);
            self.left = self.left.saturating_sub(more.min(ready));
            self.owed = self.owed.saturating_add(debt);
            return debt > 0;
        }
        let less = taken.saturating_sub(used);
        part.spent = part.spent.saturating_sub(less);
        let mark = part.mark;
        let unowed = less.min(self.owed);
        self.owed = self.owed.saturating_sub(unowed);
        let drawn = less.saturating_sub(unowed);
        if turn == newest && mark != 0 {
            self.left = self.left.saturating_add(drawn);
        } else {
            self.give_back(mark, drawn);
        }
        false
    }

    /// The request for so much.
    pub(crate) fn ask(&mut self, limit: u64, amount: u64, now: Instant) -> RedisRequest {
        self.roll(now);
        self.request(limit, amount.saturating_sub(self.left))
    }

    /// The request for the next slice.
    pub(crate) fn ask_more(&mut self, limit: u64, now: Instant) -> RedisRequest {
        self.roll(now);
        self.request(limit, 1)
    }

    /// Whether the next slice should be drawn before this one is spent.
    pub(crate) fn runs_low(&self) -> bool {
        let low = self.left <= self.slice.checked_div(4).unwrap_or(0);
        !self.ahead && self.slice >= AHEAD_FROM && self.shared > 0 && low
    }

    /// What to report to Redis without a waiting caller: what is owed, and unused slices.
    pub(crate) fn due(&mut self, limit: u64, now: Instant) -> Option<RedisRequest> {
        self.roll(now);
        if now.saturating_duration_since(self.used) >= IDLE {
            self.return_slice();
        }
        if self.owed == 0 && self.returned.is_empty() {
            return None;
        }
        Some(self.request(limit, 0))
    }

    /// Applies Redis' reply to a request that was sent then.
    pub(crate) fn apply(&mut self, answer: &RedisReply, owed: u64, sent: Instant, now: Instant) {
        // From when it was sent, not received: never later than Redis' own end.
        let ends = sent.checked_add(answer.ends_in).unwrap_or(sent);
        self.owed = self.owed.saturating_sub(owed);
        self.generation = answer.generation;
        self.shared = answer.left;
        self.frees = sent.checked_add(answer.frees_in);
        self.refused_until = answer.refused.then(|| now.checked_add(RECHECK)).flatten();
        if answer.granted == 0 {
            return;
        }
        self.slice = answer.granted;
        let newest = self.parts.back();
        if newest.is_some_and(|part| part.mark != 0 && part.mark != answer.mark) {
            self.end_part(now);
        }
        self.open(now, ends);
        if let Some(part) = self.parts.back_mut() {
            (part.mark, part.ends) = (answer.mark, part.ends.min(ends));
        }
        self.left = self.left.saturating_add(answer.granted);
    }

    /// The state for the client.
    pub(crate) fn state(&self, limit: u64, source: Source, now: Instant) -> CounterState {
        let spent = self.spent();
        let (remaining, frees) = match source {
            Source::Shared => {
                let remaining = self.shared.saturating_add(self.left);
                (remaining, self.frees_in(now))
            }
            Source::Share(_) => {
                let remaining = source.share(limit).saturating_sub(spent);
                (remaining.max(self.left), None)
            }
        };
        let own = || {
            let oldest = self.parts.iter().find(|part| part.spent > 0);
            oldest.map(|part| self.frees_in_window(part, now))
        };
        CounterState {
            limit,
            remaining: remaining.min(limit.saturating_sub(spent)),
            resets_in: frees.or_else(own).unwrap_or_default(),
            turn: self.turn,
        }
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let length = self.length;
        let is_over = |part: &Part| frees_at(part, length) <= now;
        self.parts.iter().all(is_over) && !self.ahead
    }

    fn request(&mut self, limit: u64, need: u64) -> RedisRequest {
        // Removed first, so that what is being returned is not spent. It is lost if the request fails.
        let returned = std::mem::take(&mut self.returned);
        let known = self.spent().saturating_add(self.left);
        RedisRequest::Window {
            limit,
            need,
            owed: self.owed,
            generation: self.generation,
            known: known.saturating_sub(self.owed),
            returned,
        }
    }

    /// The part that is open now.
    fn current(&self, now: Instant) -> Option<&Part> {
        self.parts.back().filter(|part| now < part.ends)
    }

    /// Begins a part if none is open.
    fn open(&mut self, now: Instant, ends: Instant) {
        if self.current(now).is_some() {
            return;
        }
        self.return_slice();
        self.turn = self.turn.wrapping_add(1);
        self.parts.push_back(Part {
            turn: self.turn,
            mark: 0,
            spent: 0,
            last: now,
            ends,
        });
    }

    /// What is drawn and not spent goes back.
    fn return_slice(&mut self) {
        let amount = std::mem::take(&mut self.left);
        let mark = self.parts.back().map_or(0, |part| part.mark);
        self.give_back(mark, amount);
    }

    fn give_back(&mut self, mark: u64, amount: u64) {
        if amount == 0 || mark == 0 {
            return;
        }
        match self
            .returned
            .iter_mut()
            .find(|returned| returned.mark == mark)
        {
            Some(returned) => returned.amount = returned.amount.saturating_add(amount),
            None => self.returned.push(Returned { mark, amount }),
        }
    }

    fn end_part(&mut self, now: Instant) {
        self.return_slice();
        if let Some(part) = self.parts.back_mut() {
            part.ends = part.ends.min(now);
        }
    }

    fn spent(&self) -> u64 {
        let spent = self.parts.iter().map(|part| part.spent);
        spent.fold(0, u64::saturating_add)
    }

    /// Until so much fits, by what this node has spent.
    fn wait(&self, limit: u64, amount: u64, now: Instant) -> Duration {
        let mut left = self.spent();
        for part in self.parts.iter().filter(|part| part.spent > 0) {
            left = left.saturating_sub(part.spent);
            if left == 0 || left.saturating_add(amount) <= limit {
                return self.frees_in_window(part, now);
            }
        }
        Duration::ZERO
    }

    /// Until a part counts no more. A caller may have looked at its clock before the last one of the part
    /// did, and waits no longer for it.
    fn frees_in_window(&self, part: &Part, now: Instant) -> Duration {
        let left = frees_at(part, self.length).saturating_duration_since(now);
        left.min(self.length)
    }

    /// Until more is free in Redis. It counts a part from its end, because slices may be spent until then.
    fn frees_in(&self, now: Instant) -> Option<Duration> {
        let left = self.frees?.saturating_duration_since(now);
        (!left.is_zero()).then_some(left.min(self.length))
    }

    /// Whether Redis has just refused this much.
    fn is_known_empty(&self, amount: u64, now: Instant) -> bool {
        let recent = self.refused_until.is_some_and(|until| now < until);
        recent && amount > self.shared.saturating_add(self.left)
    }
}

#[cfg(test)]
mod tests;
