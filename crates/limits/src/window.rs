//! Window counter of requests or tokens: what this node has drawn, and what it has spent. Pure.

use std::time::Duration;

use tokio::time::Instant;

use crate::decision::{CounterState, Decision, Source};
use crate::redis::{RedisReply, RedisRequest};
use crate::settings::{IDLE, RECHECK};

/// A slice smaller than this is not prefetched: the window is nearly empty.
const AHEAD_FROM: u64 = 8;
/// A window that ends this soon is not restored in a Redis that lost it.
const TOO_SHORT: Duration = Duration::from_millis(500);

/// One counter of one window.
#[derive(Debug)]
pub(crate) struct Window {
    /// When the window is over; none if none was begun.
    ends: Option<Instant>,
    /// Redis' id of the window; 0 if unknown to Redis.
    mark: u64,
    /// Number of the window, so that a late correction is not counted in the wrong one.
    turn: u64,
    /// Drawn and not spent.
    left: u64,
    spent: u64,
    /// Spent, and not known to Redis.
    owed: u64,
    /// What was left in Redis at its last reply.
    shared: u64,
    /// The last slice.
    slice: u64,
    refused_until: Option<Instant>,
    used: Instant,
    pub(crate) ahead: bool,
}

// === impl Window ===

impl Window {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            ends: None,
            mark: 0,
            turn: 0,
            left: 0,
            spent: 0,
            owed: 0,
            shared: 0,
            slice: 0,
            refused_until: None,
            used: now,
            ahead: false,
        }
    }

    /// Resets a window that has ended.
    pub(crate) fn roll(&mut self, now: Instant) {
        if self.ends.is_some_and(|ends| ends <= now) {
            let turn = self.turn.wrapping_add(1);
            *self = Self {
                turn,
                ahead: self.ahead,
                ..Self::new(now)
            };
        }
    }

    /// Whether so much can be taken now.
    pub(crate) fn has(
        &self,
        (limit, amount): (u64, u64),
        source: Source,
        now: Instant,
    ) -> Decision {
        let fits = |most: u64| self.spent == 0 || self.spent.saturating_add(amount) <= most;
        let until = || Decision::No(self.ends_in(now));
        if !fits(limit) {
            return until();
        }
        if self.left >= amount {
            return Decision::Yes;
        }
        match source {
            Source::Shared if self.is_known_empty(amount, now) => until(),
            Source::Shared => Decision::AskRedis,
            Source::Share(_) if fits(source.share(limit)) => Decision::Yes,
            Source::Share(_) => until(),
        }
    }

    /// Takes what was found to be there.
    pub(crate) fn take(&mut self, amount: u64, window: Duration, now: Instant) {
        match self.left.checked_sub(amount) {
            Some(left) => self.left = left,
            None => self.owed = self.owed.saturating_add(amount),
        }
        self.spent = self.spent.saturating_add(amount);
        self.used = now;
        if self.ends.is_none() {
            self.ends = now.checked_add(window);
        }
    }

    /// Corrects a taken amount. True if Redis must be informed.
    pub(crate) fn correct(&mut self, turn: u64, taken: u64, used: u64) -> bool {
        // A correction of an ended window is ignored.
        if turn != self.turn {
            return false;
        }
        if let Some(more) = used.checked_sub(taken) {
            self.spent = self.spent.saturating_add(more);
            let debt = more.saturating_sub(self.left);
            self.left = self.left.saturating_sub(more);
            self.owed = self.owed.saturating_add(debt);
            return debt > 0;
        }
        let less = taken.saturating_sub(used);
        self.spent = self.spent.saturating_sub(less);
        let unowed = less.min(self.owed);
        self.owed = self.owed.saturating_sub(unowed);
        if self.mark != 0 {
            self.left = self.left.saturating_add(less.saturating_sub(unowed));
        }
        false
    }

    /// The request for so much.
    pub(crate) fn ask(&self, (limit, amount): (u64, u64), now: Instant) -> RedisRequest {
        RedisRequest::Window {
            limit,
            need: amount.saturating_sub(self.left),
            owed: self.owed,
            give: 0,
            mark: self.mark,
            count: limit.saturating_sub(self.shared),
            ends_in: self.known_for(now),
        }
    }

    /// The request for the next slice.
    pub(crate) fn ask_more(&self, limit: u64, now: Instant) -> RedisRequest {
        self.ask((limit, self.left.saturating_add(1)), now)
    }

    /// Whether the next slice should be drawn before this one is spent.
    pub(crate) fn runs_low(&self) -> bool {
        let low = self.left <= self.slice.checked_div(4).unwrap_or(0);
        !self.ahead && self.slice >= AHEAD_FROM && self.shared > 0 && low
    }

    /// What to report to Redis without a waiting caller: what is owed, and an unused slice.
    pub(crate) fn due(&mut self, limit: u64, now: Instant) -> Option<RedisRequest> {
        self.roll(now);
        let idle = now.saturating_duration_since(self.used) >= IDLE;
        let give = if idle && self.mark != 0 { self.left } else { 0 };
        if give == 0 && self.owed == 0 {
            return None;
        }
        // Removed first, so that what is being returned is not spent.
        self.left = self.left.saturating_sub(give);
        Some(RedisRequest::Window {
            limit,
            need: 0,
            owed: self.owed,
            give,
            mark: self.mark,
            count: limit.saturating_sub(self.shared),
            ends_in: self.known_for(now),
        })
    }

    /// Applies Redis' reply to a request that was sent then.
    pub(crate) fn apply(&mut self, answer: &RedisReply, owed: u64, sent: Instant, now: Instant) {
        if self.mark != 0 && self.mark != answer.mark {
            // Another window than the local one: its slice is gone with it.
            self.turn = self.turn.wrapping_add(1);
            (self.left, self.spent, self.owed) = (0, 0, owed);
        }
        self.mark = answer.mark;
        self.owed = self.owed.saturating_sub(owed);
        self.left = self.left.saturating_add(answer.granted);
        self.shared = answer.left;
        if answer.granted > 0 {
            self.slice = answer.granted;
        }
        // From when it was sent, not received: never later than Redis' own end.
        self.ends = sent.checked_add(answer.ends_in);
        self.refused_until = answer.refused.then(|| now.checked_add(RECHECK)).flatten();
    }

    /// The state for the client.
    pub(crate) fn state(&self, limit: u64, source: Source, now: Instant) -> CounterState {
        let remaining = match source {
            Source::Shared => self.shared.saturating_add(self.left),
            Source::Share(_) => source
                .share(limit)
                .saturating_sub(self.spent)
                .max(self.left),
        };
        CounterState {
            limit,
            remaining: remaining.min(limit.saturating_sub(self.spent)),
            resets_in: self.ends_in(now),
            turn: self.turn,
        }
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.ends.is_none_or(|ends| ends <= now) && !self.ahead
    }

    /// Whether Redis has just refused this much.
    fn is_known_empty(&self, amount: u64, now: Instant) -> bool {
        let recent = self.refused_until.is_some_and(|until| now < until);
        recent && amount > self.shared.saturating_add(self.left)
    }

    fn ends_in(&self, now: Instant) -> Duration {
        let ends = self.ends.unwrap_or(now);
        ends.saturating_duration_since(now)
    }

    /// How much longer the window lasts that Redis may have to restore; zero if too short.
    fn known_for(&self, now: Instant) -> Duration {
        let left = self.ends_in(now);
        if self.mark == 0 || left < TOO_SHORT {
            return Duration::ZERO;
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const ALONE: Source = Source::Share(1);

    fn told(granted: u64, left: u64, mark: u64) -> RedisReply {
        RedisReply {
            granted,
            left,
            mark,
            ends_in: MINUTE,
            refused: false,
        }
    }

    fn spend(window: &mut Window, amount: u64, source: Source, now: Instant) -> bool {
        window.roll(now);
        let has = window.has((10, amount), source, now) == Decision::Yes;
        if has {
            window.take(amount, MINUTE, now);
        }
        has
    }

    #[test]
    fn alone_a_window_gives_its_limit_and_begins_anew_when_it_is_over() {
        let now = Instant::now();
        let mut window = Window::new(now);
        let given = (0..20)
            .filter(|_| spend(&mut window, 1, ALONE, now))
            .count();
        assert_eq!(given, 10);
        let state = window.state(10, ALONE, now);
        assert_eq!((state.remaining, state.resets_in), (0, MINUTE));
        assert_eq!(window.has((10, 1), ALONE, now), Decision::No(MINUTE));
        let later = now + MINUTE;
        assert!(spend(&mut window, 1, ALONE, later));
        assert_eq!(window.state(10, ALONE, later).remaining, 9);
    }

    #[test]
    fn one_of_three_nodes_gives_a_third_and_at_least_one() {
        let now = Instant::now();
        for (limit, given) in [(10, 3), (2, 1), (600, 200)] {
            let mut window = Window::new(now);
            let mut count = 0;
            while window.has((limit, 1), Source::Share(3), now) == Decision::Yes {
                window.take(1, MINUTE, now);
                count += 1;
            }
            assert_eq!(count, given, "of {limit}");
        }
    }

    #[test]
    fn a_slice_is_spent_without_asking_and_never_behind_its_window() {
        let now = Instant::now();
        let mut window = Window::new(now);
        assert_eq!(window.has((10, 1), Source::Shared, now), Decision::AskRedis);
        window.apply(&told(2, 8, 5), 0, now, now);
        assert!(spend(&mut window, 1, Source::Shared, now));
        assert_eq!(window.state(10, Source::Shared, now).remaining, 9);
        assert!(spend(&mut window, 1, Source::Shared, now));
        assert_eq!(window.has((10, 1), Source::Shared, now), Decision::AskRedis);
        window.apply(&told(2, 6, 5), 0, now, now);
        window.roll(now + MINUTE);
        assert_eq!(
            window.has((10, 1), Source::Shared, now + MINUTE),
            Decision::AskRedis
        );
    }

    #[test]
    fn what_was_spent_without_redis_is_owed_to_it_and_told_once() {
        let now = Instant::now();
        let mut window = Window::new(now);
        assert!(spend(&mut window, 1, Source::Share(2), now));
        assert!(spend(&mut window, 1, Source::Share(2), now));
        let RedisRequest::Window { owed, .. } = window.ask((10, 1), now) else {
            panic!("a window asks as one")
        };
        assert_eq!(owed, 2);
        window.apply(&told(1, 7, 5), owed, now, now);
        let RedisRequest::Window { owed, count, .. } = window.ask((10, 2), now) else {
            panic!("a window asks as one")
        };
        assert_eq!((owed, count), (0, 3));
    }

    #[test]
    fn what_was_used_beyond_the_guess_is_counted_in_its_own_window_alone() {
        let now = Instant::now();
        let mut window = Window::new(now);
        assert!(spend(&mut window, 4, ALONE, now));
        let turn = window.state(10, ALONE, now).turn;
        assert!(
            window.correct(turn, 4, 12),
            "more than there is: it is owed"
        );
        assert_eq!(window.state(10, ALONE, now).remaining, 0);
        assert!(!spend(&mut window, 1, ALONE, now));
        window.correct(turn, 12, 5);
        assert_eq!(window.state(10, ALONE, now).remaining, 5);
        let later = now + MINUTE;
        assert!(spend(&mut window, 1, ALONE, later));
        window.correct(turn, 4, 400);
        assert_eq!(window.state(10, ALONE, later).remaining, 9);
    }

    #[test]
    fn a_call_larger_than_the_limit_takes_a_fresh_window_whole() {
        let now = Instant::now();
        let mut window = Window::new(now);
        assert!(spend(&mut window, 10, ALONE, now));
        assert!(!spend(&mut window, 10, ALONE, now));
    }

    #[test]
    fn an_unused_slice_is_returned_and_not_spent_meanwhile() {
        let now = Instant::now();
        let mut window = Window::new(now);
        window.apply(&told(8, 2, 5), 0, now, now);
        assert!(window.due(10, now).is_none(), "it is fresh");
        let later = now + IDLE;
        let Some(RedisRequest::Window { give, need, .. }) = window.due(10, later) else {
            panic!("it goes back")
        };
        assert_eq!((give, need), (8, 0));
        assert_eq!(
            window.has((10, 1), Source::Shared, later),
            Decision::AskRedis
        );
    }
}
