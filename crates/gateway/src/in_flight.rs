//! Room for calls: how many and how many bytes may be in flight, over all and for each account.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use trunkline_types::AccountId;

use crate::error::{ApiError, ErrorCode};
use crate::services::Services;

/// Calls and bytes in flight, over all and for each account.
#[derive(Default)]
pub(crate) struct InFlight {
    pub(crate) calls: AtomicUsize,
    pub(crate) bytes: AtomicUsize,
    of_accounts: Mutex<HashMap<AccountId, (usize, usize)>>,
}

/// A place among the calls in flight; given back when dropped.
pub(crate) struct InFlightPermit {
    services: Arc<Services>,
    account: AccountId,
    bytes: usize,
}

/// A node that is stopping begins nothing.
pub(crate) fn check_open(services: &Services) -> Result<(), ApiError> {
    if !services.is_draining() {
        return Ok(());
    }
    Err(ApiError::new(
        ErrorCode::Draining,
        "this node is stopping; try again; nothing was charged",
    ))
}

/// A place among the calls in flight for a body of at most so many bytes, or the word that there
/// is none. It is taken before the body is read: what is in memory is what must be bounded.
pub(crate) fn acquire(
    services: &Services,
    account: AccountId,
    bytes: usize,
) -> Result<InFlightPermit, ApiError> {
    let settings = &services.settings;
    let full = |what: &str| {
        ApiError::new(
            ErrorCode::Overloaded,
            format!("{what} at once; try again in a second; nothing was charged"),
        )
    };
    check_open(services)?;
    let flight = &services.in_flight;
    let place = InFlightPermit::take(Arc::clone(services), account, bytes);
    if flight.calls.load(Ordering::Relaxed) > settings.max_in_flight
        || flight.bytes.load(Ordering::Relaxed) > settings.max_buffered_bytes
    {
        return Err(full("there are too many calls"));
    }
    let share = |all: usize| {
        all.checked_div(settings.account_share.max(1))
            .unwrap_or(all)
    };
    let (calls, held) = flight.of(account);
    if calls > share(settings.max_in_flight).max(1)
        || held > share(settings.max_buffered_bytes).max(settings.max_body_bytes)
    {
        return Err(full("this account has too many calls"));
    }
    Ok(place)
}

// === impl Place ===

impl InFlightPermit {
    fn take(services: Arc<Services>, account: AccountId, bytes: usize) -> Self {
        let flight = &services.in_flight;
        flight.calls.fetch_add(1, Ordering::Relaxed);
        flight.bytes.fetch_add(bytes, Ordering::Relaxed);
        let mut accounts = flight.lock();
        let (calls, held) = accounts.entry(account).or_default();
        *calls = calls.saturating_add(1);
        *held = held.saturating_add(bytes);
        drop(accounts);
        Self {
            services,
            account,
            bytes,
        }
    }
}

impl InFlightPermit {
    /// The body has come, and is smaller than it might have been.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        self.bytes = self.bytes.saturating_sub(less);
        let flight = &self.services.in_flight;
        flight.bytes.fetch_sub(less, Ordering::Relaxed);
        if let Some((_, held)) = flight.lock().get_mut(&self.account) {
            *held = held.saturating_sub(less);
        }
    }
}

impl Drop for InFlightPermit {
    fn drop(&mut self) {
        let flight = &self.services.in_flight;
        flight.calls.fetch_sub(1, Ordering::Relaxed);
        flight.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        let mut accounts = flight.lock();
        if let Some((calls, held)) = accounts.get_mut(&self.account) {
            *calls = calls.saturating_sub(1);
            *held = held.saturating_sub(self.bytes);
            if *calls == 0 {
                accounts.remove(&self.account);
            }
        }
    }
}

/// Bytes of an answer that are kept while its call runs: they count as a body does. They refuse nobody:
/// each is bounded, and whoever comes next finds less room.
pub(crate) struct BufferPermit {
    services: Arc<Services>,
    account: AccountId,
    bytes: usize,
}

// === impl Copied ===

impl BufferPermit {
    pub(crate) fn none(services: &Services, account: AccountId) -> Self {
        Self {
            services: Arc::clone(services),
            account,
            bytes: 0,
        }
    }

    /// There are so many now.
    pub(crate) fn count(&mut self, bytes: usize) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        let flight = &self.services.in_flight;
        flight.bytes.fetch_add(bytes, Ordering::Relaxed);
        flight.bytes.fetch_sub(before, Ordering::Relaxed);
        if let Some((_, held)) = flight.lock().get_mut(&self.account) {
            *held = held.saturating_add(bytes).saturating_sub(before);
        }
    }
}

impl Drop for BufferPermit {
    fn drop(&mut self) {
        self.count(0);
    }
}

// === impl Flight ===

impl InFlight {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<AccountId, (usize, usize)>> {
        self.of_accounts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, account: AccountId) -> (usize, usize) {
        self.lock().get(&account).copied().unwrap_or_default()
    }
}
