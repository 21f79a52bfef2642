//! Background sync with Redis: heartbeat, returned slices, prefetch, reconnect.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::key::{CounterGroup, CounterKey};
use crate::node_counters::{NodeCounters, SyncCommand};
use crate::redis::{RedisClient, RedisRequest};

/// How often leases and idle slices are checked.
const TICK: Duration = Duration::from_millis(1_000);
/// How often an unavailable Redis is tried.
const RETRY: Duration = Duration::from_millis(250);
/// Ticks between two sweeps of unused counters.
const SWEEP_EVERY: u32 = 10;
/// Groups that are synced concurrently.
const CONCURRENCY: usize = 32;
/// Commands taken from the queue at once.
const COMMANDS_AT_ONCE: usize = 256;

/// Keeps a node's counters in sync with Redis. While it does not run, limits are counted locally.
#[derive(Debug)]
pub struct SyncTask {
    counters: Arc<NodeCounters>,
    commands: mpsc::Receiver<SyncCommand>,
}

// === impl SyncTask ===

impl SyncTask {
    pub(crate) const fn new(
        counters: Arc<NodeCounters>,
        commands: mpsc::Receiver<SyncCommand>,
    ) -> Self {
        Self { counters, commands }
    }

    /// Runs until it is stopped, and returns what the node holds.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let counters = Arc::clone(&self.counters);
        let Some(redis) = &counters.redis else {
            return;
        };
        let mut tick = interval(TICK);
        let mut retry = interval(RETRY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        retry.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut ticks = 0_u32;
        let mut commands = Vec::new();
        loop {
            tokio::select! {
                _ = stop.changed() => break,
                _ = retry.tick() => {
                    if !redis.is_up() && redis.reach().await {
                        // Report at once what was spent meanwhile.
                        tick.reset_immediately();
                    }
                }
                _ = tick.tick() => {
                    ticks = ticks.wrapping_add(1);
                    if ticks.checked_rem(SWEEP_EVERY) == Some(0) {
                        counters.local.sweep(Instant::now());
                    }
                    counters.sync_all(redis).await;
                }
                count = self.commands.recv_many(&mut commands, COMMANDS_AT_ONCE) => {
                    if count == 0 {
                        break;
                    }
                    let each = stream::iter(commands.drain(..));
                    each.for_each_concurrent(CONCURRENCY, |command| counters.run_command(redis, command))
                        .await;
                }
            }
        }
        counters.sync_all(redis).await;
    }
}

impl NodeCounters {
    async fn sync_all(&self, redis: &RedisClient) {
        if !redis.is_up() {
            return;
        }
        let groups = stream::iter(self.local.groups());
        groups
            .for_each_concurrent(CONCURRENCY, |group| self.sync(redis, group))
            .await;
    }

    async fn run_command(&self, redis: &RedisClient, command: SyncCommand) {
        match command {
            SyncCommand::Sync(group) => self.sync(redis, group).await,
            SyncCommand::Draw(group, cost) => {
                let local = &self.local;
                let gate = local.gate(group);
                let turn = gate.lock().await;
                if let Some(ask) = local.ask_ahead(group, &cost, Instant::now()) {
                    self.send(redis, group, vec![(cost.key.clone(), ask)]).await;
                }
                drop(turn);
                local.is_drawn(group, &cost);
            }
        }
    }

    /// Reports the due state of one group to Redis.
    async fn sync(&self, redis: &RedisClient, group: CounterGroup) {
        let gate = self.local.gate(group);
        let _turn = gate.lock().await;
        if !redis.is_up() {
            return;
        }
        let due = self.local.due(group, Instant::now());
        if !due.is_empty() {
            self.send(redis, group, due).await;
        }
    }

    async fn send(
        &self,
        redis: &RedisClient,
        group: CounterGroup,
        asks: Vec<(CounterKey, RedisRequest)>,
    ) {
        // If the request fails, returned slices are lost, and the rest is reported again.
        if let Ok((answers, sent)) = redis.ask(group, &asks, self.nodes()).await {
            let local = &self.local;
            local.apply(group, &asks, &answers, sent, Instant::now());
        }
    }
}
