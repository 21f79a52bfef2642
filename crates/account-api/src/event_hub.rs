//! Event subscribers of this node. One account's readers share a bounded channel: a slow reader loses
//! hints, reads the table by its own numbers, and does not slow the others.

mod cursor;
pub(crate) mod frames;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, Semaphore, broadcast, oneshot};
use trunkline_db::events::SYSTEM_ACCOUNT;
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_store::keys::KeyHash;
use trunkline_types::AccountId;

use crate::settings::EventSettings;

pub(crate) use self::cursor::{Cursor, Side};
pub(crate) use self::frames::SseFrame;

/// Hints that a reader of an account, or of the system account, may be behind.
const ACCOUNT_QUEUE: usize = 32;
const SYSTEM_QUEUE: usize = 128;
/// Readers that ask the table at once: calls need its connections too.
const READS_AT_ONCE: usize = 4;
/// Seconds after which a refused connection may be worth another try.
const FULL_SECONDS: u64 = 5;

#[derive(Debug, Clone)]
pub(crate) enum Notification {
    Event(Arc<SseFrame>),
    /// There are events up to this number: look at the table.
    Look(i64),
    Channel(Arc<SseFrame>),
}

/// Why a reader is sent away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseReason {
    Stopping,
    /// The key is over, or the account closed.
    KeyOver,
}

/// What a copy is to the readers of its account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyStatus {
    /// No connection of this node follows the account.
    NoSubscriber,
    Old,
    Next,
    /// Others are missing, after this number; none if nothing is known yet.
    Jump(Option<i64>),
}

pub struct Hub {
    subscribers: Mutex<Subscribers>,
    pub(crate) reads: Semaphore,
    /// A key was revoked somewhere.
    pub(crate) revoked: Notify,
    pub counts: Counts,
}

/// Sums since the start, and how the outbox is.
#[derive(Debug, Default)]
pub struct Counts {
    /// Frames that were handed to connections.
    pub frames: AtomicU64,
    /// Pages that were read from the table.
    pub pages: AtomicU64,
    /// Readers that were too slow for their queue.
    pub lagged: AtomicU64,
    pub copies: AtomicU64,
    /// Copies that were carried, and attempts that failed.
    pub carried: AtomicU64,
    pub not_carried: AtomicU64,
    /// Copies that wait, and seconds that the oldest has waited.
    pub waiting: AtomicI64,
    pub waiting_seconds: AtomicI64,
}

#[derive(Default)]
struct Subscribers {
    of_accounts: HashMap<AccountId, AccountSubscribers>,
    connections: HashMap<u64, Connection>,
    next: u64,
}

struct AccountSubscribers {
    /// The newest number that readers were told of; none if nothing is known yet.
    last: Option<i64>,
    hints: broadcast::Sender<Notification>,
    readers: usize,
}

struct Connection {
    key: KeyHash,
    away: oneshot::Sender<CloseReason>,
}

/// A permit for one subscriber; released when dropped.
pub(crate) struct ConnectionPermit {
    hub: Arc<Hub>,
    number: u64,
    pub(crate) account: AccountId,
}

pub(crate) struct Subscriber {
    pub(crate) account: broadcast::Receiver<Notification>,
    pub(crate) system: broadcast::Receiver<Notification>,
    pub(crate) away: oneshot::Receiver<CloseReason>,
}

// === impl Hub ===

impl Hub {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            subscribers: Mutex::default(),
            reads: Semaphore::new(READS_AT_ONCE),
            revoked: Notify::new(),
            counts: Counts::default(),
        })
    }

    /// A permit for a reader, if there is one. Events from now on are received.
    pub(crate) fn enter(
        self: &Arc<Self>,
        account: AccountId,
        key: KeyHash,
        settings: &EventSettings,
    ) -> Result<(ConnectionPermit, Subscriber), ApiError> {
        let mut subscribers = self.lock();
        if subscribers.connections.len() >= settings.max_connections {
            return Err(full(
                "this node has reached its limit of open event streams",
            ));
        }
        let own = subscribers
            .of_accounts
            .get(&account)
            .map_or(0, |entry| entry.readers);
        if own >= settings.max_per_account {
            return Err(full(
                "this account has reached its limit of open event streams",
            ));
        }
        let (send, away) = oneshot::channel();
        let number = subscribers.next;
        subscribers.next = number.wrapping_add(1);
        subscribers
            .connections
            .insert(number, Connection { key, away: send });
        let hears = Subscriber {
            account: subscribers.join(account, ACCOUNT_QUEUE),
            system: subscribers.join(SYSTEM_ACCOUNT, SYSTEM_QUEUE),
            away,
        };
        drop(subscribers);
        let hub = Arc::clone(self);
        let seat = ConnectionPermit {
            hub,
            number,
            account,
        };
        Ok((seat, hears))
    }

    /// Accounts with a subscriber, and the system account if there is any.
    pub(crate) fn followed(&self) -> Vec<AccountId> {
        self.lock().of_accounts.keys().copied().collect()
    }

    /// What a number is to the readers of an account.
    pub(crate) fn standing(&self, account: AccountId, seq: i64) -> CopyStatus {
        match self.lock().of_accounts.get(&account) {
            None => CopyStatus::NoSubscriber,
            Some(AccountSubscribers { last: None, .. }) => CopyStatus::Jump(None),
            Some(AccountSubscribers {
                last: Some(last), ..
            }) if seq <= *last => CopyStatus::Old,
            Some(AccountSubscribers {
                last: Some(last), ..
            }) if last.checked_add(1) == Some(seq) => CopyStatus::Next,
            Some(AccountSubscribers { last, .. }) => CopyStatus::Jump(*last),
        }
    }

    pub(crate) fn follows(&self, account: AccountId) -> bool {
        self.lock().of_accounts.contains_key(&account)
    }

    /// Notifies the readers of an account, which then know all up to this number.
    pub(crate) fn tell(&self, account: AccountId, last: i64, news: Vec<Notification>) {
        let mut subscribers = self.lock();
        let Some(entry) = subscribers.of_accounts.get_mut(&account) else {
            return;
        };
        entry.last = Some(entry.last.unwrap_or(0).max(last));
        for one in news {
            // Without readers there would be no entry; the last may be leaving.
            drop(entry.hints.send(one));
        }
    }

    /// Sends live news to the account's connected readers.
    pub(crate) fn tell_live(&self, account: AccountId, frame: SseFrame) {
        let subscribers = self.lock();
        if let Some(entry) = subscribers.of_accounts.get(&account) {
            drop(entry.hints.send(Notification::Channel(Arc::new(frame))));
        }
    }

    /// Closes the connections whose key is over, or all of them.
    pub(crate) fn send_away(&self, why: CloseReason, is_over: impl Fn(&KeyHash) -> bool) {
        let mut subscribers = self.lock();
        let over = subscribers
            .connections
            .extract_if(|_, connection| is_over(&connection.key));
        for (_, connection) in over {
            // A reader that has disconnected needs no close reason.
            connection.away.send(why).ok();
        }
    }

    /// Connections that are open, and accounts that are followed.
    pub fn size(&self) -> (usize, usize) {
        let subscribers = self.lock();
        (subscribers.connections.len(), subscribers.of_accounts.len())
    }

    fn lock(&self) -> MutexGuard<'_, Subscribers> {
        self.subscribers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Subscribers ===

impl Subscribers {
    fn join(&mut self, account: AccountId, queue: usize) -> broadcast::Receiver<Notification> {
        let entry = self
            .of_accounts
            .entry(account)
            .or_insert_with(|| AccountSubscribers {
                last: None,
                hints: broadcast::channel(queue).0,
                readers: 0,
            });
        entry.readers = entry.readers.saturating_add(1);
        entry.hints.subscribe()
    }

    fn leave(&mut self, account: AccountId) {
        if let Some(entry) = self.of_accounts.get_mut(&account) {
            entry.readers = entry.readers.saturating_sub(1);
            if entry.readers == 0 {
                self.of_accounts.remove(&account);
            }
        }
    }
}

// === impl Counts ===

impl Counts {
    pub(crate) fn add(counter: &AtomicU64, more: u64) {
        counter.fetch_add(more, Ordering::Relaxed);
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut subscribers = self.hub.lock();
        subscribers.connections.remove(&self.number);
        subscribers.leave(self.account);
        subscribers.leave(SYSTEM_ACCOUNT);
    }
}

fn full(what: &str) -> ApiError {
    let text = format!("{what}; close one or retry later; nothing was charged");
    let mut error = ApiError::new(ErrorCode::RateLimited, text);
    error.retry_after = Some(FULL_SECONDS);
    error
}
