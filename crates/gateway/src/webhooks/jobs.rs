//! What workers do for webhooks: take what is due and send it, and keep the lists in order.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use trunkline_db::{DbError, Signal};
use trunkline_store::webhooks::{self, After, Busy, Claimed, Failure, Kind, Room};

use super::backoff::wait_after;
use super::message::body;
use super::{Message, Outcome, Receiver, SealedFor, Trouble};
use crate::services::Services;

/// Rows taken at once.
const BATCH: usize = 64;
/// Rows put in order at once, and webhooks that one event of the house is expanded for.
const PIECE: i64 = 1_000;
/// Between two tries to write what came of a message.
const WRITE_PAUSE: Duration = Duration::from_millis(200);

/// A message that is on its way. Dropping it, however that comes about, makes room for the next.
struct OnTheWay {
    services: Services,
    one: Busy,
    _permit: OwnedSemaphorePermit,
}

impl OnTheWay {
    fn new(services: Services, one: Busy, permit: OwnedSemaphorePermit) -> Self {
        services.inner.hooks.busy().push(one);
        Self {
            services,
            one,
            _permit: permit,
        }
    }
}

impl Drop for OnTheWay {
    fn drop(&mut self) {
        self.services.inner.hooks.is_back(self.one);
    }
}

/// What was written of a try.
enum Written {
    Delivered,
    Failed(After),
    /// Somebody else has taken it since.
    NotOurs,
}

impl Services {
    /// Takes what is due and sends it in tasks of their own. Returns how many.
    pub async fn take_webhooks(&self) -> Result<usize, DbError> {
        let (hooks, settings) = (&self.inner.hooks, &self.inner.settings.webhooks);
        let places = hooks.room.available_permits().min(BATCH);
        if places == 0 || self.is_draining() {
            return Ok(0);
        }
        let number = |count: usize| i64::try_from(count).unwrap_or(1);
        let room = Room {
            limit: number(places),
            per_webhook: number(settings.per_webhook),
            per_account: number(settings.per_account),
            lease: settings.lease,
        };
        let busy = hooks.busy().clone();
        let began = Instant::now();
        let mut session = self.inner.data.session().await?;
        let claimed = webhooks::claim(&mut session, &busy, room).await?;
        drop(session);
        let taken = claimed.len();
        for claimed in claimed {
            let Ok(permit) = Arc::clone(&hooks.room).try_acquire_owned() else {
                // Its lease ends, and it is due again.
                break;
            };
            let one = Busy {
                webhook: claimed.webhook,
                account: claimed.account,
            };
            let place = OnTheWay::new(self.clone(), one, permit);
            let late = u64::try_from(claimed.late_millis).unwrap_or(0);
            let lag = &self.inner.numbers.webhook_lag;
            lag.took(Duration::from_millis(late));
            self.inner.tasks.spawn(async move {
                place.services.deliver_hook(&claimed, began).await;
                let notifications = place.services.inner.data.notifications().clone();
                drop(place);
                // There is room again, and it may be due again soon.
                notifications.signal(Signal::Webhooks);
            });
        }
        Ok(taken)
    }

    /// How long until a message is due, as far as anybody knows.
    pub async fn next_webhook(&self) -> Result<Option<Duration>, DbError> {
        let mut session = self.inner.data.session().await?;
        webhooks::next_due(&mut session).await
    }

    /// Sends one message, and writes what came of it.
    async fn deliver_hook(&self, claimed: &Claimed, began: Instant) {
        let half = self.inner.settings.webhooks.lease.checked_div(2);
        // Who was asleep for half its lease may have been taken for dead: then nothing is sent.
        if half.is_none_or(|half| began.elapsed() > half) {
            return;
        }
        let outcome = self.tried(claimed).await;
        let ends = half.and_then(|half| Instant::now().checked_add(half));
        let written = loop {
            match self.write_outcome(claimed, outcome).await {
                Ok(written) => break written,
                Err(error) if ends.is_none_or(|ends| Instant::now() > ends) => {
                    tracing::warn!(%error, "what came of a webhook is lost; it is sent again");
                    return;
                }
                Err(_) => tokio::time::sleep(WRITE_PAUSE).await,
            }
        };
        match written {
            Written::Delivered => self.count_hook("delivered"),
            Written::Failed(after) => self.count_failure(claimed, outcome, after),
            Written::NotOurs => self.count_hook("not_ours"),
        }
    }

    async fn tried(&self, claimed: &Claimed) -> Outcome {
        let told = &claimed.told;
        let place = match (claimed.kind, told.task) {
            (Kind::Tasks, Some(task)) => SealedFor::Task(task),
            (Kind::Tasks, None) | (Kind::Endpoint, _) => SealedFor::Url(claimed.webhook),
        };
        let (Some(facts), Some(url)) = (claimed.body.clone(), claimed.url.as_deref()) else {
            return Outcome::failed(Trouble::Forgotten);
        };
        let to = Receiver {
            webhook: claimed.webhook,
            account: claimed.account,
            url: (place, url),
            secret: &claimed.secret,
            old_secret: claimed.old_secret.as_deref(),
        };
        let message = Message {
            id: told.id,
            body: body(told, facts),
        };
        self.send_hook(to, message).await
    }

    async fn write_outcome(&self, claimed: &Claimed, outcome: Outcome) -> Result<Written, DbError> {
        let mut tx = self.inner.data.begin().await?;
        let Some(trouble) = outcome.trouble else {
            let status = outcome.status.unwrap_or(0);
            let ours = webhooks::delivered(&mut tx, claimed, status).await?;
            tx.commit().await?;
            return Ok(if ours {
                Written::Delivered
            } else {
                Written::NotOurs
            });
        };
        let mut chance = [0];
        // Without chance the waits are the plain ones.
        self.inner.fill_random(&mut chance);
        let [chance] = chance;
        let gone = trouble == Trouble::Gone;
        let failure = Failure {
            status: outcome.status,
            error: trouble.word(),
            wait: wait_after(claimed.tries, chance, outcome.retry_after),
            gone,
            // A task's address is nobody's to resume.
            hopeless: trouble == Trouble::Forgotten || gone && claimed.kind == Kind::Tasks,
        };
        let patience = self.inner.settings.webhooks.patience;
        match webhooks::failed(&mut tx, claimed, failure, patience).await? {
            Some(after) => {
                tx.commit().await?;
                Ok(Written::Failed(after))
            }
            None => {
                tx.rollback().await?;
                Ok(Written::NotOurs)
            }
        }
    }

    /// Neither the address nor the host is told: they are the customer's.
    fn count_failure(&self, claimed: &Claimed, outcome: Outcome, after: After) {
        let why = outcome.trouble.map_or("", Trouble::word);
        self.inner.numbers.webhook_troubles.add(why);
        self.count_hook(if after.given_up {
            "given_up"
        } else {
            "put_off"
        });
        if after.paused {
            self.count_hook("paused");
            tracing::warn!(
                webhook.id = %claimed.webhook,
                account.id = claimed.account.number(),
                why,
                "a webhook is paused"
            );
        }
    }

    /// Keeps the lists in order: events of the house, what rests and wakes, what is too old. Returns whether
    /// there may be more to do at once.
    pub async fn keep_webhooks(&self) -> Result<bool, DbError> {
        if self.is_draining() {
            return Ok(false);
        }
        let mut tx = self.inner.data.begin().await?;
        let expanded = webhooks::expand(&mut tx, PIECE).await?;
        tx.commit().await?;
        let mended = webhooks::mend(&self.inner.data, PIECE).await?;
        let full = u64::try_from(PIECE).unwrap_or(u64::MAX);
        let counts = [mended.laid_to_rest, mended.woken, mended.forgotten];
        Ok(expanded || counts.iter().any(|count| *count >= full))
    }
}
