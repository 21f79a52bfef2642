//! Who waits for something that others write is woken when it was written, by `NOTIFY`.
//!
//! A notification says only that there is something; the tables are the truth. It may be lost (with a
//! connection, or behind PgBouncer, where nobody can listen), so everybody who waits looks by themselves
//! too: as often as ever while nobody listens, rarely while somebody does.

use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::sync::watch;

use crate::error::{DbError, within};
use crate::{Database, Pooler};

/// The channel that `app.wake` notifies.
const CHANNEL: &str = "trunkline";
/// After the connection broke.
const AGAIN: Duration = Duration::from_secs(1);
/// After so long a silence the connection is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(15);

/// What somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// A number of [`crate::revision`].
    Revisions,
    /// A copy of an event in [`crate::outbox`].
    Outbox,
    /// A job of a video task.
    Video,
    /// A message to a webhook.
    Webhooks,
}

/// Everybody in this process who waits. Clones are the same.
#[derive(Debug, Clone)]
pub struct Wakes {
    listens: watch::Sender<bool>,
    bells: [watch::Sender<u64>; Wake::ALL.len()],
}

/// One who waits.
#[derive(Debug)]
pub struct Sleeper {
    listens: watch::Receiver<bool>,
    bell: watch::Receiver<u64>,
}

/// How long to wait.
#[derive(Debug, Clone, Copy)]
pub struct Rhythm {
    /// At least, whoever calls: as often as this a busy list is looked at.
    pub least: Duration,
    /// At most, while nobody listens.
    pub alone: Duration,
    /// At most, while somebody does.
    pub most: Duration,
}

// === impl Wake ===

impl Wake {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Revisions, Self::Outbox, Self::Video, Self::Webhooks];

    /// The word that `app.wake` says.
    const fn word(self) -> &'static str {
        match self {
            Self::Revisions => "revisions",
            Self::Outbox => "outbox",
            Self::Video => "video",
            Self::Webhooks => "webhooks",
        }
    }
}

// === impl Wakes ===

impl Default for Wakes {
    fn default() -> Self {
        Self {
            listens: watch::Sender::new(false),
            bells: Wake::ALL.map(|_| watch::Sender::new(0)),
        }
    }
}

impl Wakes {
    /// Wakes who waits for this in this process.
    pub fn wake(&self, what: Wake) {
        let bells = self.bells.iter().zip(Wake::ALL);
        for (bell, _) in bells.filter(|(_, of)| *of == what) {
            bell.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// One who waits for this from now on.
    #[must_use]
    pub fn sleeper(&self, what: Wake) -> Sleeper {
        let bells = self.bells.iter().zip(Wake::ALL);
        let mut of_it = bells.filter(|(_, of)| *of == what).map(|(bell, _)| bell);
        // There is a bell for each; one that nobody rings is as good as none.
        let bell = of_it.next().map_or_else(
            || watch::Sender::new(0).subscribe(),
            watch::Sender::subscribe,
        );
        Sleeper {
            listens: self.listens.subscribe(),
            bell,
        }
    }

    /// Whether somebody listens.
    #[must_use]
    pub fn is_listening(&self) -> bool {
        *self.listens.borrow()
    }

    /// What a notification says. A word that is none of ours wakes everybody: a test has moved the clock,
    /// or a newer node knows more.
    fn hear(&self, word: &str) {
        match Wake::ALL.into_iter().find(|what| what.word() == word) {
            Some(what) => self.wake(what),
            None => Wake::ALL.into_iter().for_each(|what| self.wake(what)),
        }
    }
}

// === impl Sleeper ===

impl Sleeper {
    /// Waits until there may be something. What was written since the last wait ended ends this one.
    pub async fn pause(&mut self, rhythm: Rhythm) {
        tokio::time::sleep(rhythm.least).await;
        let listens = *self.listens.borrow_and_update();
        let most = if listens { rhythm.most } else { rhythm.alone };
        let left = most.saturating_sub(rhythm.least);
        tokio::select! {
            () = tokio::time::sleep(left) => {}
            // A bell that is gone rings no more.
            Ok(()) = self.bell.changed() => {}
            // Who has just begun to listen, or to be alone, may have missed something.
            Ok(()) = self.listens.changed() => {}
        }
        self.bell.mark_unchanged();
    }
}

// === impl Database ===

impl Database {
    /// Listens until it is told to stop, on a connection of its own.
    pub async fn listen(self, mut stop: watch::Receiver<bool>) {
        if self.settings().pooler == Pooler::PgBouncer {
            // A connection is whoever's there: nothing would be heard, and nobody would know.
            return;
        }
        loop {
            let heard = tokio::select! {
                heard = self.hear() => heard,
                _ = stop.changed() => return,
            };
            self.wakes().listens.send_replace(false);
            if let Err(error) = heard {
                tracing::warn!(%error, "notifications are not received; tables are polled instead");
            }
            tokio::select! {
                () = tokio::time::sleep(AGAIN) => {}
                _ = stop.changed() => return,
            }
        }
    }

    /// Passes on what is said until the connection breaks.
    async fn hear(&self) -> Result<(), DbError> {
        let limit = self.settings().answer_timeout;
        let pool = self.alone();
        let mut listener = within(limit, async {
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.listen(CHANNEL).await?;
            Ok(listener)
        })
        .await?;
        self.wakes().listens.send_replace(true);
        loop {
            match tokio::time::timeout(SILENCE, listener.try_recv()).await {
                Ok(Ok(Some(said))) => self.wakes().hear(said.payload()),
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
    const RHYTHM: Rhythm = Rhythm {
        least: Duration::from_millis(100),
        alone: SECOND,
        most: Duration::from_secs(60),
    };

    async fn waited(sleeper: &mut Sleeper) -> Duration {
        let began = tokio::time::Instant::now();
        sleeper.pause(RHYTHM).await;
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_alone_looks_often_and_who_is_told_looks_rarely() {
        let wakes = Wakes::default();
        let mut sleeper = wakes.sleeper(Wake::Video);
        assert_eq!(waited(&mut sleeper).await, RHYTHM.alone);
        wakes.listens.send_replace(true);
        assert_eq!(waited(&mut sleeper).await, RHYTHM.most);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_said_between_two_waits_ends_the_second_after_the_least_pause() {
        let wakes = Wakes::default();
        wakes.listens.send_replace(true);
        let (mut sleeper, mut other) = (wakes.sleeper(Wake::Video), wakes.sleeper(Wake::Outbox));
        wakes.hear("video");
        wakes.hear("video");
        assert_eq!(waited(&mut sleeper).await, RHYTHM.least);
        assert_eq!(waited(&mut sleeper).await, RHYTHM.most, "once is enough");
        assert_eq!(waited(&mut other).await, RHYTHM.most, "it is not for them");
    }

    #[tokio::test(start_paused = true)]
    async fn a_word_that_nobody_knows_and_a_broken_connection_wake_everybody() {
        let wakes = Wakes::default();
        wakes.listens.send_replace(true);
        for what in Wake::ALL {
            let mut sleeper = wakes.sleeper(what);
            wakes.hear("clock");
            assert_eq!(waited(&mut sleeper).await, RHYTHM.least, "{what:?}");
            let mut breaks = tokio::time::interval(SECOND);
            breaks.tick().await;
            tokio::join!(
                async { assert_eq!(waited(&mut sleeper).await, SECOND, "{what:?}") },
                async {
                    breaks.tick().await;
                    wakes.listens.send_replace(false);
                }
            );
            wakes.listens.send_replace(true);
        }
    }
}
