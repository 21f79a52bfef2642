//! Result of taking limits: a grant, or the limit that was exceeded.

use std::sync::Arc;
use std::time::Duration;

use crate::decision::CounterState;
use crate::key::{CounterCost, CounterGroup, CounterKind};
use crate::node_counters::NodeCounters;

/// Limits that a call has taken. Concurrency is released when this is dropped.
#[derive(Debug)]
pub struct Grant {
    counters: Arc<NodeCounters>,
    group: CounterGroup,
    costs: Vec<CounterCost>,
    states: Vec<CounterState>,
    is_settled: bool,
    is_released: bool,
}

/// A limit is exceeded. Nothing was taken from any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitExceeded {
    /// Index of the exceeded cost.
    pub index: usize,
    /// When a retry may succeed.
    pub retry_after: Duration,
    pub costs: Vec<CounterCost>,
    /// The state of each counter.
    pub states: Vec<CounterState>,
}

// === impl Grant ===

impl Grant {
    pub(crate) const fn new(
        counters: Arc<NodeCounters>,
        group: CounterGroup,
        costs: Vec<CounterCost>,
        states: Vec<CounterState>,
    ) -> Self {
        Self {
            counters,
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

    /// The costs and the states of their counters when taken.
    pub fn states(&self) -> impl Iterator<Item = (&CounterCost, &CounterState)> {
        self.costs.iter().zip(&self.states)
    }

    /// Corrects the tokens to what was really used, in the same window. Only the first call counts.
    pub fn used(&mut self, tokens: u64) {
        if std::mem::replace(&mut self.is_settled, true) {
            return;
        }
        for (cost, state) in self.costs.iter().zip(&self.states) {
            match cost.key.kind {
                CounterKind::Tokens => self.counters.correct(self.group, cost, state.turn, tokens),
                CounterKind::Requests | CounterKind::Concurrent => {}
            }
        }
    }
}

impl Grant {
    /// Releases the concurrency before the grant is dropped.
    pub fn release(&mut self) {
        if std::mem::replace(&mut self.is_released, true) {
            return;
        }
        for cost in &self.costs {
            match cost.key.kind {
                CounterKind::Concurrent => self.counters.give_back(self.group, cost),
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
