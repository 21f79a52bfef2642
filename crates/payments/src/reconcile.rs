//! The daily reconciliation: asks the provider for its events since the last time and books what no webhook has
//! brought; then asks for pages that are open for long. What was booked before changes nothing.

use std::time::Duration;

use trunkline_db::{Database, Tx, database_now};
use trunkline_store::payments::{self, cursor};
use trunkline_types::Timestamp;

use crate::booking::Booking;
use crate::error::{PaymentError, ProviderError};
use crate::fact::{Event, Fact};
use crate::payments::Payments;

/// How often it runs.
pub const RECONCILE_EVERY: Duration = Duration::from_secs(86_400);
/// Events are asked for in windows of so many seconds.
const WINDOW_SECONDS: i64 = 21_600;
/// Most pages of events of one window, a hundred each.
const MAX_PAGES: usize = 200;
/// Events are compared again for so long: what was told late has an early time.
const OVERLAP_SECONDS: i64 = 3_600;
/// Pages of the provider that are open for longer are asked for.
const OPEN_SECONDS: i64 = 3_600;

/// What a reconciliation found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Events that the provider told of.
    pub events: u64,
    /// Of them, those that no webhook had brought.
    pub missed: u64,
    /// Open pages that were paid or are over.
    pub closed: u64,
}

impl Payments {
    /// Reconciles if the last one is `every` ago or longer. None if it is not due.
    pub async fn reconcile(
        &self,
        database: &Database,
        every: Duration,
    ) -> Result<Option<Reconciled>, PaymentError> {
        let every = i32::try_from(every.as_secs()).unwrap_or(i32::MAX);
        let mut tx = database.begin().await?;
        let claimed = self.claim(&mut tx, every).await;
        let Some((from, now)) = tx.finish(claimed).await? else {
            return Ok(None);
        };
        let done = self.compare_all(database, from, now).await;
        if done.is_err() {
            // Not a day later.
            let mut tx = database.begin().await?;
            let released = cursor::release(&mut tx, self.provider.name()).await;
            tx.finish(released).await?;
        }
        done.map(Some)
    }

    async fn compare_all(
        &self,
        database: &Database,
        mut from: Timestamp,
        now: Timestamp,
    ) -> Result<Reconciled, PaymentError> {
        let mut found = Reconciled::default();
        while from < now {
            let to = from.plus_seconds(WINDOW_SECONDS).min(now.plus_seconds(1));
            self.compare(database, from, to, &mut found).await?;
            let mut tx = database.begin().await?;
            let compared = to.plus_seconds(OVERLAP_SECONDS.saturating_neg());
            let moved = cursor::advance(&mut tx, self.provider.name(), compared).await;
            tx.finish(moved).await?;
            from = to;
        }
        self.close_pages(database, &mut found).await?;
        Ok(found)
    }

    async fn claim(
        &self,
        tx: &mut Tx,
        every: i32,
    ) -> Result<Option<(Timestamp, Timestamp)>, PaymentError> {
        let from = cursor::claim(tx, self.provider.name(), every).await?;
        let now = database_now(tx).await?;
        Ok(from.map(|from| (from, now)))
    }

    /// Books the events of one window, oldest first.
    async fn compare(
        &self,
        database: &Database,
        from: Timestamp,
        to: Timestamp,
        found: &mut Reconciled,
    ) -> Result<(), PaymentError> {
        let mut events: Vec<Event> = Vec::new();
        for _ in 0..MAX_PAGES {
            let after = events.last().map(|event| event.id.clone());
            let page = self.provider.events(from, to, after.as_deref()).await?;
            let is_last = !page.has_more || page.events.is_empty();
            events.extend(page.events);
            if is_last {
                return self.book_found(database, events, found).await;
            }
        }
        let text = "it has more events than are read at once".to_owned();
        Err(ProviderError::Unavailable(text).into())
    }

    async fn book_found(
        &self,
        database: &Database,
        events: Vec<Event>,
        found: &mut Reconciled,
    ) -> Result<(), PaymentError> {
        for event in events.iter().rev() {
            found.events = found.events.saturating_add(1);
            match self.book_event(database, event, true).await? {
                Booking::Done => {
                    tracing::warn!(
                        event = event.id,
                        kind = event.kind,
                        "event was missed and is booked now"
                    );
                    found.missed = found.missed.saturating_add(1);
                }
                Booking::Before | Booking::Ignored => {}
            }
        }
        Ok(())
    }

    async fn close_pages(
        &self,
        database: &Database,
        found: &mut Reconciled,
    ) -> Result<(), PaymentError> {
        let mut session = database.session().await?;
        let open =
            payments::open_checkouts(&mut session, self.provider.name(), OPEN_SECONDS).await?;
        drop(session);
        for payment in open {
            let Some(id) = payment.checkout.as_deref() else {
                continue;
            };
            let fact = self.provider.checkout(id).await?;
            match &fact {
                Fact::Other => continue,
                Fact::Paid(_)
                | Fact::Failed { .. }
                | Fact::Refunded { .. }
                | Fact::Disputed { .. } => {}
            }
            self.book_fact(database, &fact).await?;
            found.closed = found.closed.saturating_add(1);
        }
        Ok(())
    }
}
