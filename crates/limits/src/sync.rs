//! What a node tells Redis while nobody waits: that it lives, what it needs no more, and which slices
//! run low. It also finds out when Redis is there again.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::key::{CounterGroup, CounterKey};
use crate::limits::{Limits, SyncCommand};
use crate::redis::{RedisClient, RedisRequest};

/// How often leases and idle slices are looked at.
const LOOK: Duration = Duration::from_millis(1_000);
/// How often a Redis that is away is tried.
const RETRY: Duration = Duration::from_millis(250);
/// Counters that are no more in use are forgotten this often.
const SWEEP_EVERY: u32 = 10;
/// Tags that are spoken about at once.
const AT_ONCE: usize = 32;
/// Errands taken at once.
const COMMANDS: usize = 256;

/// Keeps a node's counters and Redis together. Without it running, limits are counted locally.
#[derive(Debug)]
pub struct SyncTask {
    limits: Limits,
    commands: mpsc::Receiver<SyncCommand>,
}

// === impl SyncTask ===

impl SyncTask {
    pub(crate) const fn new(limits: Limits, commands: mpsc::Receiver<SyncCommand>) -> Self {
        Self { limits, commands }
    }

    /// Runs until it is told to stop, and gives back what the node holds.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let limits = self.limits.clone();
        let Some(redis) = &limits.inner.redis else {
            return;
        };
        let mut look = interval(LOOK);
        let mut retry = interval(RETRY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        retry.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut looks = 0_u32;
        let mut commands = Vec::new();
        loop {
            tokio::select! {
                _ = stop.changed() => break,
                _ = retry.tick() => {
                    if !redis.is_up() && redis.reach().await {
                        // What was spent and begun meanwhile is told at once.
                        look.reset_immediately();
                    }
                }
                _ = look.tick() => {
                    looks = looks.wrapping_add(1);
                    if looks.checked_rem(SWEEP_EVERY) == Some(0) {
                        limits.inner.table.sweep(Instant::now());
                    }
                    limits.sync_all(redis).await;
                }
                count = self.commands.recv_many(&mut commands, COMMANDS) => {
                    if count == 0 {
                        break;
                    }
                    let each = stream::iter(commands.drain(..));
                    each.for_each_concurrent(AT_ONCE, |command| limits.run_command(redis, command))
                        .await;
                }
            }
        }
        limits.sync_all(redis).await;
    }
}

impl Limits {
    async fn sync_all(&self, redis: &RedisClient) {
        if !redis.is_up() {
            return;
        }
        let groups = stream::iter(self.inner.table.groups());
        groups
            .for_each_concurrent(AT_ONCE, |group| self.sync(redis, group))
            .await;
    }

    async fn run_command(&self, redis: &RedisClient, command: SyncCommand) {
        match command {
            SyncCommand::Sync(group) => self.sync(redis, group).await,
            SyncCommand::Draw(group, cost) => {
                let table = &self.inner.table;
                let gate = table.gate(group);
                let turn = gate.lock().await;
                if let Some(ask) = table.ask_ahead(group, &cost, Instant::now()) {
                    self.send(redis, group, vec![(cost.key.clone(), ask)]).await;
                }
                drop(turn);
                table.is_drawn(group, &cost);
            }
        }
    }

    /// Tells Redis of one group what it should know.
    async fn sync(&self, redis: &RedisClient, group: CounterGroup) {
        let gate = self.inner.table.gate(group);
        let _turn = gate.lock().await;
        if !redis.is_up() {
            return;
        }
        let due = self.inner.table.due(group, Instant::now());
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
        // If it is not apply, slices on their way back are lost, and the rest is told again.
        if let Ok((answers, sent)) = redis.ask(group, &asks, self.nodes()).await {
            let table = &self.inner.table;
            table.apply(group, &asks, &answers, sent, Instant::now());
        }
    }
}
