//! The counters of this node in memory. Those of one group share a lock, so that a call takes from
//! every limit or from none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use trunkline_types::OwnKeyMap;

use crate::concurrency::ConcurrencyCounter;
use crate::decision::{CounterState, Decision, Source};
use crate::key::{CounterCost, CounterGroup, CounterKey, CounterKind};
use crate::redis::{RedisReply, RedisRequest};
use crate::window::Window;

const SHARDS: usize = 64;
/// A shard is swept when it has doubled, and not below this.
const SWEEP_FROM: usize = 64;

/// Result of taking all counters of a call.
#[derive(Debug)]
pub(crate) enum TakeResult {
    Taken(Vec<CounterState>),
    /// One is used up: which, and for how long.
    Refused(usize, Duration, Vec<CounterState>),
    /// Redis must be asked for more.
    Short,
}

#[derive(Debug)]
pub(crate) struct LocalCounters {
    shards: Vec<Mutex<Shard>>,
    window: Duration,
    lease: Duration,
}

#[derive(Debug, Default)]
struct Shard {
    groups: OwnKeyMap<CounterGroup, Group>,
    count: usize,
    sweep_at: usize,
}

/// The counters of one group.
#[derive(Debug, Default)]
struct Group {
    counters: OwnKeyMap<CounterKey, Counter>,
    /// Serialises requests to Redis for this group.
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
    Concurrency(ConcurrencyCounter),
}

// === impl LocalCounters ===

impl LocalCounters {
    pub(crate) fn new(window: Duration, lease: Duration) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            window,
            lease,
        }
    }

    /// Takes all that is wanted, or nothing.
    pub(crate) fn try_take(
        &self,
        group: CounterGroup,
        costs: &[CounterCost],
        source: Source,
        now: Instant,
    ) -> TakeResult {
        let Some(mut shard) = self.shard(group) else {
            return TakeResult::Taken(Vec::new());
        };
        shard.evict(now);
        let (mut is_short, mut refused) = (false, None);
        for (which, cost) in costs.iter().enumerate() {
            match shard
                .counter(group, cost, self.window, now)
                .has(cost, source, now)
            {
                Decision::Yes => {}
                // The longest wait decides.
                Decision::No(wait) => match refused {
                    Some((_, longest)) if longest >= wait => {}
                    Some(_) | None => refused = Some((which, wait)),
                },
                Decision::AskRedis => is_short = true,
            }
        }
        if let Some((which, retry_after)) = refused {
            let states = shard.states(group, costs, source, now);
            return TakeResult::Refused(which, retry_after, states);
        }
        if is_short {
            return TakeResult::Short;
        }
        for cost in costs {
            shard.counter(group, cost, self.window, now).take(cost, now);
        }
        TakeResult::Taken(shard.states(group, costs, source, now))
    }

    /// What Redis is asked, so that so much can be taken. Slices that a request returns are gone from here, so it
    /// must be sent: one that is thrown away would take them from the limit until the window is over.
    pub(crate) fn asks(
        &self,
        group: CounterGroup,
        costs: &[CounterCost],
        now: Instant,
    ) -> Vec<(CounterKey, RedisRequest)> {
        let Some(mut shard) = self.shard(group) else {
            return Vec::new();
        };
        let mut asks = Vec::new();
        for cost in costs {
            let counter = shard.counter(group, cost, self.window, now);
            if counter.has(cost, Source::Shared, now) == Decision::AskRedis {
                asks.push((cost.key.clone(), counter.ask(cost, now)));
            }
        }
        asks
    }

    /// Counters whose next slice should be prefetched. Each is returned once.
    pub(crate) fn run_low(&self, group: CounterGroup, costs: &[CounterCost]) -> Vec<CounterCost> {
        let Some(mut shard) = self.shard(group) else {
            return Vec::new();
        };
        let Some(group) = shard.groups.get_mut(&group) else {
            return Vec::new();
        };
        let mut low = Vec::new();
        for cost in costs {
            let counter = group.counters.get_mut(&cost.key);
            if let Some(State::Window(window)) = counter.map(|counter| &mut counter.state)
                && window.runs_low()
            {
                window.ahead = true;
                low.push(cost.clone());
            }
        }
        low
    }

    /// The request that prefetches a slice.
    pub(crate) fn ask_ahead(
        &self,
        group: CounterGroup,
        cost: &CounterCost,
        now: Instant,
    ) -> Option<RedisRequest> {
        let mut shard = self.shard(group)?;
        let group = shard.groups.get_mut(&group)?;
        let counter = group.counters.get_mut(&cost.key)?;
        match &mut counter.state {
            State::Window(window) => {
                let more = window.state(cost.limit, Source::Shared, now);
                // Nothing is left to draw.
                (more.remaining > 0).then(|| window.ask_more(cost.limit, now))
            }
            State::Concurrency(_) => None,
        }
    }

    /// Marks a prefetch as done.
    pub(crate) fn is_drawn(&self, group: CounterGroup, cost: &CounterCost) {
        let Some(mut shard) = self.shard(group) else {
            return;
        };
        let group = shard.groups.get_mut(&group);
        let counter = group.and_then(|group| group.counters.get_mut(&cost.key));
        if let Some(State::Window(window)) = counter.map(|counter| &mut counter.state) {
            window.ahead = false;
        }
    }

    /// Applies the replies of Redis.
    pub(crate) fn apply(
        &self,
        group: CounterGroup,
        requests: &[(CounterKey, RedisRequest)],
        answers: &[RedisReply],
        sent: Instant,
        now: Instant,
    ) {
        let Some(mut shard) = self.shard(group) else {
            return;
        };
        let Some(group) = shard.groups.get_mut(&group) else {
            return;
        };
        for ((name, ask), answer) in requests.iter().zip(answers) {
            let Some(counter) = group.counters.get_mut(name) else {
                continue;
            };
            match &mut counter.state {
                State::Window(window) => window.apply(answer, ask.owed(), sent, now),
                State::Concurrency(concurrency) => concurrency.apply(answer, self.lease, sent, now),
            }
        }
    }

    /// Corrects a taken amount. True if Redis must be informed.
    pub(crate) fn correct(
        &self,
        group: CounterGroup,
        cost: &CounterCost,
        turn: u64,
        used: u64,
    ) -> bool {
        let Some(mut shard) = self.shard(group) else {
            return false;
        };
        let group = shard.groups.get_mut(&group);
        let counter = group.and_then(|group| group.counters.get_mut(&cost.key));
        match counter.map(|counter| &mut counter.state) {
            Some(State::Window(window)) => window.correct(turn, cost.taken(), used),
            Some(State::Concurrency(_)) | None => false,
        }
    }

    pub(crate) fn give_back(&self, group: CounterGroup, cost: &CounterCost) {
        let Some(mut shard) = self.shard(group) else {
            return;
        };
        let group = shard.groups.get_mut(&group);
        let counter = group.and_then(|group| group.counters.get_mut(&cost.key));
        if let Some(State::Concurrency(concurrency)) = counter.map(|counter| &mut counter.state) {
            concurrency.give_back(cost.taken());
        }
    }

    /// What is due to be reported to Redis for one group.
    pub(crate) fn due(&self, group: CounterGroup, now: Instant) -> Vec<(CounterKey, RedisRequest)> {
        let Some(mut shard) = self.shard(group) else {
            return Vec::new();
        };
        let Some(group) = shard.groups.get_mut(&group) else {
            return Vec::new();
        };
        let mut due = Vec::new();
        for (name, counter) in &mut group.counters {
            let limit = counter.limit;
            let ask = match &mut counter.state {
                State::Window(window) => window.due(limit, now),
                State::Concurrency(concurrency) => concurrency.due(limit, self.lease, now),
            };
            due.extend(ask.map(|ask| (name.clone(), ask)));
        }
        due
    }

    /// Every group that has counters.
    pub(crate) fn groups(&self) -> Vec<CounterGroup> {
        let mut groups = Vec::new();
        for shard in &self.shards {
            groups.extend(locked(shard).groups.keys().copied());
        }
        groups
    }

    pub(crate) fn sweep(&self, now: Instant) {
        for shard in &self.shards {
            locked(shard).sweep(now);
        }
    }

    /// Serialises requests to Redis for this group.
    pub(crate) fn gate(&self, group: CounterGroup) -> Arc<tokio::sync::Mutex<()>> {
        let Some(mut shard) = self.shard(group) else {
            return Arc::default();
        };
        Arc::clone(&shard.groups.entry(group).or_default().gate)
    }

    pub(crate) fn count(&self) -> usize {
        let counts = self.shards.iter().map(|shard| locked(shard).count);
        counts.fold(0, usize::saturating_add)
    }

    fn shard(&self, group: CounterGroup) -> Option<MutexGuard<'_, Shard>> {
        let count = u64::try_from(self.shards.len()).ok()?;
        let place = usize::try_from(group.spread().checked_rem(count)?).ok()?;
        self.shards.get(place).map(locked)
    }
}

fn locked(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Shard ===

impl Shard {
    fn counter(
        &mut self,
        group: CounterGroup,
        cost: &CounterCost,
        window: Duration,
        now: Instant,
    ) -> &mut Counter {
        let group = self.groups.entry(group).or_default();
        let count = &mut self.count;
        let counter = group.counters.entry(cost.key.clone()).or_insert_with(|| {
            *count = count.saturating_add(1);
            Counter::new(cost, window, now)
        });
        counter.limit = cost.limit;
        counter
    }

    fn states(
        &self,
        group: CounterGroup,
        costs: &[CounterCost],
        source: Source,
        now: Instant,
    ) -> Vec<CounterState> {
        let group = self.groups.get(&group);
        let of = |cost: &CounterCost| {
            let counter = group.and_then(|group| group.counters.get(&cost.key));
            match counter.map(|counter| &counter.state) {
                Some(State::Window(window)) => window.state(cost.limit, source, now),
                Some(State::Concurrency(_)) | None => CounterState::default(),
            }
        };
        costs.iter().map(of).collect()
    }

    fn evict(&mut self, now: Instant) {
        if self.count >= self.sweep_at.max(SWEEP_FROM) {
            self.sweep(now);
            self.sweep_at = self.count.saturating_mul(2);
        }
    }

    fn sweep(&mut self, now: Instant) {
        for group in self.groups.values_mut() {
            group.counters.retain(|_, counter| !counter.is_over(now));
        }
        // A gate in use stays, or two requests for a group could run at once.
        self.groups
            .retain(|_, group| !group.counters.is_empty() || Arc::strong_count(&group.gate) > 1);
        let counts = self.groups.values().map(|group| group.counters.len());
        self.count = counts.fold(0, usize::saturating_add);
    }
}

// === impl Counter ===

impl Counter {
    fn new(cost: &CounterCost, window: Duration, now: Instant) -> Self {
        let state = match cost.key.kind {
            CounterKind::Requests | CounterKind::Tokens => State::Window(Window::new(window, now)),
            CounterKind::Concurrent => State::Concurrency(ConcurrencyCounter::new()),
        };
        Self {
            limit: cost.limit,
            state,
        }
    }

    fn has(&mut self, cost: &CounterCost, source: Source, now: Instant) -> Decision {
        let (limit, amount) = (cost.limit, cost.taken());
        match &mut self.state {
            State::Window(window) => {
                window.roll(now);
                window.has(limit, amount, source, now)
            }
            State::Concurrency(concurrency) => concurrency.has(limit, amount, source, now),
        }
    }

    fn ask(&mut self, cost: &CounterCost, now: Instant) -> RedisRequest {
        let (limit, amount) = (cost.limit, cost.taken());
        match &mut self.state {
            State::Window(window) => window.ask(limit, amount, now),
            State::Concurrency(concurrency) => concurrency.ask(limit, amount, now),
        }
    }

    fn take(&mut self, cost: &CounterCost, now: Instant) {
        match &mut self.state {
            State::Window(window) => window.take(cost.taken(), now),
            State::Concurrency(concurrency) => concurrency.take(cost.taken()),
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        match &self.state {
            State::Window(window) => window.is_over(now),
            State::Concurrency(concurrency) => concurrency.is_over(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::ScopeId;

    #[test]
    fn counters_that_are_over_are_forgotten_and_memory_stays_bounded() {
        let (minute, now) = (Duration::from_secs(60), Instant::now());
        let table = LocalCounters::new(minute, minute);
        let cost = |number| CounterCost {
            key: CounterKey {
                scope: "key",
                id: ScopeId::Number(number),
                kind: CounterKind::Requests,
            },
            limit: 5,
            amount: 1,
        };
        let mut at = now;
        for number in 0..20_000 {
            let group = CounterGroup::new("account", number);
            let tried = table.try_take(group, &[cost(number)], Source::Share(1), at);
            assert!(matches!(tried, TakeResult::Taken(_)));
            // A hundred come in a minute.
            at += minute / 100;
        }
        let kept = table.count();
        assert!(kept < 64 * SWEEP_FROM * 2, "{kept} counters are in memory");
        table.sweep(at + minute * 2);
        assert_eq!((table.count(), table.groups().len()), (0, 0));
    }

    #[test]
    fn what_one_limit_refuses_is_taken_of_no_other() {
        let (minute, now) = (Duration::from_secs(60), Instant::now());
        let table = LocalCounters::new(minute, minute);
        let group = CounterGroup::new("account", 1);
        let cost = |number, limit| CounterCost {
            key: CounterKey {
                scope: "key",
                id: ScopeId::Number(number),
                kind: CounterKind::Requests,
            },
            limit,
            amount: 1,
        };
        let both = [cost(1, 5), cost(2, 1)];
        let take = || table.try_take(group, &both, Source::Share(1), now);
        assert!(matches!(take(), TakeResult::Taken(_)));
        for _ in 0..10 {
            let TakeResult::Refused(which, wait, states) = take() else {
                panic!("the second is used up")
            };
            assert_eq!((which, states[0].remaining), (1, 4));
            assert_eq!(wait, minute);
        }
    }
}
