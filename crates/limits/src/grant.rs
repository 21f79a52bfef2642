//! What a caller gets: its part of every limit, or the word that one of them is used up.

use std::time::Duration;

use crate::key::{CounterCost, CounterGroup, CounterKind};
use crate::limits::Limits;

/// Where a counter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CounterState {
    /// What it may reach in its window.
    pub limit: u64,
    /// What is left of that, as far as this node knows.
    pub remaining: u64,
    /// Until the window is over.
    pub resets_in: Duration,
    /// Which window that is.
    pub(crate) turn: u64,
}

/// Parts of limits that were taken. What is held at once goes back when this is dropped.
#[derive(Debug)]
pub struct Grant {
    limits: Limits,
    group: CounterGroup,
    costs: Vec<CounterCost>,
    states: Vec<CounterState>,
    is_settled: bool,
    is_released: bool,
}

/// A limit is used up. Nothing was taken of any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitExceeded {
    /// Which of the costs it was.
    pub index: usize,
    /// When it may succeed.
    pub retry_after: Duration,
    /// What was wanted.
    pub costs: Vec<CounterCost>,
    /// Where each of them stands.
    pub states: Vec<CounterState>,
}

// === impl Grant ===

impl Grant {
    pub(crate) const fn new(
        limits: Limits,
        group: CounterGroup,
        costs: Vec<CounterCost>,
        states: Vec<CounterState>,
    ) -> Self {
        Self {
            limits,
            group,
            costs,
            states,
            is_settled: false,
            is_released: false,
        }
    }

    pub(crate) fn costs(&self) -> &[CounterCost] {
        &self.costs
    }

    /// What was wanted and where each counter stood then.
    pub fn states(&self) -> impl Iterator<Item = (&CounterCost, &CounterState)> {
        self.costs.iter().zip(&self.states)
    }

    /// So many tokens were really used. More than was taken is counted in the same window, less goes
    /// back into it; the first word counts.
    pub fn used(&mut self, tokens: u64) {
        if std::mem::replace(&mut self.is_settled, true) {
            return;
        }
        for (cost, state) in self.costs.iter().zip(&self.states) {
            match cost.key.kind {
                CounterKind::Tokens => self.limits.correct(self.group, cost, state.turn, tokens),
                CounterKind::Requests | CounterKind::Concurrent => {}
            }
        }
    }
}

impl Grant {
    /// Gives back what is held at once, before the rest is over.
    pub fn release(&mut self) {
        if std::mem::replace(&mut self.is_released, true) {
            return;
        }
        for cost in &self.costs {
            match cost.key.kind {
                CounterKind::Concurrent => self.limits.give_back(self.group, cost),
                CounterKind::Requests | CounterKind::Tokens => {}
            }
        }
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.release();
    }
}
