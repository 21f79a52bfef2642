//! How many calls and how many bytes may be in flight, over all and for each account.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use trunkline_types::{AccountId, OwnKeyMap};

use crate::error::{ApiError, ErrorCode};
use crate::settings::AcceptSettings;

/// A smaller answer is not counted: the connection takes it at once.
const COUNTED_FROM: usize = 16_384;

/// Calls and bytes in flight, over all and for each account.
#[derive(Default)]
pub struct InFlight {
    pub(crate) calls: AtomicUsize,
    pub(crate) bytes: AtomicUsize,
    of_accounts: Mutex<OwnKeyMap<AccountId, (usize, usize)>>,
    closed: AtomicBool,
}

/// A place among the calls in flight; given back when dropped.
pub struct InFlightPermit {
    in_flight: Arc<InFlight>,
    account: AccountId,
    bytes: usize,
}

impl InFlight {
    /// From now on nothing begins.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// A node that is stopping begins nothing.
    pub fn check_open(&self) -> Result<(), ApiError> {
        if !self.is_closed() {
            return Ok(());
        }
        Err(ApiError::new(
            ErrorCode::Draining,
            "this node is shutting down; retry; nothing was charged",
        ))
    }

    /// A permit for a body of at most so many bytes, or the error that there is none. It is taken before
    /// the body is read: what is in memory is what must be bounded.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        settings: &AcceptSettings,
        account: AccountId,
        bytes: usize,
    ) -> Result<InFlightPermit, ApiError> {
        let full = |what: &str| {
            ApiError::new(
                ErrorCode::Overloaded,
                format!("{what}; retry in 1 s; nothing was charged"),
            )
        };
        self.check_open()?;
        let permit = InFlightPermit::take(Arc::clone(self), account, bytes);
        if self.calls.load(Ordering::Relaxed) > settings.max_in_flight
            || self.bytes.load(Ordering::Relaxed) > settings.max_buffered_bytes
        {
            return Err(full("this node has too many concurrent calls"));
        }
        let (calls, held) = self.of(account);
        let most_calls = share(settings, settings.max_in_flight).max(1);
        if calls > most_calls || held > account_bytes(settings) {
            return Err(full("this account has too many concurrent calls"));
        }
        Ok(permit)
    }

    /// Whether the node, or the account of it, has as many bytes in memory as it may: the next body would be refused.
    pub(crate) fn is_full(&self, settings: &AcceptSettings, account: AccountId) -> bool {
        let (_, held) = self.of(account);
        self.bytes.load(Ordering::Relaxed) > settings.max_buffered_bytes
            || held > account_bytes(settings)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, OwnKeyMap<AccountId, (usize, usize)>> {
        self.of_accounts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, account: AccountId) -> (usize, usize) {
        self.lock().get(&account).copied().unwrap_or_default()
    }
}

/// The part of all that one account may have.
fn share(settings: &AcceptSettings, all: usize) -> usize {
    all.checked_div(settings.account_share.max(1))
        .unwrap_or(all)
}

/// Bytes that one account may have in memory.
fn account_bytes(settings: &AcceptSettings) -> usize {
    share(settings, settings.max_buffered_bytes).max(settings.max_body_bytes)
}

impl InFlightPermit {
    fn take(in_flight: Arc<InFlight>, account: AccountId, bytes: usize) -> Self {
        in_flight.calls.fetch_add(1, Ordering::Relaxed);
        in_flight.bytes.fetch_add(bytes, Ordering::Relaxed);
        let mut accounts = in_flight.lock();
        let (calls, held) = accounts.entry(account).or_default();
        *calls = calls.saturating_add(1);
        *held = held.saturating_add(bytes);
        drop(accounts);
        Self {
            in_flight,
            account,
            bytes,
        }
    }

    /// The body has come, and is smaller than it might have been.
    pub fn shrink_to(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        self.bytes = self.bytes.saturating_sub(less);
        let flight = &self.in_flight;
        flight.bytes.fetch_sub(less, Ordering::Relaxed);
        if let Some((_, held)) = flight.lock().get_mut(&self.account) {
            *held = held.saturating_sub(less);
        }
    }
}

impl Drop for InFlightPermit {
    fn drop(&mut self) {
        let flight = &self.in_flight;
        flight.calls.fetch_sub(1, Ordering::Relaxed);
        flight.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        let mut accounts = flight.lock();
        if let Some((calls, held)) = accounts.get_mut(&self.account) {
            *calls = calls.saturating_sub(1);
            *held = held.saturating_sub(self.bytes);
            if (*calls, *held) == (0, 0) {
                accounts.remove(&self.account);
            }
        }
    }
}

/// Bytes of an answer, while its call runs or until its client has taken them: they count as a body does.
/// They are never refused: each is bounded, and the next request finds less capacity.
pub struct BufferPermit {
    in_flight: Arc<InFlight>,
    account: AccountId,
    bytes: usize,
}

/// The bytes of an answer, counted as long as they are in memory.
struct CountedBytes {
    bytes: Bytes,
    _permit: BufferPermit,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl BufferPermit {
    /// The same bytes, counted until the connection has taken them.
    pub(crate) fn counted(in_flight: Arc<InFlight>, account: AccountId, bytes: Bytes) -> Bytes {
        if bytes.len() < COUNTED_FROM {
            return bytes;
        }
        let mut permit = Self::none(in_flight, account);
        permit.count(bytes.len());
        Bytes::from_owner(CountedBytes {
            bytes,
            _permit: permit,
        })
    }

    pub const fn none(in_flight: Arc<InFlight>, account: AccountId) -> Self {
        Self {
            in_flight,
            account,
            bytes: 0,
        }
    }

    /// There are so many now.
    pub fn count(&mut self, bytes: usize) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        let flight = &self.in_flight;
        flight.bytes.fetch_add(bytes, Ordering::Relaxed);
        flight.bytes.fetch_sub(before, Ordering::Relaxed);
        let mut accounts = flight.lock();
        let (calls, held) = accounts.entry(self.account).or_default();
        *held = held.saturating_add(bytes).saturating_sub(before);
        if (*calls, *held) == (0, 0) {
            accounts.remove(&self.account);
        }
    }
}

impl Drop for BufferPermit {
    fn drop(&mut self) {
        self.count(0);
    }
}
