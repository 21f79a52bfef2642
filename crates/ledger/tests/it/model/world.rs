//! A small world and its scheduler. Every step one thing that could happen now does, chosen by the
//! seed: a word is said, a message arrives, is lost or comes twice, a node dies, sleeps or wakes with
//! an old name, the clock moves, the sweeper comes. Then the faults stop, and everything must end.

mod calls;
mod faults;
mod network;
mod recovery;
mod strays;

use crate::model::calls::{Actor, CallState};
use crate::model::invariants::Checker;
use crate::model::lane::Lane;
use crate::model::leases::{LEASE_TTL, LONGEST_CALL, NodeLeases};
use crate::model::mutations::Mutation;
use crate::model::rng::{Rng, Trail};
use crate::model::store::Store;
use crate::model::tables::{ACCOUNTS, CALLS, NODES, NodeEpoch, PAID, Payer, TRIAL};
use network::Message;

/// Things that happen before the faults stop.
const STEPS: usize = 64;
/// The whole ledger is compared after so many steps; what is cheap is compared after each.
const FULL_CHECK_EVERY: usize = 16;
/// A node that is silent for so long is dead.
const DEAD_AFTER: i64 = 20;

/// Who answers the four words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The store, each time.
    Direct,
    /// The store, and the holds of requests share the rows of their batches.
    Packed,
    /// The node's lease where it has one.
    Leased,
}

/// What can happen, and how often it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Begin,
    Go,
    Send,
    Deliver,
    Poll,
    Heartbeat,
    Sweep,
    Tick,
    LeaseRequest,
    GiveUp,
    LoseSight,
    Away,
    Lose,
    Crash,
    Restart,
    Pause,
    Wake,
    Replace,
    NextDay,
    TopUp,
    Revise,
    Stray,
    RetireDays,
}

const EVENTS: [(Event, usize); 23] = [
    (Event::Begin, 5),
    (Event::Go, 8),
    (Event::Send, 10),
    (Event::Deliver, 18),
    (Event::Poll, 3),
    (Event::Heartbeat, 4),
    (Event::Sweep, 3),
    (Event::Tick, 4),
    (Event::LeaseRequest, 8),
    (Event::GiveUp, 3),
    (Event::LoseSight, 3),
    (Event::Away, 2),
    (Event::Lose, 2),
    (Event::Crash, 1),
    (Event::Restart, 4),
    (Event::Pause, 1),
    (Event::Wake, 3),
    (Event::Replace, 1),
    (Event::NextDay, 1),
    (Event::TopUp, 1),
    (Event::Revise, 2),
    (Event::Stray, 3),
    (Event::RetireDays, 1),
];
const ALL_WEIGHTS: usize = {
    let (mut sum, mut place) = (0, 0);
    while place < EVENTS.len() {
        sum += EVENTS[place].1;
        place += 1;
    }
    sum
};

/// What was seen in a world, to know that the worlds are not idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Observation {
    Settled,
    SettledBefore,
    Voided,
    Refunded,
    TooLittle,
    ExtendedHold,
    Repeated,
    TakenBack,
    StaleRefused,
    Buried,
    Expired,
    TaskPolled,
    SaidTwice,
    DoubtfulEnd,
    ChargedInTheWindow,
    LeaseGranted,
    LeasedSettle,
    Shipped,
    ShippedLate,
    Reclaimed,
    StaleRevision,
    StrayRefused,
    HoldMoved,
    DayDropped,
}

pub(crate) const SIGHTS: usize = 24;

/// One process of a node.
#[derive(Debug)]
struct Process {
    author: NodeEpoch,
    up: bool,
    paused: bool,
    lane: Lane,
    leases: NodeLeases,
    lease_request_out: Option<u32>,
    last_lease_request: u32,
    /// What it remembers of the accounts.
    payers: [Payer; ACCOUNTS],
}

#[derive(Debug)]
pub(crate) struct World {
    mode: Mode,
    wrong: Option<Mutation>,
    dice: Rng,
    store: Store,
    processes: [Process; NODES],
    wire: Vec<Message>,
    calls: [CallState; CALLS],
    actors: Vec<Actor>,
    /// What can happen in this world, each as often as its weight says.
    events: [Event; ALL_WEIGHTS],
    events_known: usize,
    /// Messages come once and in time.
    calm: bool,
    checker: Checker,
    trail: Trail,
    sights: [u32; SIGHTS],
    log: Option<Vec<String>>,
}

/// A world that came to a good end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) trail: Trail,
    pub(crate) sights: [u32; SIGHTS],
}

/// Lives through the world of a seed. An error is a sentence with the seed and what went before.
pub(crate) fn live(seed: u64, mode: Mode, wrong: Option<Mutation>) -> Result<Ended, String> {
    let mut world = World::new(seed, mode, wrong);
    let Err(violation) = world.run() else {
        return Ok(Ended {
            trail: world.trail,
            sights: world.sights,
        });
    };
    // The same once more, with pen and paper.
    let mut repeated = World::new(seed, mode, wrong);
    repeated.log = Some(Vec::new());
    let second = repeated.run().err().unwrap_or_default();
    let same = second == violation && repeated.trail == world.trail;
    let log = repeated.log.unwrap_or_default().join("\n  ");
    Err(format!(
        "seed {seed} ({mode:?}, {wrong:?}): {violation}\nreplays: {same}\n  {log}"
    ))
}

// === impl World ===

impl World {
    fn new(seed: u64, mode: Mode, wrong: Option<Mutation>) -> Self {
        let mut dice = Rng::new(seed);
        let limits = std::array::from_fn(|_| dice.between(6, 40));
        let mut store = Store::new(limits, wrong);
        store.now = dice.between(0, 60);
        for account in 0..ACCOUNTS {
            for (leg, most) in [(PAID, 30), (TRIAL, 16)] {
                let amount = dice.between(-6, most);
                if amount > 0 {
                    store.top_up(account, leg, amount);
                }
            }
        }
        let processes = std::array::from_fn(|node| Process::new(store.register(node), mode, wrong));
        let mut world = Self {
            mode,
            wrong,
            calls: std::array::from_fn(|_| CallState::new(&mut dice)),
            dice,
            store,
            processes,
            wire: Vec::with_capacity(16),
            actors: Vec::with_capacity(2 * CALLS),
            events: [Event::Deliver; ALL_WEIGHTS],
            events_known: 0,
            calm: false,
            checker: Checker::new(),
            trail: Trail::new(),
            sights: [0; SIGHTS],
            log: None,
        };
        world.choose_events();
        for node in 0..NODES {
            let now = world.store.now;
            world.processes[node].leases.lives(now);
        }
        world
    }

    /// Not every kind of fault comes into every world: a rare chain of two needs quiet to happen.
    fn choose_events(&mut self) {
        let coins = self.dice.coins();
        for (place, (event, weight)) in EVENTS.into_iter().enumerate() {
            let may = match event {
                Event::GiveUp
                | Event::LoseSight
                | Event::Away
                | Event::Lose
                | Event::Crash
                | Event::Pause
                | Event::Replace
                | Event::NextDay
                | Event::TopUp
                | Event::Sweep => coins >> place & 1 == 1,
                Event::LeaseRequest => self.mode == Mode::Leased,
                Event::Revise | Event::Stray => self.mode == Mode::Packed,
                Event::RetireDays => self.mode == Mode::Packed && coins >> place & 1 == 1,
                Event::Begin
                | Event::Go
                | Event::Send
                | Event::Deliver
                | Event::Poll
                | Event::Heartbeat
                | Event::Tick
                | Event::Restart
                | Event::Wake => true,
            };
            for _ in 0..if may { weight } else { 0 } {
                self.events[self.events_known] = event;
                self.events_known += 1;
            }
        }
    }

    fn run(&mut self) -> Result<(), String> {
        for step in 0..STEPS {
            self.step();
            self.checker.quick(&self.store)?;
            if step % FULL_CHECK_EVERY == FULL_CHECK_EVERY - 1 {
                self.check()?;
            }
        }
        self.heal();
        self.check()?;
        let in_the_window = self.checker.end(&self.store, &self.calls)?;
        self.sights[Observation::ChargedInTheWindow as usize] += in_the_window;
        if self.is_quiet() {
            Ok(())
        } else {
            Err("something is still under way after the faults have stopped".to_owned())
        }
    }

    fn check(&mut self) -> Result<(), String> {
        self.checker.full(&self.store, &self.calls)?;
        for process in &self.processes {
            let leases = &process.leases;
            self.checker.leases(&self.store, process.author, leases)?;
        }
        self.checker.workers(&self.store, &self.actors)
    }

    /// One thing happens. What is chosen and cannot happen now is chosen again, a few times.
    fn step(&mut self) {
        for _ in 0..8 {
            let event = self.events[self.dice.below(self.events_known)];
            if self.attempt(event) {
                self.trail.mark(event as u64);
                self.trail.mark(u64::from(self.store.serial));
                return;
            }
        }
    }

    fn attempt(&mut self, event: Event) -> bool {
        let node = self.dice.below(NODES);
        match event {
            Event::Begin => self.begin(node),
            Event::Go => self.any_actor(Self::go),
            Event::GiveUp => self.any_actor(Self::give_up),
            Event::Poll => self.poll(node),
            Event::Send => self.send(node),
            Event::LeaseRequest => self.send_lease_request(node),
            Event::Deliver => self.any_parcel(Self::deliver),
            Event::Lose => self.any_parcel(Self::lose),
            Event::LoseSight => self.lose_sight(node),
            Event::Away => self.away(node),
            Event::Heartbeat => self.heartbeat(node),
            Event::Sweep => self.sweep(node),
            Event::Crash => self.crash(node),
            Event::Restart => self.restart(node),
            Event::Pause => self.pause(node),
            Event::Wake => self.wake(node),
            Event::Replace => self.replace(node),
            Event::Tick => {
                let ticks = self.dice.between(1, 6);
                self.pass(ticks)
            }
            Event::NextDay => {
                let ticks = self.dice.between(25, 45);
                self.pass(ticks)
            }
            Event::TopUp => self.top_up(),
            Event::Revise => self.revise(),
            Event::Stray => self.stray(node),
            Event::RetireDays => self.retire_days(),
        }
    }

    fn any_actor(&mut self, what: fn(&mut Self, usize) -> bool) -> bool {
        if self.actors.is_empty() {
            return false;
        }
        let actor = self.dice.below(self.actors.len());
        what(self, actor)
    }

    fn any_parcel(&mut self, what: fn(&mut Self, usize) -> bool) -> bool {
        if self.wire.is_empty() {
            return false;
        }
        let parcel = self.dice.below(self.wire.len());
        what(self, parcel)
    }

    fn dead_after(&self) -> i64 {
        match self.mode {
            Mode::Leased if self.wrong == Some(Mutation::ReclaimTooEarly) => LEASE_TTL / 2,
            Mode::Leased => LEASE_TTL + LONGEST_CALL,
            Mode::Direct | Mode::Packed => DEAD_AFTER,
        }
    }

    fn see(&mut self, sight: Observation) {
        self.sights[sight as usize] += 1;
    }

    fn note(&mut self, text: impl FnOnce(&Self) -> String) {
        if self.log.is_none() {
            return;
        }
        let line = format!("{:>3} {}", self.store.now, text(self));
        self.log.get_or_insert_default().push(line);
    }
}

// === impl Process ===

impl Process {
    fn new(author: NodeEpoch, mode: Mode, wrong: Option<Mutation>) -> Self {
        Self {
            author,
            up: true,
            paused: false,
            lane: Lane::new(mode == Mode::Packed, wrong),
            leases: NodeLeases::new(author.node, wrong),
            lease_request_out: None,
            last_lease_request: 0,
            payers: [Payer::default(); ACCOUNTS],
        }
    }

    fn runs(&self) -> bool {
        self.up && !self.paused
    }
}
