//! All counters of this node. Those of one tag are behind one lock, so that a call takes its part of
//! every limit or of none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::grant::Standing;
use crate::name::{Kind, Name, Tag, Want};
use crate::remote::{Answer, Ask};
use crate::seats::Seats;
use crate::window::Window;

const SHARDS: usize = 64;
/// A shard is swept when it has doubled, and not below this.
const SWEEP_FROM: usize = 64;

/// How a decision is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// By what Redis gave.
    Shared,
    /// By this node's share: one of so many nodes.
    Share(u64),
}

/// Whether there is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Has {
    Yes,
    /// Not before so long.
    No(Duration),
    /// Redis knows.
    Ask,
}

/// What a look at all counters of a call came to.
#[derive(Debug)]
pub(crate) enum Tried {
    /// All was taken.
    Taken(Vec<Standing>),
    /// One is used up: which, and for how long.
    Refused(usize, Duration, Vec<Standing>),
    /// Redis must be asked for these.
    Short(Vec<(Name, Ask)>),
}

/// All counters.
#[derive(Debug)]
pub(crate) struct Table {
    shards: Vec<Mutex<Shard>>,
    window: Duration,
    lease: Duration,
}

#[derive(Debug, Default)]
struct Shard {
    tags: HashMap<Tag, Tagged>,
    /// Counters in it.
    count: usize,
    sweep_at: usize,
}

/// The counters of one tag.
#[derive(Debug, Default)]
struct Tagged {
    counters: HashMap<Name, Counter>,
    /// Whoever holds it speaks with Redis about this tag.
    gate: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug)]
struct Counter {
    /// As it was last asked for.
    limit: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Window(Window),
    Seats(Seats),
}

// === impl Way ===

impl Way {
    /// The part of a limit that a node may give out by itself.
    pub(crate) fn share(self, limit: u64) -> u64 {
        match self {
            Self::Shared => limit,
            Self::Share(nodes) => limit.checked_div(nodes).unwrap_or(limit).max(1),
        }
    }
}

// === impl Table ===

impl Table {
    pub(crate) fn new(window: Duration, lease: Duration) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            window,
            lease,
        }
    }

    /// Takes all that is wanted, or nothing.
    pub(crate) fn try_take(&self, tag: Tag, wants: &[Want], way: Way, now: Instant) -> Tried {
        let Some(mut shard) = self.shard(tag) else {
            return Tried::Taken(Vec::new());
        };
        shard.make_room(now);
        let (mut asks, mut refused) = (Vec::new(), None);
        for (which, want) in wants.iter().enumerate() {
            match shard.counter(tag, want, now).has(want, way, now) {
                Has::Yes => {}
                // The longest wait is the one that is true.
                Has::No(wait) => match refused {
                    Some((_, longest)) if longest >= wait => {}
                    Some(_) | None => refused = Some((which, wait)),
                },
                Has::Ask => asks.push(want),
            }
        }
        if let Some((which, retry_after)) = refused {
            let standings = shard.standings(tag, wants, way, now);
            return Tried::Refused(which, retry_after, standings);
        }
        if !asks.is_empty() {
            let asked = asks.into_iter().map(|want| {
                let ask = shard.counter(tag, want, now).ask(want, now);
                (want.name.clone(), ask)
            });
            return Tried::Short(asked.collect());
        }
        for want in wants {
            shard.counter(tag, want, now).take(want, self.window, now);
        }
        Tried::Taken(shard.standings(tag, wants, way, now))
    }

    /// Which of these should be drawn ahead. Each is named once.
    pub(crate) fn run_low(&self, tag: Tag, wants: &[Want]) -> Vec<Want> {
        let Some(mut shard) = self.shard(tag) else {
            return Vec::new();
        };
        let Some(tagged) = shard.tags.get_mut(&tag) else {
            return Vec::new();
        };
        let mut low = Vec::new();
        for want in wants {
            let counter = tagged.counters.get_mut(&want.name);
            if let Some(State::Window(window)) = counter.map(|counter| &mut counter.state)
                && window.runs_low()
            {
                window.ahead = true;
                low.push(want.clone());
            }
        }
        low
    }

    /// What is asked to draw a slice ahead: one more than there is.
    pub(crate) fn ask_ahead(&self, tag: Tag, want: &Want, now: Instant) -> Option<Ask> {
        let shard = self.shard(tag)?;
        let counter = shard.tags.get(&tag)?.counters.get(&want.name)?;
        match &counter.state {
            State::Window(window) => {
                let more = window.standing(want.limit, Way::Shared, now);
                // Nothing is left to draw.
                (more.remaining > 0).then(|| window.ask_more(want.limit, now))
            }
            State::Seats(_) => None,
        }
    }

    /// Nobody draws ahead any more.
    pub(crate) fn is_drawn(&self, tag: Tag, want: &Want) {
        let Some(mut shard) = self.shard(tag) else {
            return;
        };
        let tagged = shard.tags.get_mut(&tag);
        let counter = tagged.and_then(|tagged| tagged.counters.get_mut(&want.name));
        if let Some(State::Window(window)) = counter.map(|counter| &mut counter.state) {
            window.ahead = false;
        }
    }

    /// What Redis said.
    pub(crate) fn heard(
        &self,
        tag: Tag,
        told: &[(Name, Ask)],
        answers: &[Answer],
        sent: Instant,
        now: Instant,
    ) {
        let Some(mut shard) = self.shard(tag) else {
            return;
        };
        let Some(tagged) = shard.tags.get_mut(&tag) else {
            return;
        };
        for ((name, ask), answer) in told.iter().zip(answers) {
            let Some(counter) = tagged.counters.get_mut(name) else {
                continue;
            };
            match &mut counter.state {
                State::Window(window) => window.heard(answer, ask.owed(), sent, now),
                State::Seats(seats) => seats.heard(answer, self.lease, sent, now),
            }
        }
    }

    /// What was taken turns out to have been another amount. True if Redis should hear of it.
    pub(crate) fn correct(&self, tag: Tag, want: &Want, turn: u64, used: u64) -> bool {
        let Some(mut shard) = self.shard(tag) else {
            return false;
        };
        let tagged = shard.tags.get_mut(&tag);
        let counter = tagged.and_then(|tagged| tagged.counters.get_mut(&want.name));
        match counter.map(|counter| &mut counter.state) {
            Some(State::Window(window)) => window.correct(turn, want.taken(), used),
            Some(State::Seats(_)) | None => false,
        }
    }

    pub(crate) fn give_back(&self, tag: Tag, want: &Want) {
        let Some(mut shard) = self.shard(tag) else {
            return;
        };
        let tagged = shard.tags.get_mut(&tag);
        let counter = tagged.and_then(|tagged| tagged.counters.get_mut(&want.name));
        if let Some(State::Seats(seats)) = counter.map(|counter| &mut counter.state) {
            seats.give_back(want.taken());
        }
    }

    /// What Redis should hear although nobody waits, of one tag.
    pub(crate) fn due(&self, tag: Tag, now: Instant) -> Vec<(Name, Ask)> {
        let Some(mut shard) = self.shard(tag) else {
            return Vec::new();
        };
        let Some(tagged) = shard.tags.get_mut(&tag) else {
            return Vec::new();
        };
        let mut due = Vec::new();
        for (name, counter) in &mut tagged.counters {
            let limit = counter.limit;
            let ask = match &mut counter.state {
                State::Window(window) => window.due(limit, now),
                State::Seats(seats) => seats.due(limit, self.lease, now),
            };
            due.extend(ask.map(|ask| (name.clone(), ask)));
        }
        due
    }

    /// Every tag that has counters.
    pub(crate) fn tags(&self) -> Vec<Tag> {
        let mut tags = Vec::new();
        for shard in &self.shards {
            tags.extend(locked(shard).tags.keys().copied());
        }
        tags
    }

    /// Forgets what is over.
    pub(crate) fn sweep(&self, now: Instant) {
        for shard in &self.shards {
            locked(shard).sweep(now);
        }
    }

    /// Whoever holds it speaks with Redis about this tag.
    pub(crate) fn gate(&self, tag: Tag) -> Arc<tokio::sync::Mutex<()>> {
        let Some(mut shard) = self.shard(tag) else {
            return Arc::default();
        };
        Arc::clone(&shard.tags.entry(tag).or_default().gate)
    }

    /// Counters in memory.
    pub(crate) fn count(&self) -> usize {
        let counts = self.shards.iter().map(|shard| locked(shard).count);
        counts.fold(0, usize::saturating_add)
    }

    fn shard(&self, tag: Tag) -> Option<MutexGuard<'_, Shard>> {
        let count = u64::try_from(self.shards.len()).ok()?;
        let place = usize::try_from(tag.spread().checked_rem(count)?).ok()?;
        self.shards.get(place).map(locked)
    }
}

fn locked(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Shard ===

impl Shard {
    fn counter(&mut self, tag: Tag, want: &Want, now: Instant) -> &mut Counter {
        let tagged = self.tags.entry(tag).or_default();
        let count = &mut self.count;
        let counter = tagged.counters.entry(want.name.clone()).or_insert_with(|| {
            *count = count.saturating_add(1);
            Counter::new(want, now)
        });
        counter.limit = want.limit;
        counter
    }

    fn standings(&self, tag: Tag, wants: &[Want], way: Way, now: Instant) -> Vec<Standing> {
        let tagged = self.tags.get(&tag);
        let of = |want: &Want| {
            let counter = tagged.and_then(|tagged| tagged.counters.get(&want.name));
            match counter.map(|counter| &counter.state) {
                Some(State::Window(window)) => window.standing(want.limit, way, now),
                Some(State::Seats(_)) | None => Standing::default(),
            }
        };
        wants.iter().map(of).collect()
    }

    fn make_room(&mut self, now: Instant) {
        if self.count >= self.sweep_at.max(SWEEP_FROM) {
            self.sweep(now);
            self.sweep_at = self.count.saturating_mul(2);
        }
    }

    fn sweep(&mut self, now: Instant) {
        for tagged in self.tags.values_mut() {
            tagged.counters.retain(|_, counter| !counter.is_over(now));
        }
        // A gate that somebody holds stays, or two would speak at once.
        self.tags
            .retain(|_, tagged| !tagged.counters.is_empty() || Arc::strong_count(&tagged.gate) > 1);
        let counts = self.tags.values().map(|tagged| tagged.counters.len());
        self.count = counts.fold(0, usize::saturating_add);
    }
}

// === impl Counter ===

impl Counter {
    fn new(want: &Want, now: Instant) -> Self {
        let state = match want.name.kind {
            Kind::Requests | Kind::Tokens => State::Window(Window::new(now)),
            Kind::AtOnce => State::Seats(Seats::new()),
        };
        Self {
            limit: want.limit,
            state,
        }
    }

    fn has(&mut self, want: &Want, way: Way, now: Instant) -> Has {
        let wanted = (want.limit, want.taken());
        match &mut self.state {
            State::Window(window) => {
                window.roll(now);
                window.has(wanted, way, now)
            }
            State::Seats(seats) => seats.has(wanted, way, now),
        }
    }

    fn ask(&self, want: &Want, now: Instant) -> Ask {
        let wanted = (want.limit, want.taken());
        match &self.state {
            State::Window(window) => window.ask(wanted, now),
            State::Seats(seats) => seats.ask(wanted, now),
        }
    }

    fn take(&mut self, want: &Want, length: Duration, now: Instant) {
        match &mut self.state {
            State::Window(window) => window.take(want.taken(), length, now),
            State::Seats(seats) => seats.take(want.taken()),
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        match &self.state {
            State::Window(window) => window.is_over(now),
            State::Seats(seats) => seats.is_over(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Which;

    #[test]
    fn counters_that_are_over_are_forgotten_and_memory_stays_bounded() {
        let (minute, now) = (Duration::from_secs(60), Instant::now());
        let table = Table::new(minute, minute);
        let want = |number| Want {
            name: Name {
                scope: "key",
                which: Which::Number(number),
                kind: Kind::Requests,
            },
            limit: 5,
            amount: 1,
        };
        let mut at = now;
        for number in 0..20_000 {
            let tag = Tag::new("account", number);
            let tried = table.try_take(tag, &[want(number)], Way::Share(1), at);
            assert!(matches!(tried, Tried::Taken(_)));
            // A hundred come in a minute.
            at += minute / 100;
        }
        let kept = table.count();
        assert!(kept < 64 * SWEEP_FROM * 2, "{kept} counters are in memory");
        table.sweep(at + minute);
        assert_eq!((table.count(), table.tags().len()), (0, 0));
    }

    #[test]
    fn what_one_limit_refuses_is_taken_of_no_other() {
        let (minute, now) = (Duration::from_secs(60), Instant::now());
        let table = Table::new(minute, minute);
        let tag = Tag::new("account", 1);
        let want = |number, limit| Want {
            name: Name {
                scope: "key",
                which: Which::Number(number),
                kind: Kind::Requests,
            },
            limit,
            amount: 1,
        };
        let both = [want(1, 5), want(2, 1)];
        let take = || table.try_take(tag, &both, Way::Share(1), now);
        assert!(matches!(take(), Tried::Taken(_)));
        for _ in 0..10 {
            let Tried::Refused(which, wait, standings) = take() else {
                panic!("the second is used up")
            };
            assert_eq!((which, standings[0].remaining), (1, 4));
            assert_eq!(wait, minute);
        }
    }
}
