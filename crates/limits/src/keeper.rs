//! What a node tells Redis while nobody waits: that it lives, what it needs no more, and which slices
//! run low. It also finds out when Redis is there again.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::limits::{Errand, Limits};
use crate::name::{Name, Tag};
use crate::remote::{Ask, Remote};

/// How often leases and idle slices are looked at.
const LOOK: Duration = Duration::from_millis(1_000);
/// How often a Redis that is away is tried.
const RETRY: Duration = Duration::from_millis(250);
/// Counters that are no more in use are forgotten this often.
const SWEEP_EVERY: u32 = 10;
/// Tags that are spoken about at once.
const AT_ONCE: usize = 32;
/// Errands taken at once.
const ERRANDS: usize = 256;

/// Keeps a node's counters and Redis together. Without it running, limits are counted locally.
#[derive(Debug)]
pub struct Keeper {
    limits: Limits,
    errands: mpsc::Receiver<Errand>,
}

// === impl Keeper ===

impl Keeper {
    pub(crate) const fn new(limits: Limits, errands: mpsc::Receiver<Errand>) -> Self {
        Self { limits, errands }
    }

    /// Runs until it is told to stop, and gives back what the node holds.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let limits = self.limits.clone();
        let Some(remote) = &limits.inner.remote else {
            return;
        };
        let mut look = interval(LOOK);
        let mut retry = interval(RETRY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        retry.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut looks = 0_u32;
        let mut errands = Vec::new();
        loop {
            tokio::select! {
                _ = stop.changed() => break,
                _ = retry.tick() => {
                    if !remote.is_up() && remote.reach().await {
                        // What was spent and begun meanwhile is told at once.
                        look.reset_immediately();
                    }
                }
                _ = look.tick() => {
                    looks = looks.wrapping_add(1);
                    if looks.checked_rem(SWEEP_EVERY) == Some(0) {
                        limits.inner.table.sweep(Instant::now());
                    }
                    limits.tell_all(remote).await;
                }
                count = self.errands.recv_many(&mut errands, ERRANDS) => {
                    if count == 0 {
                        break;
                    }
                    let each = stream::iter(errands.drain(..));
                    each.for_each_concurrent(AT_ONCE, |errand| limits.run_errand(remote, errand))
                        .await;
                }
            }
        }
        limits.tell_all(remote).await;
    }
}

impl Limits {
    async fn tell_all(&self, remote: &Remote) {
        if !remote.is_up() {
            return;
        }
        let tags = stream::iter(self.inner.table.tags());
        tags.for_each_concurrent(AT_ONCE, |tag| self.tell(remote, tag))
            .await;
    }

    async fn run_errand(&self, remote: &Remote, errand: Errand) {
        match errand {
            Errand::Tell(tag) => self.tell(remote, tag).await,
            Errand::Draw(tag, want) => {
                let table = &self.inner.table;
                let gate = table.gate(tag);
                let turn = gate.lock().await;
                if let Some(ask) = table.ask_ahead(tag, &want, Instant::now()) {
                    self.say(remote, tag, vec![(want.name.clone(), ask)]).await;
                }
                drop(turn);
                table.is_drawn(tag, &want);
            }
        }
    }

    /// Tells Redis of one tag what it should know.
    async fn tell(&self, remote: &Remote, tag: Tag) {
        let gate = self.inner.table.gate(tag);
        let _turn = gate.lock().await;
        if !remote.is_up() {
            return;
        }
        let due = self.inner.table.due(tag, Instant::now());
        if !due.is_empty() {
            self.say(remote, tag, due).await;
        }
    }

    async fn say(&self, remote: &Remote, tag: Tag, asks: Vec<(Name, Ask)>) {
        // If it is not heard, slices on their way back are lost, and the rest is told again.
        if let Ok((answers, sent)) = remote.ask(tag, &asks, self.nodes()).await {
            let table = &self.inner.table;
            table.heard(tag, &asks, &answers, sent, Instant::now());
        }
    }
}
