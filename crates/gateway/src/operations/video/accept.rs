//! From a priced request to a task: the row, its place on the list and the hold are one transaction,
//! committed before anything is sent.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use trunkline_account_api::webhooks::task_webhook::{seal_task_webhook, write_task_webhook};
use trunkline_catalog::FieldTreatment;
use trunkline_db::DbError;
use trunkline_generation::video::Outbound;
use trunkline_ledger::{Answer, BatchError, Op, Owner, Wallets, accounts, run_in};
use trunkline_store::tasks::{self, NewTask, Task};
use trunkline_types::AccountId;
use uuid::Uuid;

use super::encryption;
use super::request::PricedVideo;
use super::transitions;
use crate::error::ApiError;
use crate::priced_call::Hold;
use crate::reservation::{NotHeld, held_or_not, insufficient_funds};
use crate::services::Services;

/// A hold outlives its task's deadline, so that the worker that ends the task still finds it.
const HOLD_SLACK: Duration = Duration::from_secs(7_200);
/// Between two tries to undo a task, or to see it.
const UNDO_PAUSE: Duration = Duration::from_millis(200);

/// A task whose money is held. Only a transaction makes one.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) task: Task,
    /// The caller does not know of it yet: if it is refused, it never was.
    pub(super) fresh: bool,
    /// What is sent, where it is stored nowhere.
    pub(super) unstored: Option<Outbound>,
}

/// Holds the money and writes the task.
pub(super) async fn accept_video(
    services: &Arc<Services>,
    video: &PricedVideo,
) -> Result<Accepted, ApiError> {
    let away = |error: DbError| {
        tracing::warn!(%error, "video task: insert failed");
        ApiError::unavailable()
    };
    let new = new_task(services, video)?;
    let webhook = match &video.webhook_url {
        Some(url) => Some(
            seal_task_webhook(&services.account_api, new.account, new.id, url)
                .ok_or_else(ApiError::unavailable)?,
        ),
        None => None,
    };
    let mut tx = services.data.begin().await.map_err(away)?;
    let reserve = Op::Reserve(Box::new(video.call.reserve(task_hold(services, video))));
    let answers = run_in(&mut tx, services.ledger.node_epoch(), &[&reserve]).await;
    let answer = match answers {
        Ok(mut answers) => answers.pop(),
        Err(BatchError::Db(error)) => return Err(away(error)),
        Err(BatchError::StaleEpoch) => return Err(ApiError::unavailable()),
    };
    let answer = match answer {
        Some(Answer::Reserve(answer)) => answer,
        Some(Answer::Extend(_) | Answer::Settle(_) | Answer::Refund(_) | Answer::WriteOff)
        | None => return Err(ApiError::unavailable()),
    };
    let account = video.call.caller.account.id;
    let key = video.call.idempotency.clone();
    let duplicate = key.map(|key| key.duplicate(account, true));
    let refused = match held_or_not(answer, duplicate) {
        Ok(Ok(())) => None,
        Ok(Err(not_held)) => Some(not_enough(video, not_held)),
        Err(error) => Some(error),
    };
    if let Some(error) = refused {
        drop(tx.rollback().await);
        return Err(error);
    }
    tasks::insert(&mut tx, &new).await.map_err(away)?;
    if let Some(webhook) = &webhook {
        let written = write_task_webhook(&mut tx, new.account, new.id, webhook).await;
        written.map_err(away)?;
    }
    let written = match tx.commit().await {
        Ok(()) => find_written(services, new.id).await,
        Err(error @ DbError::UnknownCommit(_)) => {
            tracing::warn!(%error, "commit outcome unknown while writing a video task");
            find_after_unknown(services, account, new.id).await
        }
        Err(error) => return Err(away(error)),
    };
    match written {
        Ok(Some(task)) => Ok(Accepted {
            unstored: keeps_nothing(video).then(|| video.plan.outbound.clone()),
            task,
            fresh: true,
        }),
        Ok(None) => Err(ApiError::unavailable()),
        // It may be there. It is taken back before a worker would send it, because the caller is
        // told that it failed.
        Err(_) => {
            undo_later(services, new.id, video);
            Err(ApiError::unavailable())
        }
    }
}

fn new_task(services: &Services, video: &PricedVideo) -> Result<NewTask, ApiError> {
    let settings = &services.settings.video;
    let (id, account) = (video.call.id.uuid(), video.call.caller.account.id);
    let zero_retention = keeps_nothing(video);
    let sent = if zero_retention {
        None
    } else {
        let sealed = encryption::seal_for_task(services, account, id, &video.plan.outbound);
        Some(sealed.ok_or_else(ApiError::unavailable)?)
    };
    let prices = serde_json::to_value(&video.prices).map_err(|_| ApiError::unavailable())?;
    let notes = video.plan.report.notes().iter();
    let noted = notes.filter(|note| note.code.is_some() && note.fate != FieldTreatment::Defaulted);
    let warnings: Vec<Value> = noted.map(|note| json!(note)).collect();
    let seconds = i32::try_from(video.plan.bill.output_seconds).ok();
    Ok(NewTask {
        id,
        account,
        key: video.call.caller.key.id,
        model: video.call.model.clone(),
        requested_model: video.alias.clone(),
        group: video.call.sale.group.clone(),
        amount: video.price.amount,
        exact: video.plan.bill.exact,
        prices,
        sent,
        zero_retention,
        body_hash: video.body_hash,
        warnings: Value::Array(warnings),
        size: video.plan.size.clone(),
        seconds: seconds.filter(|seconds| *seconds > 0),
        protocol: video.plan.outbound.protocol.clone(),
        endpoint: video.plan.outbound.endpoint.clone(),
        queue: settings.queue,
        deadline: settings.deadline,
        lease: settings.lease,
    })
}

/// Whether its key lets nothing be stored.
fn keeps_nothing(video: &PricedVideo) -> bool {
    video.call.caller.key.policy.fields().zero_retention
}

fn task_hold(services: &Services, video: &PricedVideo) -> Hold {
    let deadline = services.settings.video.deadline;
    Hold {
        amount: video.price.amount,
        owner: Owner::Task(video.call.id.uuid()),
        wallets: Wallets::TrialFirst,
        lifetime: deadline.saturating_add(HOLD_SLACK),
        capacity: None,
    }
}

/// A task whose transaction has ended, if it is there; an error if that stays unknown for half a lease.
pub(super) async fn find_written(services: &Services, id: Uuid) -> Result<Option<Task>, DbError> {
    find_task(services, None, id).await
}

/// The same of a task whose commit was not answered and may still be under way. That transaction has the
/// account's lock until it ends: under the lock the task is there, or never will be.
async fn find_after_unknown(
    services: &Services,
    account: AccountId,
    id: Uuid,
) -> Result<Option<Task>, DbError> {
    find_task(services, Some(account), id).await
}

/// Looks again and again, for half a lease at most; under an account's lock where one is named.
async fn find_task(
    services: &Services,
    locked: Option<AccountId>,
    id: Uuid,
) -> Result<Option<Task>, DbError> {
    let half = services.settings.video.lease.checked_div(2);
    let ends = half.and_then(|half| Instant::now().checked_add(half));
    loop {
        let found = async {
            let Some(account) = locked else {
                let mut session = services.data.session().await?;
                return tasks::find(&mut session, id).await;
            };
            let mut tx = services.data.begin().await?;
            accounts::lock(&mut tx, account).await?;
            let found = tasks::find(&mut tx, id).await?;
            tx.rollback().await?;
            Ok(found)
        };
        match found.await {
            Ok(found) => return Ok(found),
            Err(error) if ends.is_none_or(|ends| Instant::now() > ends) => return Err(error),
            Err(_) => tokio::time::sleep(UNDO_PAUSE).await,
        }
    }
}

/// Keeps trying to undo a task that may or may not be there, for as long as it may wait.
fn undo_later(services: &Arc<Services>, id: Uuid, video: &PricedVideo) {
    let (owned, account) = (Arc::clone(services), video.call.caller.account.id);
    let patience = services.settings.video.queue;
    services.tasks.spawn(async move {
        let ends = Instant::now().checked_add(patience);
        while transitions::undo(&owned, id, account).await.is_err() {
            tokio::time::sleep(UNDO_PAUSE).await;
            if ends.is_none_or(|ends| Instant::now() > ends) {
                return;
            }
        }
    });
}

/// Undoes a task that no upstream could be asked for. False if a worker goes on with it: then it is one.
pub(super) async fn is_undone(services: &Services, task: &Task) -> bool {
    match transitions::undo(services, task.id, task.account).await {
        Ok(undone) => undone,
        Err(error) => {
            tracing::warn!(%error, "commit outcome unknown while deleting a video task");
            matches!(find_written(services, task.id).await, Ok(None))
        }
    }
}

fn not_enough(video: &PricedVideo, not_held: NotHeld) -> ApiError {
    match not_held {
        NotHeld::TooLittle(shortfall) => {
            let fix = "top up, wait for running calls, or ask for a shorter or smaller one";
            let costs = "this video costs up to";
            insufficient_funds(shortfall, video.price.amount, costs, fix)
        }
        NotHeld::NeverToppedUp | NotHeld::CapacityReached => {
            tracing::error!(answer = ?not_held, "unexpected ledger answer to reserve");
            ApiError::unavailable()
        }
    }
}
