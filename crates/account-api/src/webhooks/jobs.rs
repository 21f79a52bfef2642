//! What workers do for webhooks: take what is due and send it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use trunkline_db::{DbError, Signal};
use trunkline_store::webhooks::{self, AfterFailure, ClaimLimit, Claimed, Failure, InFlight, Kind};

use super::backoff::wait_after;
use super::delivery;
use super::message::body;
use super::{DeliveryError, Message, Outcome, Receiver, SealedFor};
use crate::state::AccountApi;

/// Rows taken at once.
const BATCH: usize = 64;
/// Between two tries to write what came of a message.
const WRITE_PAUSE: Duration = Duration::from_millis(200);

/// A message that is on its way. Dropping it, however that comes about, frees its permit.
struct InDelivery {
    api: Arc<AccountApi>,
    one: InFlight,
    _permit: OwnedSemaphorePermit,
}

impl InDelivery {
    fn new(api: Arc<AccountApi>, one: InFlight, permit: OwnedSemaphorePermit) -> Self {
        api.webhooks.busy().push(one);
        Self {
            api,
            one,
            _permit: permit,
        }
    }
}

impl Drop for InDelivery {
    fn drop(&mut self) {
        self.api.webhooks.is_back(self.one);
    }
}

/// What was written of a try.
enum Written {
    Delivered,
    Failed(AfterFailure),
    /// Another worker has taken it since.
    NotOurs,
}

/// Takes what is due and sends it in tasks of their own. Returns how many.
pub async fn claim_webhooks(api: &Arc<AccountApi>) -> Result<usize, DbError> {
    let (sender, settings) = (&api.webhooks, &api.settings.webhooks);
    let free = sender.permits.available_permits().min(BATCH);
    if free == 0 || api.edge.is_draining() {
        return Ok(0);
    }
    let number = |count: usize| i64::try_from(count).unwrap_or(1);
    let limit = ClaimLimit {
        limit: number(free),
        per_webhook: number(settings.per_webhook),
        per_account: number(settings.per_account),
        lease: settings.lease,
    };
    let busy = sender.busy().clone();
    let began = Instant::now();
    let mut session = api.data.session().await?;
    let claimed = webhooks::claim(&mut session, &busy, limit).await?;
    drop(session);
    let taken = claimed.len();
    for claimed in claimed {
        let Ok(permit) = Arc::clone(&sender.permits).try_acquire_owned() else {
            // Its lease ends, and it is due again.
            break;
        };
        let one = InFlight {
            webhook: claimed.webhook,
            account: claimed.account,
        };
        let sealed_for = InDelivery::new(Arc::clone(api), one, permit);
        let late = u64::try_from(claimed.late_millis).unwrap_or(0);
        let lag = &api.edge.metrics.webhook_lag;
        lag.took(Duration::from_millis(late));
        api.tasks.spawn(async move {
            deliver(&sealed_for.api, &claimed, began).await;
            let notifications = sealed_for.api.data.notifications().clone();
            drop(sealed_for);
            // There is a free permit again, and it may be due again soon.
            notifications.signal(Signal::Webhooks);
        });
    }
    Ok(taken)
}

/// How long until a message is due, as far as is known.
pub async fn next_webhook(api: &AccountApi) -> Result<Option<Duration>, DbError> {
    let mut session = api.data.session().await?;
    webhooks::next_due(&mut session).await
}

/// Sends one message, and writes what came of it.
async fn deliver(api: &AccountApi, claimed: &Claimed, began: Instant) {
    let half = api.settings.webhooks.lease.checked_div(2);
    // A worker that slept for half its lease may have been taken for dead: then nothing is sent.
    if half.is_none_or(|half| began.elapsed() > half) {
        return;
    }
    let outcome = attempt(api, claimed).await;
    let ends = half.and_then(|half| Instant::now().checked_add(half));
    let written = loop {
        match write_outcome(api, claimed, outcome).await {
            Ok(written) => break written,
            Err(error) if ends.is_none_or(|ends| Instant::now() > ends) => {
                tracing::warn!(%error, "webhook delivery: storing the result failed; it will be sent again");
                return;
            }
            Err(_) => tokio::time::sleep(WRITE_PAUSE).await,
        }
    };
    match written {
        Written::Delivered => delivery::count(api, "delivered"),
        Written::Failed(after) => count_failure(api, claimed, outcome, after),
        Written::NotOurs => delivery::count(api, "not_ours"),
    }
}

async fn attempt(api: &AccountApi, claimed: &Claimed) -> Outcome {
    let event = &claimed.event;
    let sealed_for = match (claimed.kind, event.task) {
        (Kind::Tasks, Some(task)) => SealedFor::Task(task),
        (Kind::Tasks, None) | (Kind::Endpoint, _) => SealedFor::Url(claimed.webhook),
    };
    let (Some(facts), Some(url)) = (claimed.body.clone(), claimed.url.as_deref()) else {
        return Outcome::failed(DeliveryError::Forgotten);
    };
    let to = Receiver {
        webhook: claimed.webhook,
        account: claimed.account,
        url: (sealed_for, url),
        secret: &claimed.secret,
        old_secret: claimed.old_secret.as_deref(),
    };
    let message = Message {
        id: event.id,
        body: body(event, facts),
    };
    delivery::send(api, to, message).await
}

async fn write_outcome(
    api: &AccountApi,
    claimed: &Claimed,
    outcome: Outcome,
) -> Result<Written, DbError> {
    let mut tx = api.data.begin().await?;
    let Some(error) = outcome.error else {
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
    api.edge.fill_random(&mut chance);
    let [chance] = chance;
    let gone = error == DeliveryError::Gone;
    let failure = Failure {
        status: outcome.status,
        error: error.as_str(),
        wait: wait_after(claimed.tries, chance, outcome.retry_after),
        gone,
        // No customer can resume a task's address.
        hopeless: error == DeliveryError::Forgotten || gone && claimed.kind == Kind::Tasks,
    };
    let patience = api.settings.webhooks.patience;
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

/// Neither the address nor the host is logged: they are the customer's.
fn count_failure(api: &AccountApi, claimed: &Claimed, outcome: Outcome, after: AfterFailure) {
    let why = outcome.error.map_or("", DeliveryError::as_str);
    api.edge.metrics.webhook_errors.add(why);
    delivery::count(
        api,
        if after.given_up {
            "given_up"
        } else {
            "put_off"
        },
    );
    if after.paused {
        delivery::count(api, "paused");
        tracing::warn!(
            webhook.id = %claimed.webhook,
            account.id = claimed.account.number(),
            why,
            "webhook paused"
        );
    }
}
