//! What happens to the upstreams, step by step: the same for the same seed.

use std::sync::Arc;
use std::time::Instant;

use trunkline_db::SystemClock;
use trunkline_simulator::Fault;
use trunkline_types::Clock as _;

use super::upstreams::{Ailments, CHANNELS, CREDENTIALS, MODELS, Upstreams, secret, theirs};
use crate::faults::draw;

/// Troubles at a time, at most.
const MOST: usize = 12;
/// Channels that fail or are silent at a time: a call has three attempts.
const MOST_BROKEN: usize = 2;

/// What a incident concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Broken,
    Slow,
    Revoked(usize),
    Limited(usize),
    Removed(usize),
}

/// One incident of a channel, from before it was made until after it was healed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Incident {
    pub(super) channel: usize,
    pub(super) scope: Scope,
    pub(super) from: Instant,
    pub(super) until: Option<Instant>,
    /// The same by the clock that upstreams write down.
    pub(super) healed_micros: Option<i64>,
}

pub(super) struct Script {
    dice: u64,
    upstreams: Arc<Upstreams>,
    ailments: Vec<Ailments>,
    incidents: Vec<Incident>,
    steps: usize,
}

impl Incident {
    /// Whether a route has it at some time of a call.
    pub(super) fn meets(
        &self,
        (channel, credential, model): (usize, usize, usize),
        (from, until): (Instant, Instant),
    ) -> bool {
        let concerns = match self.scope {
            Scope::Broken | Scope::Slow => true,
            Scope::Revoked(one) | Scope::Limited(one) => one == credential,
            Scope::Removed(one) => one == model,
        };
        concerns
            && self.channel == channel
            && self.from <= until
            && self.until.is_none_or(|healed| healed >= from)
    }
}

impl Script {
    pub(super) fn new(seed: u64, upstreams: Arc<Upstreams>) -> Self {
        Self {
            dice: seed,
            upstreams,
            ailments: vec![Ailments::default(); CHANNELS],
            incidents: Vec::new(),
            steps: 0,
        }
    }

    pub(super) fn incidents(&self) -> &[Incident] {
        &self.incidents
    }

    pub(super) const fn steps(&self) -> usize {
        self.steps
    }

    /// Makes one more incident, or heals one.
    pub(super) fn step(&mut self) {
        self.steps += 1;
        let open = self.open();
        if open.len() >= MOST || (!open.is_empty() && self.draw(5) < 2) {
            let healed = open[self.draw(open.len())];
            return self.heal(healed);
        }
        let channel = self.draw(CHANNELS);
        let scope = match self.draw(8) {
            0 => Scope::Broken,
            1 => Scope::Slow,
            2 | 3 => Scope::Revoked(self.draw(CREDENTIALS)),
            4 | 5 => Scope::Limited(self.draw(CREDENTIALS)),
            _ => Scope::Removed(self.draw(MODELS)),
        };
        let is_there = |one: &Incident| one.channel == channel && one.scope == scope;
        let broken = open.iter().map(|index| &self.incidents[*index]);
        let broken = broken.filter(|one| one.scope == Scope::Broken).count();
        if open.iter().any(|index| is_there(&self.incidents[*index]))
            || (scope == Scope::Broken && broken >= MOST_BROKEN)
        {
            return;
        }
        self.incidents.push(Incident {
            channel,
            scope,
            from: Instant::now(),
            until: None,
            healed_micros: None,
        });
        self.apply(channel, scope, true);
    }

    pub(super) fn heal_all(&mut self) {
        for index in self.open() {
            self.heal(index);
        }
    }

    fn heal(&mut self, index: usize) {
        let Incident { channel, scope, .. } = self.incidents[index];
        self.apply(channel, scope, false);
        let healed = &mut self.incidents[index];
        healed.until = Some(Instant::now());
        healed.healed_micros = Some(SystemClock.now().micros());
    }

    fn open(&self) -> Vec<usize> {
        let all = self.incidents.iter().enumerate();
        let open = all.filter(|(_, one)| one.until.is_none());
        open.map(|(index, _)| index).collect()
    }

    fn apply(&mut self, channel: usize, scope: Scope, is_on: bool) {
        let faults = [
            Fault::Status(500),
            Fault::Status(503),
            Fault::CloseBeforeHeaders,
            Fault::HangBeforeHeaders,
        ];
        let fault = faults[self.draw(faults.len())];
        let (ailments, simulator) = (
            &mut self.ailments[channel],
            &self.upstreams.simulators[channel],
        );
        match scope {
            Scope::Broken => ailments.broken = is_on.then_some(fault),
            Scope::Slow => ailments.slow = is_on,
            Scope::Limited(credential) => ailments.limited[credential] = is_on,
            Scope::Revoked(credential) => simulator.revoke_key(&secret(channel, credential), is_on),
            Scope::Removed(model) => simulator.remove_model(&theirs(model), is_on),
        }
        self.upstreams.set(channel, &self.ailments[channel]);
    }

    fn draw(&mut self, below: usize) -> usize {
        draw(&mut self.dice, below)
    }
}
