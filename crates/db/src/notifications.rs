//! Loops that wait for rows of other transactions are woken by `NOTIFY`.
//!
//! A notification says only that there may be a row; the tables are the truth. It may be lost (with the
//! connection, or behind PgBouncer, where `LISTEN` does not work), so every loop polls as well: at its own
//! pace while no connection listens, rarely while one does.

use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::sync::watch;

use crate::error::{DbError, within};
use crate::{Database, Pooler};

/// The channel of `app.signal`.
const CHANNEL: &str = "trunkline";
/// Pause before the next attempt to listen.
const RECONNECT: Duration = Duration::from_secs(1);
/// A connection without a notification for so long is checked.
const CHECK_AFTER: Duration = Duration::from_secs(15);

/// What a loop waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// A number of [`crate::revision`].
    Revisions,
    /// A copy of an event in [`crate::outbox`].
    Outbox,
    /// A job of a video task.
    Video,
    /// A message to a webhook.
    Webhooks,
}

/// The notifications of one process. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Notifications {
    listening: watch::Sender<bool>,
    revisions: watch::Sender<u64>,
    outbox: watch::Sender<u64>,
    video: watch::Sender<u64>,
    webhooks: watch::Sender<u64>,
}

/// One loop's view of the notifications.
#[derive(Debug)]
pub struct Subscription {
    listening: watch::Receiver<bool>,
    signals: watch::Receiver<u64>,
}

/// How long a loop that found nothing waits.
#[derive(Debug, Clone, Copy)]
pub struct PollInterval {
    /// At least, however many notifications come.
    pub min: Duration,
    /// At most, while no connection listens.
    pub polling: Duration,
    /// At most, while one does.
    pub listening: Duration,
}

// === impl Signal ===

impl Signal {
    pub const ALL: [Self; 4] = [Self::Revisions, Self::Outbox, Self::Video, Self::Webhooks];

    /// The payload of the notification.
    const fn payload(self) -> &'static str {
        match self {
            Self::Revisions => "revisions",
            Self::Outbox => "outbox",
            Self::Video => "video",
            Self::Webhooks => "webhooks",
        }
    }
}

// === impl Notifications ===

impl Notifications {
    /// Wakes the loops of this process that wait for it.
    pub fn signal(&self, what: Signal) {
        self.signals(what)
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    #[must_use]
    pub fn subscribe(&self, what: Signal) -> Subscription {
        Subscription {
            listening: self.listening.subscribe(),
            signals: self.signals(what).subscribe(),
        }
    }

    const fn signals(&self, what: Signal) -> &watch::Sender<u64> {
        match what {
            Signal::Revisions => &self.revisions,
            Signal::Outbox => &self.outbox,
            Signal::Video => &self.video,
            Signal::Webhooks => &self.webhooks,
        }
    }

    #[must_use]
    pub fn is_listening(&self) -> bool {
        *self.listening.borrow()
    }

    /// Passes a notification on. An unknown payload wakes every loop: a test has moved the clock, or a
    /// newer node knows more signals.
    fn receive(&self, payload: &str) {
        match Signal::ALL
            .into_iter()
            .find(|what| what.payload() == payload)
        {
            Some(what) => self.signal(what),
            None => Signal::ALL.into_iter().for_each(|what| self.signal(what)),
        }
    }
}

// === impl Subscription ===

impl Subscription {
    /// Waits until there may be a row. A notification since the last wait ended ends this one.
    pub async fn wait(&mut self, interval: PollInterval) {
        tokio::time::sleep(interval.min).await;
        let most = if *self.listening.borrow_and_update() {
            interval.listening
        } else {
            interval.polling
        };
        let left = most.saturating_sub(interval.min);
        tokio::select! {
            () = tokio::time::sleep(left) => {}
            Ok(()) = self.signals.changed() => {}
            // A notification may have been lost before the connection listened, or after it broke.
            Ok(()) = self.listening.changed() => {}
        }
        self.signals.mark_unchanged();
    }
}

// === impl Database ===

impl Database {
    /// Listens until it is told to stop, on a connection of its own.
    pub async fn listen(self, mut stop: watch::Receiver<bool>) {
        if self.settings().pooler == Pooler::PgBouncer {
            // Each transaction may get another connection, so notifications would be lost unnoticed.
            return;
        }
        loop {
            let ended = tokio::select! {
                ended = self.receive() => ended,
                _ = stop.changed() => return,
            };
            self.notifications().listening.send_replace(false);
            if let Err(error) = ended {
                tracing::warn!(%error, "LISTEN failed; tables are polled until it works again");
            }
            tokio::select! {
                () = tokio::time::sleep(RECONNECT) => {}
                _ = stop.changed() => return,
            }
        }
    }

    /// Passes notifications on until the connection breaks.
    async fn receive(&self) -> Result<(), DbError> {
        let limit = self.settings().answer_timeout;
        let pool = self.single();
        let mut listener = within(limit, async {
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.listen(CHANNEL).await?;
            Ok(listener)
        })
        .await?;
        self.notifications().listening.send_replace(true);
        loop {
            match tokio::time::timeout(CHECK_AFTER, listener.try_recv()).await {
                Ok(Ok(Some(notification))) => self.notifications().receive(notification.payload()),
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => {
                    within(limit, sqlx::query("SELECT 1").execute(&mut listener)).await?;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const INTERVAL: PollInterval = PollInterval {
        min: Duration::from_millis(100),
        polling: SECOND,
        listening: Duration::from_secs(60),
    };

    async fn waited(subscription: &mut Subscription) -> Duration {
        let began = tokio::time::Instant::now();
        subscription.wait(INTERVAL).await;
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_polls_often_without_a_listening_connection_and_rarely_with_one() {
        let notifications = Notifications::default();
        let mut subscription = notifications.subscribe(Signal::Video);
        assert_eq!(waited(&mut subscription).await, INTERVAL.polling);
        notifications.listening.send_replace(true);
        assert_eq!(waited(&mut subscription).await, INTERVAL.listening);
    }

    #[tokio::test(start_paused = true)]
    async fn a_notification_between_two_waits_ends_the_second_after_its_minimum() {
        let notifications = Notifications::default();
        notifications.listening.send_replace(true);
        let (mut subscription, mut other) = (
            notifications.subscribe(Signal::Video),
            notifications.subscribe(Signal::Outbox),
        );
        notifications.receive("video");
        notifications.receive("video");
        assert_eq!(waited(&mut subscription).await, INTERVAL.min);
        assert_eq!(
            waited(&mut subscription).await,
            INTERVAL.listening,
            "once is enough"
        );
        assert_eq!(
            waited(&mut other).await,
            INTERVAL.listening,
            "it is not for them"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_unknown_payload_and_a_broken_connection_wake_every_loop() {
        let notifications = Notifications::default();
        notifications.listening.send_replace(true);
        for what in Signal::ALL {
            let mut subscription = notifications.subscribe(what);
            notifications.receive("clock");
            assert_eq!(waited(&mut subscription).await, INTERVAL.min, "{what:?}");
            let mut breaks = tokio::time::interval(SECOND);
            breaks.tick().await;
            tokio::join!(
                async { assert_eq!(waited(&mut subscription).await, SECOND, "{what:?}") },
                async {
                    breaks.tick().await;
                    notifications.listening.send_replace(false);
                }
            );
            notifications.listening.send_replace(true);
        }
    }
}
