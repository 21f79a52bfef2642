//! The state of one node's rate limits: local counters, the Redis client and the queue of the sync task.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use crate::key::{CounterCost, CounterGroup};
use crate::local::LocalCounters;
use crate::redis::RedisClient;

pub(crate) struct NodeCounters {
    pub(crate) local: LocalCounters,
    pub(crate) redis: Option<RedisClient>,
    /// Live nodes, this one included.
    nodes: AtomicU64,
    /// Decisions by this node's share although Redis is configured.
    pub(crate) decided_locally: AtomicU64,
    commands: mpsc::Sender<SyncCommand>,
}

/// Work of the sync task.
#[derive(Debug)]
pub(crate) enum SyncCommand {
    /// Prefetch the next slice of a counter.
    Draw(CounterGroup, CounterCost),
    /// Report usage beyond what was taken.
    Sync(CounterGroup),
}

// === impl NodeCounters ===

impl NodeCounters {
    pub(crate) const fn new(
        local: LocalCounters,
        redis: Option<RedisClient>,
        commands: mpsc::Sender<SyncCommand>,
    ) -> Self {
        Self {
            local,
            redis,
            nodes: AtomicU64::new(1),
            decided_locally: AtomicU64::new(0),
            commands,
        }
    }

    pub(crate) fn nodes(&self) -> u64 {
        self.nodes.load(Ordering::Relaxed).max(1)
    }

    pub(crate) fn set_nodes(&self, nodes: u64) {
        self.nodes.store(nodes.max(1), Ordering::Relaxed);
    }

    /// Asks the sync task to prefetch slices that run low.
    pub(crate) fn prefetch(&self, group: CounterGroup, costs: &[CounterCost]) {
        for cost in self.local.run_low(group, costs) {
            if let Err(refused) = self.commands.try_send(SyncCommand::Draw(group, cost)) {
                // The queue is full: the next caller draws by itself.
                if let SyncCommand::Draw(group, cost) = refused.into_inner() {
                    self.local.is_drawn(group, &cost);
                }
            }
        }
    }

    pub(crate) fn correct(&self, group: CounterGroup, cost: &CounterCost, turn: u64, used: u64) {
        let is_owed = self.local.correct(group, cost, turn, used);
        if is_owed && self.redis.is_some() {
            // If the queue is full, the sync task finds it at its next tick.
            drop(self.commands.try_send(SyncCommand::Sync(group)));
        }
    }

    pub(crate) fn give_back(&self, group: CounterGroup, cost: &CounterCost) {
        self.local.give_back(group, cost);
    }
}

impl std::fmt::Debug for NodeCounters {
    /// Without the client, whose settings hold the login.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("NodeCounters")
    }
}
